/**
 * RequestState: the data of one request, typed `ctx.state`. The outermost middleware creates it,
 * each later step fills in its part, and handlers read it. Nothing here outlives the request.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Middleware, ParameterizedContext } from "koa";
import { assert } from "../../storage/base/assert.js";
import { nextTurn } from "../../storage/base/next-turn.js";
import { carryTrace, type Trace } from "../../storage/base/trace.js";
import { type Status, type StatusError, timeout } from "../api/status.js";
import type { Deprecation } from "../schema/lifecycle.js";
import { AnswerWarnings } from "./answer-warnings.js";
import type { AnswersTogether } from "./answers-together.js";
import type { AuditCapture } from "./audit-capture.js";
import type { Http2Request } from "./http2-request.js";
import type { Http2Response } from "./http2-response.js";
import type { RequestInfo } from "./request-info.js";
import type { TurnWatch } from "./turn-watch.js";
import type { UserInfo } from "./user-info.js";
import { carryNotes, type WriteNotes } from "./write-notes.js";

export type RequestContext = ParameterizedContext<RequestState>;
export type RequestMiddleware = Middleware<RequestState>;

/** setTimeout takes 31 bits. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** A signal's abort reason when the client has disconnected. */
export class ClientGoneError extends Error {
  override readonly name = "ClientGoneError";
  constructor() {
    super("the client closed the connection");
  }
}
/** One for all requests, as nobody needs its stack: hundreds of watches close at once. */
const CLIENT_GONE = new ClientGoneError();

/** The flow schema and the priority level of a request, as their uids. */
export interface FlowPlace {
  readonly schemaUid: string;
  readonly levelUid: string;
}

/** Seats that flow control gave to a request; releasing them twice is harmless. */
export interface HeldSeats {
  /** @param watchers of a write: how many have to be notified after the answer */
  release(nowMs: number, watchers?: number): void;
}

/** Memory claimed by a request for its body and its answer; released when the answer is over. */
export interface HeldMemory {
  /** Changes the size of the claim. */
  resize(bytes: number): void;
  release(): void;
}

/** Schedules the work of answers. Undefined: it may run at once. */
export interface AnswerTurns {
  /** Waits for the turn of a long answer's next piece. */
  next(state: RequestState): Promise<void> | undefined;
  /** Waits for the turn of the work after the store has answered. */
  toAnswer(state: RequestState): Promise<void> | undefined;
}

/** For answers whose size is only known when they are made. */
export interface AnswerKeeper {
  /** Smaller answers need no claim. */
  readonly bytesMin: number;
  /**
   * Claims memory for an answer of this size until it is over. Returns a promise only when it has to
   * wait.
   * @throws {StatusError} 429
   */
  hold(ctx: RequestContext, bytes: number): Promise<void> | undefined;
}

export class RequestState {
  /** Monotonic milliseconds at which the request's headers were complete. */
  readonly receivedAtMs: number;
  /** Identifies the request in answer, access log and audit records (S1-ERR-12). */
  readonly auditId: string;
  /** The authorizer's reason, for logs and audit. */
  authorizationReason = "";
  /** The authorizer's decision; undefined = it was not asked. */
  isAuthorized: boolean | undefined;
  /** The real user when `user` is impersonated; for logs and audit. */
  impersonator: UserInfo | undefined;
  /** The verb that allowed constrained impersonation, such as "impersonate:user-info". */
  impersonationConstraint = "";
  /** The name of the object to be created, which the URL lacks; for audit. "" = unknown. */
  createdName = "";
  /** The request's flow schema and priority level; undefined = it has not been classified. */
  place: FlowPlace | undefined;
  /** Seats of flow control, released when the handler is done. */
  seats: HeldSeats | undefined;
  /** Schedules the work of answers; undefined = no scheduling. */
  turns: AnswerTurns | undefined;
  /** Bounds the memory of answers; undefined = no bound. */
  answers: AnswerKeeper | undefined;
  /** The memory that the request holds. */
  memory: HeldMemory | undefined;
  /** A defect of the server ended the request. */
  hasDefect = false;
  /** The Status of a refused request; for audit. */
  failure: Status | undefined;
  /** The audit data of the request; undefined = only its metadata is recorded. */
  audit: AuditCapture | undefined;
  /** Findings of rules about the write, for clients that ask for them in the answer. */
  findings: object[] | undefined;
  /** What the recorder is to know of the request's writes; undefined = it records none. */
  notes: WriteNotes | undefined;
  /** The request's trace, as its signal carries it; undefined = it is not traced. */
  trace: Trace | undefined;
  /** Whether the view holds everything acknowledged before this request. */
  isFresh = false;
  /** The body once it has been read: a request may be handled again. */
  body: Buffer | undefined;
  /** Bytes that defaults have filled in to it. */
  grownBytes = 0;
  /** Milliseconds for which it waited for seats and webhooks: not this server's own time. */
  othersMs = 0;
  /** Bytes of the body sent by a sink; plain bodies know their length. */
  bytesSent = 0;
  /** Whether the whole answer has been handed over; it is written at the end of the turn. */
  isAnswered = false;
  /**
   * What is done when the response closes: a listener for each of those who care is more than Node takes for a leak. Not in
   * a WeakMap, as V8 then keeps them, and the request with them, until a collection of the old space.
   */
  atClose: (() => void)[] | undefined;
  readonly answersTogether: AnswersTogether;
  /** Sees which requests hold the thread; undefined = nobody does. */
  readonly turnWatch: TurnWatch | undefined;

