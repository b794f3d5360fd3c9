/**
 * PeerConduct: what an HTTP/2 peer may do that costs the server work and itself nothing (H5): requests that it
 * takes back, pings, settings, priorities. Each connection has an allowance that refills with time; who uses
 * it up gets GOAWAY with ENHANCE_YOUR_CALM and loses the connection, with the requests under way on it. Ordinary
 * clients take back a request now and then and ping every few seconds.
 *
 * Of window updates, padding and frames of unknown types Node.js tells nobody. They are counted by their bytes, as what is
 * left when all else is taken off what was read:
 *
 *     100,000   bytes read since the last look
 *     - 9,000   headers of requests that began, as if they were not compressed
 *    - 60,000   bodies that readers took, with the heads of their frames
 *    - 11,000   window updates that answers explain: a quarter of what was written
 *    = 20,000   unexplained
 *    - 16,000   what may wait in the window of a stream whose body is under way
 *     = 4,000   were frames of 13 bytes at least: 307 of the allowance of 1,000
 *
 * Node.js bounds what is cheap to it: header lists, refused streams, malformed frames, empty data, outstanding pings.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { Clock } from "../../storage/base/clock.js";

/** What a connection may do at once. kube-apiserver's HTTP/2 library has no such bound; nghttp2's is 1,000 resets. */
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
/** Beside the characters of a name or a value; a frame's own bytes are among them. */
const HEADER_BYTES_EACH = 16;
/** Frames of a body are 16 KiB, and shorter at the ends of a client's pieces: one with its head has at least 9 x 64 bytes. */
const BODY_BYTES_PER_HEAD_BYTE = 64;
/**
 * A client may tell of room twice for each frame that it gets, in 26 bytes, and frames with less than a hundred bytes are rare.
 * One whose window is a byte tells of it for each byte, which is sent in a frame of ten.
 */
const WRITTEN_BYTES_PER_UPDATE_BYTE = 4;
/** For the GOAWAY to arrive. */
const LINGER_MS = 250;

export type Misconduct = "resets" | "control_frames";

/** Bytes that nothing explains: so many are looked at when others ask for something, and not only now and then. */
const SUSPICIOUS_BYTES = 64 * 1024;

export interface PeerConductParts {
  readonly session: ServerHttp2Session;
  readonly socket: Socket;
  /** Nothing more is read of a connection that is ended. */
  readonly stopReading: () => void;
  /** What a client may send of a body that nobody reads. */
  readonly streamWindowBytes: number;
  readonly clock: Pick<Clock, "monotonic">;
  /** Called once, when the connection is ended. */
  readonly onEnd: (why: Misconduct) => void;
}

export class PeerConduct {
  readonly #session: ServerHttp2Session;
  readonly #socket: Socket;
  readonly #streamWindowBytes: number;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #onEnd: (why: Misconduct) => void;
  readonly #stopReading: () => void;
  #allowance = ALLOWANCE_MAX;
  #countedAtMs: number;
  #isEnded = false;
  /** The connection's counts at the last look. */
  #read = 0;
  #written = 0;
  /** Bytes read at the end of the last turn that was glanced at. */
  #readBefore = 0;
  /** Bytes read that nothing explains so far; those of bodies that wait in a window are among them. */
  #unexplained = 0;
  /** Requests with a body that are under way. */
  #bodies = 0;

  constructor(parts: PeerConductParts) {
    const { session, socket, stopReading, streamWindowBytes, clock, onEnd } = parts;
    this.#session = session;
    this.#stopReading = stopReading;
    this.#socket = socket;
    this.#streamWindowBytes = streamWindowBytes;
    this.#clock = clock;
    this.#onEnd = onEnd;
    this.#countedAtMs = clock.monotonic();
    const countFrame = () => this.#spend(CONTROL_FRAME_COST, "control_frames");
    for (const event of ["ping", "remoteSettings", "priority"]) session.on(event, countFrame);
  }

