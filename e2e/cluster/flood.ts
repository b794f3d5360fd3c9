/**
 * Load beyond what a replica can do: many lists and patches at a time from one user, over a few HTTP/2
 * connections, again and again, no later than the answers say. Beside it probes as a kubelet sends them,
 * and a look at memory.
 */

import { readFile } from "node:fs/promises";
import type { OutgoingHttpHeaders } from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import { bindingOf } from "../harness/grant.js";
import type { HttpsClient } from "../harness/https-client.js";
import type { TestIdentity } from "../harness/test-authority.js";

export interface FloodTarget {
  readonly client: HttpsClient;
  readonly pid: number;
}

export interface FloodResult {
  readonly served: number;
  /** 429, each with Retry-After. */
  readonly shed: number;
  readonly probes: number;
  readonly slowestProbeMs: number;
  readonly grownMegabytes: number;
  /** What must not be. */
  readonly problems: readonly string[];
}

/** Whose certificate a flood comes with: nobody whom limits would spare. */
export const FLOODER = "flooder";
const SESSIONS = 16;
const STREAMS_PER_SESSION = 240;
/** The least that anybody is told; nobody here waits longer. */
const AGAIN_MS = 1_000;
const PROBE_EVERY_MS = 200;
/** In a row: what makes a kubelet act. */
const PROBES_FAILED_MAX = 3;
/** What a kubelet waits by default is 1 s; probes wait for two busy cores here. */
const PROBE_DEADLINE_MS = 5_000;
const GROWTH_MEGABYTES_MAX = 400;
const OBJECTS = 300;
const OBJECT_BYTES = 2_000;
const NAMESPACE = "flooded";
const PATH = `/api/v1/namespaces/${NAMESPACE}/configmaps`;

export class Flood {
  readonly #target: FloodTarget;
  readonly #ending = new AbortController();
  readonly #problems = new Map<string, number>();
  /** One for each lane; those that were sent away still have streams. */
  readonly #lanes: ClientHttp2Session[] = [];
  readonly #sessions = new Set<ClientHttp2Session>();
  #work: Promise<unknown> = Promise.resolve();
  #served = 0;
  #shed = 0;
  #probes = 0;
  #slowestProbeMs = 0;
  #megabytesBefore = 0;
  #megabytesMost = 0;

  private constructor(target: FloodTarget) {
    this.#target = target;
  }