  readonly #request: IncomingMessage | Http2Request;
  readonly #response: ServerResponse | Http2Response;
  #info: RequestInfo | undefined;
  #user: UserInfo | undefined;
  #warnings: AnswerWarnings | undefined;
  #credentialNotes: Map<string, string> | undefined;
  #deprecation: Deprecation | undefined;
  #deadlineMs = Number.POSITIVE_INFINITY;
  #controller: AbortController | undefined;

  constructor(options: {
    auditId: string;
    receivedAtMs: number;
    request: IncomingMessage | Http2Request;
    response: ServerResponse | Http2Response;
    answersTogether: AnswersTogether;
    turnWatch?: TurnWatch | undefined;
  }) {
    this.auditId = options.auditId;
    this.receivedAtMs = options.receivedAtMs;
    this.#request = options.request;
    this.#response = options.response;
    this.answersTogether = options.answersTogether;
    this.turnWatch = options.turnWatch;
    this.turnWatch?.begin(this, options.receivedAtMs);
  }

  /** Available to every step after request info. */
  get info(): RequestInfo {
    // Asked so often that it does without a call where it is known.
    if (this.#info === undefined) assert(false, "RequestInfoIsKnown");
    return this.#info;
  }

  set info(info: RequestInfo) {
    this.#info = info;
  }

  /** For the outer steps, which also see requests that failed before they were parsed. */
  get infoIfKnown(): RequestInfo | undefined {
    return this.#info;
  }

  /** Available to every step after authentication. */
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

  /** Set once, before the signal is used. */
  set deadlineMs(deadlineMs: number) {
    assert(this.#controller === undefined, "DeadlineBeforeSignal");
    this.#deadlineMs = deadlineMs;
  }

  /**
   * Aborts when the client disconnects (reason: ClientGoneError) or at the deadline (reason: a 504
   * StatusError, which callers can rethrow). Made on first use: a read from memory never waits and
   * never pays for it.
   */
  get signal(): AbortSignal {
    this.#controller ??= this.#startController();
    return this.#controller.signal;
  }

  /** On which the request came; of HTTP/2, all its streams have the same. */
  get connection(): object {
    return this.#request.socket;
  }

  /** Whether the client has given up, or its connection has ended. */
  get isGone(): boolean {
    return this.#response.closed || this.#response.destroyed;
  }

  get bodyBytes(): number {
    return this.body?.length ?? 0;
  }

  grew(bytes: number): void {
    this.grownBytes += bytes;
  }

  /** Ends the turn of the event loop, and resolves when flow control gives the request another one. */
  async nextTurn(): Promise<void> {
    await nextTurn();
    await this.turns?.next(this);
    this.turnWatch?.begin(this);
  }

  /**
   * Lets a handler keep the seats beyond its own end, for work that continues.
   * @returns a function that releases them; must be called
   */
  takeSeats(): () => void {
    const { seats } = this;
    this.seats = undefined;
    return () => seats?.release(performance.now());
  }

  get warnings(): readonly string[] {
    return this.#warnings?.texts ?? [];
  }

  /** Adds a `Warning` header to the answer, once per text. No effect after the headers are sent. */
  addWarning(text: string): void {
    this.#warnings ??= new AnswerWarnings();
    this.#warnings.add(text);
  }

  /** Annotations about the credential, from before the audit rule is known; for audit. */
  get credentialNotes(): ReadonlyMap<string, string> | undefined {
    return this.#credentialNotes;
  }

  /** Notes something about the request's credential for the audit log. */
  annotate(key: string, value: string): void {
    this.#credentialNotes ??= new Map();
    this.#credentialNotes.set(key, value);
  }

  /** The deprecation of the requested version; for audit and metrics. */
  get deprecation(): Deprecation | undefined {
    return this.#deprecation;
  }

  /** The requested version is deprecated: warns the client and records it. */
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
      for (const warning of this.#warnings.texts) headers.push("Warning", renderWarning(warning));
    }
    return headers;
  }

  #timeout(): StatusError {
    const isRead = this.#request.method === "GET" || this.#request.method === "HEAD";
    return timeout("the request did not complete within its deadline", isRead ? 1 : undefined);
  }

  #startController(): AbortController {
    const controller = new AbortController();
    carryTrace(controller.signal, this.trace);
    carryNotes(controller.signal, this.notes);
    const response = this.#response;
    // A pipelined response that is still queued does not notice the end of its connection.
    const connection = this.#request.httpVersionMajor === 1 ? this.#request.socket : undefined;
    if (response.closed || response.destroyed || connection?.destroyed) {
      controller.abort(CLIENT_GONE);
      return controller;
    }
    const remainingMs = this.#deadlineMs - performance.now();
    const timer =
      remainingMs < TIMER_MS_MAX
        ? setTimeout(() => controller.abort(this.#timeout()), Math.max(0, Math.ceil(remainingMs)))
        : undefined;
    const end = (): void => {
      clearTimeout(timer);
      response.off("close", end);
      connection?.off("close", end);
      if (!response.writableFinished) controller.abort(CLIENT_GONE);
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
    // A handler may override a header, for instance to make a document cacheable.
    if (name === "Warning") ctx.append(name, headers[i + 1] as string);
    else if (!ctx.res.hasHeader(name)) ctx.res.setHeader(name, headers[i + 1] as string);
  }
}

/** RFC 9111 section 5.5: code, agent ("-" = unknown), quoted text. */
function renderWarning(text: string): string {
  const quoted = text.replace(/[\\"]/g, "\\$&");
  // Node writes one byte per character of a header value, so UTF-8 is passed as bytes.
  return `299 - "${Buffer.from(quoted, "utf8").toString("latin1")}"`;
}