  /** @param rawHeaders names and values by turns; unknown = as long as they may be */
  streamBegun({ endAfterHeaders }: ServerHttp2Stream, rawHeaders?: readonly string[]): void {
    // What has been read already has hundreds of requests more: Node.js refuses those of a closed session.
    if (this.#isEnded) closeCalmly(this.#session);
    this.#unexplained -= rawHeaders === undefined ? HEADERS_BYTES_MAX : sizeOf(rawHeaders);
    if (!endAfterHeaders) this.#bodies++;
  }

  /** Called with what a reader has taken of a body. */
  bodyTaken(bytes: number): void {
    this.#unexplained -= bytes + bytes / BODY_BYTES_PER_HEAD_BYTE;
  }

  /** Called when a stream has closed. */
  streamClosed({ rstCode, headersSent, endAfterHeaders }: ServerHttp2Stream): void {
    if (!endAfterHeaders) {
      this.#bodies--;
      // Nobody will take what may have waited.
      this.#unexplained -= this.#streamWindowBytes;
    }
    if (rstCode === constants.NGHTTP2_NO_ERROR) return;
    this.#spend(headersSent ? ANSWERED_RESET_COST : UNANSWERED_RESET_COST, "resets");
  }

  /** Called while others wait; cheap. A flood of frames of which nobody is told is seen at once. */
  glance(): void {
    const { bytesRead, bytesWritten } = this.#socket;
    const since = bytesRead - this.#read;
    if (since < SUSPICIOUS_BYTES) return;
    const explained = (bytesWritten - this.#written) / WRITTEN_BYTES_PER_UPDATE_BYTE;
    const beyond = this.#unexplained + since - explained;
    if (beyond - this.#bodies * this.#streamWindowBytes >= SUSPICIOUS_BYTES) this.look();
  }

  /** Called at the end of a turn. @returns whether so much was read in it that the next turn is worth a glance */
  glanceAfterTurn(): boolean {
    const { bytesRead } = this.#socket;
    const read = bytesRead - this.#readBefore;
    this.#readBefore = bytesRead;
    this.glance();
    return read >= SUSPICIOUS_BYTES && !this.#isEnded;
  }

  /** Called every few seconds. */
  look(): void {
    const { bytesRead, bytesWritten } = this.#socket;
    const read = bytesRead - this.#read;
    const explained = (bytesWritten - this.#written) / WRITTEN_BYTES_PER_UPDATE_BYTE;
    this.#read = bytesRead;
    this.#written = bytesWritten;
    // What was written explains window updates until the next look: a slow client sends them later.
    this.#unexplained = Math.max(-explained, this.#unexplained + read - explained);
    const beyond = this.#unexplained - this.#bodies * this.#streamWindowBytes;
    if (beyond <= 0) return;
    this.#unexplained -= beyond;
    this.#spend(beyond / UNTOLD_FRAME_BYTES, "control_frames");
  }

  #spend(cost: number, why: Misconduct): void {
    if (this.#isEnded || this.#session.destroyed) return;
    this.#allowance -= cost;
    if (this.#allowance > 0) return;
    this.#refill();
    if (this.#allowance > 0) return;
    this.#isEnded = true;
    this.#onEnd(why);
    // At once: in one more turn a megabyte of frames would be read.
    this.#stopReading();
    // Not now: Node.js may be inside the parser of the session's frames.
    setImmediate(() => endCalmly(this.#session, this.#socket));
  }

  /** The clock is asked only when the allowance seems used up. */
  #refill(): void {
    const nowMs = this.#clock.monotonic();
    const refilled = ((nowMs - this.#countedAtMs) / 1_000) * ALLOWANCE_PER_SECOND;
    this.#allowance = Math.min(ALLOWANCE_MAX, this.#allowance + refilled);
    this.#countedAtMs = nowMs;
  }
}

/** No less than what a client sends of them, which compresses them or does not. */
function sizeOf(rawHeaders: readonly string[]): number {
  let bytes = HEADER_BYTES_EACH * rawHeaders.length;
  for (const text of rawHeaders) bytes += text.length;
  return bytes;
}

/**
 * After GOAWAY a flood is read no further. The session ends at once: one that goes on has its socket read again after each of
 * its writes. The connection is cut a little later, as cutting one that has unread data on its way makes the client's kernel
 * forget what it has received.
 */
function endCalmly(session: ServerHttp2Session, socket: Socket): void {
  if (session.destroyed) return;
  // The socket of a session that is not closed is cut as soon as it has been written.
  closeCalmly(session);
  socket.once("resume", () => socket.pause());
  session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

function closeCalmly(session: ServerHttp2Session): void {
  if (session.closed || session.destroyed) return;
  session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  session.close();
}
