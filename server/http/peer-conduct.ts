/**
 * PeerConduct: what an HTTP/2 peer may do that costs the server work and itself nothing (H5): requests that it
 * takes back, pings, settings, priorities. Each connection has an allowance that refills with time; who uses
 * it up gets GOAWAY with ENHANCE_YOUR_CALM and loses the connection, with the requests under way on it. Ordinary
 * clients take back a request now and then and ping every few seconds.
 *
 * Node.js bounds what is cheap to it: header lists, refused streams, malformed frames, outstanding pings.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Clock } from "../../storage/base/clock.js";

/** What a connection may do at once. Upstream's HTTP/2 library has no such bound; nghttp2's is 1,000 resets. */
const ALLOWANCE_MAX = 1_000;
/** And how much of it comes back each second. */
const ALLOWANCE_PER_SECOND = 50;
/** A request that is taken back unanswered has been read, authenticated and perhaps begun. */
const UNANSWERED_RESET_COST = 4;
/** Taken back while it is answered, as watches are. */
const ANSWERED_RESET_COST = 1;
const CONTROL_FRAME_COST = 1;

/** For the GOAWAY to arrive. */
const LINGER_MS = 250;

export type Misconduct = "resets" | "control_frames";

export class PeerConduct {
  readonly #session: ServerHttp2Session;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #onEnd: (why: Misconduct) => void;
  #allowance = ALLOWANCE_MAX;
  #countedAtMs: number;
  #isEnded = false;

  /** @param onEnd called once, when the connection is ended */
  constructor(
    session: ServerHttp2Session,
    clock: Pick<Clock, "monotonic">,
    onEnd: (why: Misconduct) => void,
  ) {
    this.#session = session;
    this.#clock = clock;
    this.#onEnd = onEnd;
    this.#countedAtMs = clock.monotonic();
    const countFrame = () => this.#spend(CONTROL_FRAME_COST, "control_frames");
    for (const event of ["ping", "remoteSettings", "priority"]) session.on(event, countFrame);
  }

  /** Called when a stream has closed. */
  streamClosed({ rstCode, headersSent }: ServerHttp2Stream): void {
    if (rstCode === constants.NGHTTP2_NO_ERROR) return;
    this.#spend(headersSent ? ANSWERED_RESET_COST : UNANSWERED_RESET_COST, "resets");
  }

  #spend(cost: number, why: Misconduct): void {
    if (this.#isEnded || this.#session.destroyed) return;
    this.#allowance -= cost;
    if (this.#allowance > 0) return;
    this.#refill();
    if (this.#allowance > 0) return;
    this.#isEnded = true;
    this.#onEnd(why);
    // Not now: Node.js may be inside the parser of the session's frames.
    setImmediate(() => endCalmly(this.#session));
  }

  /** The clock is asked only when the allowance seems used up. */
  #refill(): void {
    const nowMs = this.#clock.monotonic();
    const refilled = ((nowMs - this.#countedAtMs) / 1_000) * ALLOWANCE_PER_SECOND;
    this.#allowance = Math.min(ALLOWANCE_MAX, this.#allowance + refilled);
    this.#countedAtMs = nowMs;
  }
}

/**
 * After GOAWAY further requests are ignored. The connection is cut a little later, as cutting one that has
 * unread data on its way makes the client's kernel forget what it has received.
 */
function endCalmly(session: ServerHttp2Session): void {
  if (session.destroyed) return;
  session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  setTimeout(() => session.destroy(), LINGER_MS).unref();
}
