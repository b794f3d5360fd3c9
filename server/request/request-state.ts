/**
 * RequestState: the facts of one request, typed `ctx.state`. The outermost middleware creates it,
 * each later step fills in its part, handlers read it. Nothing here outlives the request.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Middleware, ParameterizedContext } from "koa";
import { assert } from "../../storage/base/assert.js";
import { carryTrace, type Trace } from "../../storage/base/trace.js";
import { type Status, timeout } from "../api/status.js";
import type { Deprecation } from "../schema/lifecycle.js";
import type { AuditCapture } from "./audit-capture.js";
import type { RequestInfo } from "./request-info.js";
import type { UserInfo } from "./user-info.js";

export type RequestContext = ParameterizedContext<RequestState>;
export type RequestMiddleware = Middleware<RequestState>;

/** All warnings of a response together; clients and proxies refuse larger headers (as upstream). */
const WARNING_CHARS_MAX = 4 * 1024;
/** Single warnings are cut to this once all together are more than that. */
const WARNING_TRUNCATED_CHARS_MAX = 256;
/** setTimeout takes 31 bits. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** The reason of a signal that aborts because nobody waits for the answer any more. */
export class ClientGoneError extends Error {
  override readonly name = "ClientGoneError";
  constructor() {
    super("the client closed the connection");
  }
}

/** The flow schema and the priority level of a request, as their uids. */
export interface FlowPlace {
  readonly schemaUid: string;
  readonly levelUid: string;
}

/** Seats that flow control gave to a request; giving them back twice is harmless. */
export interface HeldSeats {
  release(nowMs: number): void;
}

/** Memory that a request claimed for its body and its answer; given back when the answer is over. */
export interface HeldMemory {
  /** The claim turned out to be another one. */
  resize(bytes: number): void;
  release(): void;
}

/** For answers, which are work as well. Undefined: it may be done at once. */
export interface AnswerTurns {
  /** The next piece of a long one. */
  next(state: RequestState): Promise<void> | undefined;
  /** What is left to do when the store has answered. */
  toAnswer(state: RequestState): Promise<void> | undefined;
}

/** For answers whose size shows only when they are made. */
export interface AnswerKeeper {
  /** Smaller ones are not worth asking for. */
  readonly bytesMin: number;
  /**
   * Claims memory for an answer of so many bytes, until it is over. A promise only where there is none.
   * @throws {StatusError} 429
   */
  hold(ctx: RequestContext, bytes: number): Promise<void> | undefined;
}

export class RequestState {
  /** Monotonic milliseconds at which the request's headers were complete. */
  readonly receivedAtMs: number;
  /** Ties answer, access log and audit records together (S1-ERR-12). */
  readonly auditId: string;
  /** Why the authorizer decided so; for logs and audit. */
  authorizationReason = "";
  /** What the authorizer decided; undefined = nobody was asked. */
  isAuthorized: boolean | undefined;
  /** Who really asks, when `user` is somebody whom they impersonate; for logs and audit. */
  impersonator: UserInfo | undefined;
  /** The verb that allowed it under constrained impersonation, such as "impersonate:user-info". */
  impersonationConstraint = "";
  /** What a create would make, which its URL does not say; for audit. "" = not known. */
  createdName = "";
  /** Where flow control put the request; undefined = it was not asked. */
  place: FlowPlace | undefined;
  /** Seats of flow control, given back when the handler is done. */
  seats: HeldSeats | undefined;
  /** Whose turn it is; undefined = whoever comes. */
  turns: AnswerTurns | undefined;
  /** Bounds the memory of answers; undefined = nobody does. */
  answers: AnswerKeeper | undefined;
  /** What the request holds of it. */
  memory: HeldMemory | undefined;
  /** A defect of ours ended it. */
  hasDefect = false;
  /** The Status that the request was refused with; for audit. */
  failure: Status | undefined;
  /** What the audit log wants of the request; undefined = nothing but its metadata. */
  audit: AuditCapture | undefined;
  /** What rules had to say of the write, for who asked to be answered with that. */
  findings: object[] | undefined;
  /** The steps of the request, as its signal carries them; undefined = nobody wants to know. */
  trace: Trace | undefined;
  /** The view holds everything that was acknowledged before this request. */
  isFresh = false;
  /** The body, once somebody has read it: a request may be handled again. */
  body: Buffer | undefined;
  /** Bytes of the body sent by a sink; plain bodies know their length. */
  bytesSent = 0;

  readonly #request: IncomingMessage | Http2ServerRequest;
  readonly #response: ServerResponse | Http2ServerResponse;
  #info: RequestInfo | undefined;
  #user: UserInfo | undefined;
  #warnings: string[] | undefined;
  #deprecation: Deprecation | undefined;
  #deadlineMs = Number.POSITIVE_INFINITY;
  #controller: AbortController | undefined;

  constructor(options: {
    auditId: string;
    receivedAtMs: number;
    request: IncomingMessage | Http2ServerRequest;
    response: ServerResponse | Http2ServerResponse;
  }) {
    this.auditId = options.auditId;
    this.receivedAtMs = options.receivedAtMs;
    this.#request = options.request;
    this.#response = options.response;
  }

