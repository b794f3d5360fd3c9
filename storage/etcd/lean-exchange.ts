/** What a LeanConnection knows of a call on one of its streams: a LeanCall or a LeanStream. */

import { GRPC_STATUS } from "./errors.js";

/** The gRPC status for an HTTP status without gRPC; others are `unknown` (gRPC's mapping). */
const STATUS_OF_HTTP: Readonly<Record<string, number>> = {
  "400": GRPC_STATUS.internal,
  "401": GRPC_STATUS.unauthenticated,
  "403": GRPC_STATUS.permissionDenied,
  "429": GRPC_STATUS.unavailable,
  "502": GRPC_STATUS.unavailable,
  "503": GRPC_STATUS.unavailable,
  "504": GRPC_STATUS.unavailable,
};

/** The largest answer of a call that is accepted: pages of the state stay below, and those of a transaction or a key far below. */
export const ANSWER_BYTES_MAX = 8 * 1024 * 1024;
/** What a peer may send on one stream, unless it is told that we took it. */
export const STREAM_WINDOW_BYTES = ANSWER_BYTES_MAX + 1_024;

export interface LeanExchange {
  /** 0 = unsent. */
  streamId: number;
  /** Whether the answer has begun. */
  hasHeaders: boolean;
  /** What the peer takes on the stream now. */
  sendWindowBytes: number;
  /** Whether the answer goes on until somebody ends it. */
  readonly isEndless: boolean;
  /** The bytes of the opening that count against the peer's window. */
  readonly contentBytes: number;
  /** The bytes of the opening's frames. */
  frameBytes(frameBytesMax: number): number;
  /** Writes these frames. @returns the position behind them */
  write(buffer: Buffer, start: number, frameBytesMax: number): number;
  /**
   * Takes a piece of the answer.
   * @param windowBytes what it took of the stream's window
   * @returns whether the answer is still acceptable
   */
  receive(content: Buffer, windowBytes: number): boolean;
  /** The trailers report success. */
  succeed(): void;
  /** @param isSent whether etcd can have seen the request */
  fail(status: number, message: string, isSent?: boolean): void;
  failTooLong(): void;
  /** The answer is not gRPC. */
  failHttp(httpStatus?: string): void;
  /** The connection can no longer serve the call. */
  lose(reason: Error): void;
}

/** The failure that an HTTP status in place of an answer means: gRPC status and text. */
export function failureOfHttp(httpStatus = ""): readonly [status: number, message: string] {
  const status = STATUS_OF_HTTP[httpStatus] ?? GRPC_STATUS.unknown;
  return [status, `HTTP status ${JSON.stringify(httpStatus)} in place of an answer`];
}
