/**
 * PeerConduct: what an HTTP/2 peer may do that costs the server work and itself nothing (H5): requests that it
 * takes back, pings, settings, priorities. Each connection has an allowance that refills with time; who uses
 * it up gets GOAWAY with ENHANCE_YOUR_CALM and loses the connection, with the requests under way on it. Ordinary
 * clients take back a request now and then and ping every few seconds.
 *
 * Of window updates and frames of unknown types Node.js tells nobody. They are counted by their bytes: what was read while no
 * request had a body, and is more than the headers of requests and as much as was written, was such frames.
 *
 * Node.js bounds what is cheap to it: header lists, refused streams, malformed frames, empty data, outstanding pings.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
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

/** Of the shortest frame that nobody is told of, a window update. */
const UNTOLD_FRAME_BYTES = 13;
/** Of the headers of one request at most, compressed. */
const HEADERS_BYTES_MAX = 128 * 1024;
/** Time between two looks at the bytes of a connection. */
export const LOOK_INTERVAL_MS = 5_000;

/** For the GOAWAY to arrive. */
const LINGER_MS = 250;

export type Misconduct = "resets" | "control_frames";

/** What a connection has read and written so far. */
export type ByteCounts = Pick<Socket, "bytesRead" | "bytesWritten">;

export class PeerConduct {
  readonly #session: ServerHttp2Session;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #onEnd: (why: Misconduct) => void;
  #allowance = ALLOWANCE_MAX;
  #countedAtMs: number;
  #isEnded = false;
  readonly #bytes: ByteCounts;
  #read = 0;
  #written = 0;
  /** Requests since the last look. */
  #begun = 0;
  /** Requests with a body under way, and whether there was one since the last look. */
  #bodies = 0;
  #hadBody = false;

  /** @param onEnd called once, when the connection is ended */
  constructor(
    session: ServerHttp2Session,
    bytes: ByteCounts,
    clock: Pick<Clock, "monotonic">,
    onEnd: (why: Misconduct) => void,
  ) {
    this.#session = session;
    this.#bytes = bytes;
    this.#clock = clock;
    this.#onEnd = onEnd;
    this.#countedAtMs = clock.monotonic();
    const countFrame = () => this.#spend(CONTROL_FRAME_COST, "control_frames");
    for (const event of ["ping", "remoteSettings", "priority"]) session.on(event, countFrame);
  }

  streamBegun({ endAfterHeaders }: ServerHttp2Stream): void {
    this.#begun++;
    if (endAfterHeaders) return;
    this.#bodies++;
    this.#hadBody = true;
  }

  /** Called when a stream has closed. */
  streamClosed({ rstCode, headersSent, endAfterHeaders }: ServerHttp2Stream): void {
    if (!endAfterHeaders) this.#bodies--;
    if (rstCode === constants.NGHTTP2_NO_ERROR) return;
    this.#spend(headersSent ? ANSWERED_RESET_COST : UNANSWERED_RESET_COST, "resets");
  }

  /** Called every LOOK_INTERVAL_MS. */
  look(): void {
    const { bytesRead, bytesWritten } = this.#bytes;
    const known = bytesWritten - this.#written + this.#begun * HEADERS_BYTES_MAX;
    const untold = bytesRead - this.#read - known;
    const isJudged = !this.#hadBody;
    this.#read = bytesRead;
    this.#written = bytesWritten;
    this.#begun = 0;
    this.#hadBody = this.#bodies > 0;
    if (isJudged && untold > 0) this.#spend(untold / UNTOLD_FRAME_BYTES, "control_frames");
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
