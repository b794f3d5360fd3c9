/**
 * Faults: what a test orders a server to do wrong, for requests that match. The faults of one request are decided
 * when its handler would begin: the first order that matches is carried out, once for each of its `times`. A request
 * that met one says so in the header `Keelson-Fault`, and the log has a line.
 *
 *   status       refused before it does anything, with this code, reason and Retry-After
 *   conflict     409, as a write of an outdated object
 *   delay        held up before it does anything
 *   lostAnswer   a write that is stored, whose connection ends before its answer
 *   expired      410: a watch has to list again
 *   staleRead    a get or a list of the state at the time of the order
 *   cutWatch     open watches whose connection is cut at once; later ones are left alone
 */
import type { Clock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import { badRequest, conflict, expired, StatusError } from "../api/status.js";
import { parseQuery } from "../request/query.js";
import type { RequestInfo } from "../request/request-info.js";
import type { RequestContext, RequestMiddleware, RequestState } from "../request/request-state.js";
import type { RequestObserver } from "./request-observer.js";

/** Which requests; what is absent matches all. */
export interface FaultMatch {
  readonly verb?: string | undefined;
  readonly group?: string | undefined;
  readonly resource?: string | undefined;
  readonly subresource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly user?: string | undefined;
}

export type FaultKind =
  | {
      readonly type: "status";
      readonly code: number;
      readonly reason?: string | undefined;
      readonly message?: string | undefined;
      readonly retryAfterSeconds?: number | undefined;
    }
  | { readonly type: "delay"; readonly delayMs: number }
  | { readonly type: "conflict" | "lostAnswer" | "expired" | "staleRead" | "cutWatch" };

export interface FaultOrder {
  readonly match: FaultMatch;
  readonly what: FaultKind;
  /** How often at most; Infinity = always. */
  readonly times: number;
  /** Of each request that matches, between 0 and 1. */
  readonly probability: number;
}

export interface Fault extends FaultOrder {
  readonly id: string;
  /** How often it has happened. */
  hits: number;
  /** The state that stale reads get. */
  readonly revision: number;
}

export const FAULT_TYPES: readonly FaultKind["type"][] = [
  "status",
  "conflict",
  "delay",
  "lostAnswer",
  "expired",
  "staleRead",
  "cutWatch",
];

const FAULTS_MAX = 1_000;
const HEADER = "Keelson-Fault";
const WRITES = ["create", "update", "patch", "delete"];
const MATCHED = ["verb", "group", "resource", "subresource", "namespace", "name"] as const;

export interface FaultParts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Knows when a request has changed something. */
  readonly observer: Pick<RequestObserver, "of">;
  /** That of the view. */
  revision(): number;
}

export class Faults {
  readonly middleware: RequestMiddleware;
  readonly #parts: FaultParts;
  readonly #ordered = new Map<string, Fault>();
  readonly #watches = new Set<RequestContext>();
  #count = 0;

  constructor(parts: FaultParts) {
    this.#parts = parts;
    this.middleware = (ctx, next) => this.#pass(ctx, next);
  }

