/**
 * What a test asks of its API and does to it: the calls of `startKeelson()` as requests to /debug/test-api, so that
 * they are the same for an API in this process, one in a child, and one that another language started.
 */
import type { JsonObject } from "../api/meta.js";
import { RECORD_PATH, type Timeline } from "../recorder/record-types.js";
import { drawTimeline } from "../recorder/svg-timeline.js";
import { parseDuration } from "../request/duration.js";
import { FAULTS_PATH } from "../test-api/fault-endpoints.js";
import {
  CLOCK_PATH,
  REQUESTS_PATH,
  RESET_PATH,
  SETTLED_PATH,
  SNAPSHOTS_PATH,
} from "../test-api/test-endpoints.js";
import type { AdminAccess } from "./access.js";
import { AdminClient } from "./admin-client.js";
import type {
  Fault,
  FaultedRequests,
  FaultKind,
  RecordedRequest,
  RequestsAsked,
  ResetResult,
  SettleOptions,
  Snapshot,
  TimelineOptions,
} from "./types.js";

const TIMELINE_MS = 1_000;
const TIMELINE_WRITES = 300;
const QUIET_MS = 100;
const SETTLE_MS = 30_000;
/** One request asks for at most so long. */
const ASKED_MS = 20_000;

export class TestApiClient {
  readonly #client: AdminClient;
  /** What the API wrote before it was ready is nobody's concern. */
  readonly #readyAtMs = Date.now();

  /** @param access of an API that is ready */
  constructor(access: AdminAccess) {
    this.#client = new AdminClient(access, "keelson-test-api");
  }

  async requests({ since, user, verb }: RequestsAsked = {}): Promise<readonly RecordedRequest[]> {
    const query = new URLSearchParams();
    if (since instanceof Date) query.set("sinceMs", String(since.getTime()));
    else if (since !== undefined) query.set("after", String(since.number));
    if (user !== undefined) query.set("user", user);
    if (verb !== undefined) query.set("verb", verb);
    const { items } = await this.#ask("GET", `${REQUESTS_PATH}?${query}`);
    return items as unknown as readonly RecordedRequest[];
  }

  async settled({ quietMs = QUIET_MS, deadlineMs = SETTLE_MS }: SettleOptions = {}): Promise<void> {
    const endsAtMs = performance.now() + deadlineMs;
    for (;;) {
      const leftMs = Math.max(0, Math.ceil(endsAtMs - performance.now()));
      const query = `?quietMs=${quietMs}&deadlineMs=${Math.min(leftMs, ASKED_MS)}`;
      const { isSettled, last } = await this.#ask("GET", SETTLED_PATH + query);
      if (isSettled === true) return;
      if (performance.now() >= endsAtMs) {
        throw new Error(`it still moves after ${deadlineMs} ms; last: ${String(last)}`);
      }
    }
  }

  async snapshot(): Promise<Snapshot> {
    return (await this.#ask("POST", SNAPSHOTS_PATH)) as unknown as Snapshot;
  }

  async reset(snapshot: Snapshot): Promise<ResetResult> {
    return (await this.#ask("POST", RESET_PATH, {
      snapshot: snapshot?.id,
    })) as unknown as ResetResult;
  }

  async fault({ times, probability, ...match }: FaultedRequests, what: FaultKind): Promise<Fault> {
    const order = defined({ match: defined(match), what: defined(what), times, probability });
    const id = String((await this.#ask("POST", FAULTS_PATH, order)).id);
    return {
      id,
      hits: async () => {
        const { items } = await this.#ask("GET", FAULTS_PATH);
        const faults = items as unknown as readonly {
          readonly id: string;
          readonly hits: number;
        }[];
        return faults.find((fault) => fault.id === id)?.hits ?? 0;
      },
      remove: async () => {
        await this.#ask("DELETE", `${FAULTS_PATH}?id=${id}`);
      },
    };
  }

  async now(): Promise<Date> {
    return new Date(String((await this.#ask("GET", CLOCK_PATH)).now));
  }

  async advance(by: number | string): Promise<Date> {
    const advanceMs = typeof by === "number" ? by : parseDuration(String(by));
    if (advanceMs === undefined || !(advanceMs >= 0)) {
      throw new RangeError(`${JSON.stringify(by)}: milliseconds, or a duration such as 1h30m`);
    }
    return new Date(String((await this.#ask("POST", CLOCK_PATH, { advanceMs })).now));
  }

  async timeline(options: TimelineOptions = {}): Promise<string> {
    const { lastMs = TIMELINE_MS, lanes = "client", title = "what happened" } = options;
    const sinceMs = Math.max(this.#readyAtMs, Math.floor(Date.now() - lastMs));
    const query = `sinceMs=${sinceMs}&limit=${TIMELINE_WRITES}&heartbeats=false`;
    const path = `${RECORD_PATH}/timeline?${query}`;
    const { clients, writes, links } = (await this.#ask("GET", path)) as unknown as Timeline;
    const likeliest = links.filter(({ certainty, rank }) => certainty === "exact" || rank === 1);
    return drawTimeline({ title, lanes, clients, writes, links: likeliest, followed: new Set() });
  }

  close(): void {
    this.#client.close();
  }

  async #ask(method: string, path: string, body?: JsonObject): Promise<JsonObject> {
    const { status, value } = await this.#client.ask(method, path, body && { body });
    if (status === 200) return value;
    const option = status === 404 ? optionOf(path) : undefined;
    const hint = option === undefined ? "" : `; startKeelson needs the option ${option}`;
    throw new Error(`${String(value.message ?? "the API refused")}${hint} (${status})`);
  }
}

/** What has to be on for a path to be there. */
function optionOf(path: string): "faults" | "record" | undefined {
  if (path.startsWith(FAULTS_PATH)) return "faults";
  return path.startsWith(RECORD_PATH) ? "record" : undefined;
}

/** JSON has no undefined. */
function defined(members: object): JsonObject {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as JsonObject;
}