  /** Everything after the request-info step may rely on it. */
  get info(): RequestInfo {
    assert(this.#info !== undefined, "RequestInfoIsKnown");
    return this.#info;
  }

  set info(info: RequestInfo) {
    this.#info = info;
  }

  /** For the outer steps, which also see requests that failed before they were understood. */
  get infoIfKnown(): RequestInfo | undefined {
    return this.#info;
  }

  /** Everything after authentication may rely on it. */
  get user(): UserInfo {
    assert(this.#user !== undefined, "UserIsKnown");
    return this.#user;
  }

  set user(user: UserInfo) {
    this.#user = user;
  }

  get userIfKnown(): UserInfo | undefined {
    return this.#user;
  }

  /** Monotonic milliseconds at which `signal` aborts; Infinity for long-running requests. */
  get deadlineMs(): number {
    return this.#deadlineMs;
  }

  /** Set once, before anybody asks for the signal. */
  set deadlineMs(deadlineMs: number) {
    assert(this.#controller === undefined, "DeadlineBeforeSignal");
    this.#deadlineMs = deadlineMs;
  }

  /**
   * Aborts when the client goes away (reason: ClientGoneError) or at the deadline (reason: a 504
   * StatusError, so that whoever rejects with the reason answers rightly). Made when first asked
   * for: a read from memory never waits and never pays for it.
   */
  get signal(): AbortSignal {
    this.#controller ??= this.#startController();
    return this.#controller.signal;
  }

  /**
   * Lets a handler keep the seats beyond its own end, for work that goes on.
   * @returns gives them back; must be called
   */
  takeSeats(): () => void {
    const { seats } = this;
    this.seats = undefined;
    return () => seats?.release(performance.now());
  }

  get warnings(): readonly string[] {
    return this.#warnings ?? [];
  }

  /** Adds a `Warning` header to the answer, once per text. No effect after the headers are sent. */
  addWarning(text: string): void {
    this.#warnings ??= [];
    const clean = cleanWarning(text);
    if (clean === "" || this.#warnings.includes(clean)) return;
    this.#warnings.push(clean);
    if (lengthOf(this.#warnings) <= WARNING_CHARS_MAX) return;
    // As upstream: beyond the budget all are cut, then those that still do not fit are left out.
    this.#warnings = this.#warnings.map(cutWarning);
    while (lengthOf(this.#warnings) > WARNING_CHARS_MAX) this.#warnings.pop();
  }

  /** That of the version that was asked for; for audit and metrics. */
  get deprecation(): Deprecation | undefined {
    return this.#deprecation;
  }

  /** The client asks for a version that goes away: it is warned, and the request recorded as such. */
  noteDeprecation(deprecation: Deprecation): void {
    this.#deprecation = deprecation;
    this.addWarning(deprecation.warning);
  }

  /** The headers of every answer: name, value, name, value, ... (S1-ERR-12, S1-ERR-07). */
  commonHeaders(): string[] {
    const headers = ["Audit-Id", this.auditId, "Cache-Control", "no-cache, private"];
    if (this.place !== undefined) {
      headers.push("X-Kubernetes-PF-FlowSchema-UID", this.place.schemaUid);
      headers.push("X-Kubernetes-PF-PriorityLevel-UID", this.place.levelUid);
    }
    if (this.#warnings !== undefined) {
      for (const warning of this.#warnings) headers.push("Warning", renderWarning(warning));
    }
    return headers;
  }

  #startController(): AbortController {
    const controller = new AbortController();
    carryTrace(controller.signal, this.trace);
    const response = this.#response;
    // A response that waits behind a pipelined one never hears of the end of its connection.
    const connection = this.#request.httpVersionMajor === 1 ? this.#request.socket : undefined;
    if (response.closed || response.destroyed || connection?.destroyed) {
      controller.abort(new ClientGoneError());
      return controller;
    }
    const remainingMs = this.#deadlineMs - performance.now();
    const timer =
      remainingMs < TIMER_MS_MAX
        ? setTimeout(
            () => controller.abort(timeout("the request did not complete within its deadline")),
            Math.max(0, Math.ceil(remainingMs)),
          )
        : undefined;
    const end = (): void => {
      clearTimeout(timer);
      response.off("close", end);
      connection?.off("close", end);
      if (!response.writableFinished) controller.abort(new ClientGoneError());
    };
    response.once("close", end);
    connection?.once("close", end);
    return controller;
  }
}

/** Sets the headers of every answer on a response whose headers are not sent yet. */
export function applyCommonHeaders(ctx: RequestContext): void {
  if (ctx.headerSent) return;
  const headers = ctx.state.commonHeaders();
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    // A handler may know better, for instance that a document may be cached.
    if (name === "Warning") ctx.append(name, headers[i + 1] as string);
    else if (!ctx.res.hasHeader(name)) ctx.res.setHeader(name, headers[i + 1] as string);
  }
}

/** RFC 9111 section 5.5: code, agent ("-" = unknown), quoted text. */
function renderWarning(text: string): string {
  const quoted = text.replace(/[\\"]/g, "\\$&");
  // Header values are bytes to Node: UTF-8 has to be handed over one character per byte.
  return `299 - "${Buffer.from(quoted, "utf8").toString("latin1")}"`;
}

function lengthOf(warnings: readonly string[]): number {
  return warnings.reduce((sum, warning) => sum + warning.length, 0);
}

/** Counted in characters, so that none is cut in half. */
function cutWarning(text: string): string {
  if (text.length <= WARNING_TRUNCATED_CHARS_MAX) return text;
  return [...text].slice(0, WARNING_TRUNCATED_CHARS_MAX).join("");
}

function cleanWarning(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they would break the header
  return text.replace(/[\u0000-\u001f\u007f]+/g, " ").trim();
}