  /** Begins; the administrator's client makes what is listed, and gives the right to. */
  static async start(target: FloodTarget, identity: TestIdentity): Promise<Flood> {
    const flood = new Flood(target);
    await prepare(target.client);
    flood.#megabytesBefore = await residentMegabytes(target.pid);
    const { url, credentials } = target.client;
    const open = () => {
      const session = connect(url, { ca: credentials.ca, ...identity });
      session.on("error", () => {});
      flood.#sessions.add(session);
      session.once("close", () => flood.#sessions.delete(session));
      return session;
    };
    for (let index = 0; index < SESSIONS; index++) flood.#lanes.push(open());
    const workers = Array.from({ length: SESSIONS * STREAMS_PER_SESSION }, (_, worker) =>
      flood.#askAgain(worker, open),
    );
    flood.#work = Promise.all([...workers, flood.#probeAgain()]);
    return flood;
  }

  async stop(): Promise<FloodResult> {
    this.#ending.abort();
    for (const session of this.#sessions) session.destroy();
    await this.#work;
    const grownMegabytes = this.#megabytesMost - this.#megabytesBefore;
    if (grownMegabytes > GROWTH_MEGABYTES_MAX) this.#complain(`grew by ${grownMegabytes} MB`);
    if (this.#shed === 0) this.#complain("nothing was shed");
    return {
      served: this.#served,
      shed: this.#shed,
      probes: this.#probes,
      slowestProbeMs: this.#slowestProbeMs,
      grownMegabytes,
      problems: [...this.#problems].map(([text, count]) => `${count} × ${text}`),
    };
  }

  async #askAgain(worker: number, open: () => ClientHttp2Session): Promise<void> {
    const lane = worker % SESSIONS;
    // Answers wait for their readers without a seat; writes keep theirs until etcd has answered.
    const request = Math.floor(worker / SESSIONS) % 2 === 0 ? LIST : patchOf(worker % OBJECTS);
    while (!this.#ending.signal.aborted) {
      const session = this.#lanes[lane] as ClientHttp2Session;
      // A share of requests sends its connection elsewhere, and there is nowhere else.
      if (session.closed || session.destroyed) {
        this.#lanes[lane] = open();
        continue;
      }
      const answer = await ask(session, request);
      if (this.#ending.signal.aborted) return;
      if (answer.status === UNPROCESSED) continue;
      if (answer.status === 200) this.#served++;
      else if (answer.status !== 429) this.#complain(`the flood got ${answer.status}`);
      else if (answer.retryAfter === undefined) this.#complain("429 without Retry-After");
      else {
        this.#shed++;
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    }
  }

  async #probeAgain(): Promise<void> {
    const { client, pid } = this.#target;
    const failures = new Map<string, number>();
    while (!this.#ending.signal.aborted) {
      for (const path of ["/livez", "/readyz"]) {
        const begunAtMs = performance.now();
        const signal = AbortSignal.timeout(PROBE_DEADLINE_MS);
        const answer = await client.request(path, { signal }).catch(String);
        this.#probes++;
        this.#slowestProbeMs = Math.max(this.#slowestProbeMs, performance.now() - begunAtMs);
        const isGood = typeof answer !== "string" && answer.status === 200;
        const inARow = isGood ? 0 : (failures.get(path) ?? 0) + 1;
        failures.set(path, inARow);
        if (inARow === PROBES_FAILED_MAX) {
          this.#complain(`${path}: ${typeof answer === "string" ? answer : answer.text}`);
        }
      }
      this.#megabytesMost = Math.max(this.#megabytesMost, await residentMegabytes(pid));
      await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY_MS));
    }
  }

  #complain(text: string): void {
    this.#problems.set(text, (this.#problems.get(text) ?? 0) + 1);
  }
}

/** What crossed a GOAWAY on the wire: to be sent again. */
const UNPROCESSED = "Stream closed with error code NGHTTP2_REFUSED_STREAM";

interface FloodAnswer {
  readonly status: number | string;
  readonly retryAfter: string | undefined;
}

interface FloodRequest {
  readonly headers: OutgoingHttpHeaders;
  readonly body: string;
}

const LIST: FloodRequest = { headers: { ":path": PATH }, body: "" };

function patchOf(index: number): FloodRequest {
  const path = `${PATH}/object-${index}`;
  const headers = {
    ":method": "PATCH",
    ":path": path,
    "content-type": "application/merge-patch+json",
  };
  return { headers, body: JSON.stringify({ data: { at: String(Date.now()) } }) };
}

function ask(session: ClientHttp2Session, { headers, body }: FloodRequest): Promise<FloodAnswer> {
  return new Promise((resolve) => {
    const stream = session.request(headers, { endStream: body === "" });
    let answer: FloodAnswer = { status: "no answer", retryAfter: undefined };
    stream.once("response", (received) => {
      answer = { status: Number(received[":status"]), retryAfter: received["retry-after"] };
    });
    stream.on("error", (error) => {
      answer = { status: error.message, retryAfter: undefined };
    });
    stream.once("close", () => resolve(answer));
    stream.resume();
    if (body !== "") stream.end(body);
  });
}

/** Does nothing where it was done before. */
async function prepare(client: HttpsClient): Promise<void> {
  const role = {
    metadata: { name: "flood" },
    rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list", "patch"] }],
  };
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  await client.post("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
  await client.post(`${rbac}/clusterroles`, role);
  const binding = bindingOf("flood", "ClusterRole flood", `User ${FLOODER}`);
  await client.post(`${rbac}/clusterrolebindings`, binding);
  const data = { text: "x".repeat(OBJECT_BYTES) };
  const names = Array.from({ length: OBJECTS }, (_, index) => `object-${index}`);
  await Promise.all(names.map((name) => client.post(PATH, { metadata: { name }, data })));
}

async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Math.round(Number(/^RssAnon:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024);
}