  /** In force, or used up; in their order. */
  get all(): readonly Fault[] {
    return [...this.#ordered.values()];
  }

  /** @throws {StatusError} 400 there are too many */
  order(order: FaultOrder): Fault {
    if (this.#ordered.size >= FAULTS_MAX) {
      throw badRequest(`there are ${FAULTS_MAX} faults already; remove some`);
    }
    const id = String(++this.#count);
    const fault = { ...order, id, hits: 0, revision: this.#parts.revision() };
    this.#ordered.set(id, fault);
    if (fault.what.type === "cutWatch") this.#cut(fault);
    return fault;
  }

  /** @param id undefined = all. @returns how many there were */
  remove(id: string | undefined): number {
    if (id !== undefined) return this.#ordered.delete(id) ? 1 : 0;
    const { size } = this.#ordered;
    this.#ordered.clear();
    return size;
  }

  async #pass(ctx: RequestContext, next: () => Promise<unknown>): Promise<void> {
    const { state } = ctx;
    const fault = state.info.isResourceRequest ? this.#take(state) : undefined;
    if (fault !== undefined) {
      this.#tell(fault, state);
      ctx.set(HEADER, `${fault.id} ${fault.what.type}`);
      await this.#commit(fault, ctx);
    }
    await next();
    if (state.info.verb !== "watch" || ctx.res.closed) return;
    this.#watches.add(ctx);
    ctx.res.once("close", () => this.#watches.delete(ctx));
  }

  #take(state: RequestState): Fault | undefined {
    for (const fault of this.#ordered.values()) {
      if (fault.what.type === "cutWatch" || !isMet(fault, state)) continue;
      if (fault.probability < 1 && Math.random() >= fault.probability) continue;
      fault.hits++;
      return fault;
    }
    return undefined;
  }

  async #commit({ what, revision }: Fault, ctx: RequestContext): Promise<void> {
    const { state } = ctx;
    const { info } = state;
    switch (what.type) {
      case "status":
        throw refusal(what, info);
      case "conflict":
        throw conflict(info, info.name);
      case "expired":
        throw expired(`too old resource version: ${info.query.get("resourceVersion") ?? "0"}`);
      case "delay":
        return await this.#parts.clock.sleep(what.delayMs, state.signal);
      case "staleRead":
        state.info = { ...info, query: pastQuery(info, revision) };
        return;
      case "lostAnswer": {
        const observed = this.#parts.observer.of(state);
        if (observed !== undefined) observed.committed = () => ctx.res.destroy();
        return;
      }
      case "cutWatch":
        return;
    }
  }

  #cut(fault: Fault): void {
    for (const ctx of [...this.#watches]) {
      if (!isMet(fault, ctx.state)) continue;
      fault.hits++;
      this.#tell(fault, ctx.state);
      ctx.res.destroy();
    }
  }

  #tell({ id, what, hits }: Fault, { info, user, auditId }: RequestState): void {
    const { verb, resource, namespace, name } = info;
    const request = { verb, resource, namespace, name, user: user.name, auditId };
    this.#parts.logger.warn(
      { fault: id, type: what.type, hits, ...request },
      "a fault, as ordered",
    );
  }
}

function isMet({ match, what, hits, times }: Fault, { info, user }: RequestState): boolean {
  return (
    hits < times &&
    MATCHED.every((part) => match[part] === undefined || match[part] === info[part]) &&
    (match.user === undefined || match.user === user.name) &&
    canMeet(what.type, info)
  );
}

/** What a fault is about by its nature. */
function canMeet(type: FaultKind["type"], { verb, query }: RequestInfo): boolean {
  if (type === "staleRead" && query.has("continue")) return false;
  return type === "status" || type === "delay" || verbsOf(type).includes(verb);
}

/** The verbs of the requests that a fault can meet. */
export function verbsOf(type: FaultKind["type"]): readonly string[] {
  switch (type) {
    case "lostAnswer":
      return [...WRITES, "deletecollection"];
    case "conflict":
      return WRITES;
    case "expired":
    case "cutWatch":
      return ["watch"];
    case "staleRead":
      return ["get", "list"];
    case "status":
    case "delay":
      return ["get", "list", "watch", ...WRITES, "deletecollection"];
  }
}

function refusal(
  { code, reason, message, retryAfterSeconds }: Extract<FaultKind, { type: "status" }>,
  info: RequestInfo,
): StatusError {
  const { group, resource, name } = info;
  return new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: message ?? "a fault that a test has ordered",
    ...(reason !== undefined && { reason }),
    details: {
      ...(name !== "" && { name }),
      ...(group !== "" && { group }),
      kind: resource,
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    },
    code,
  });
}

/** The query with the state of the past, in place of the one asked for. */
function pastQuery({ query }: RequestInfo, revision: number) {
  const kept = ["labelSelector", "fieldSelector", "limit", "pretty"].flatMap((name) =>
    query.getAll(name).map((value) => `${name}=${encodeURIComponent(value)}`),
  );
  return parseQuery(
    [...kept, `resourceVersion=${revision}`, "resourceVersionMatch=Exact"].join("&"),
  );
}
