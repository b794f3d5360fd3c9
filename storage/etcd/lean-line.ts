/**
 * The lean connection to one member for one kind of calls: dialed with the member's other connections, and
 * again after it was lost. Lists have one of their own, and so have streams, so that no small call waits behind a long answer.
 */
import type { Logger } from "../base/logger.js";
import { type DialOptions, dialLean } from "./dial-lean.js";
import type { StreamHandlers } from "./grpc-calls.js";
import type { LeanCall, OnEnd } from "./lean-call.js";
import type { LeanConnection, LeanRequest } from "./lean-connection.js";
import type { LeanStream } from "./lean-stream.js";

/** An unreachable member is tried again after 10 s. */
const REDIAL_TICKS = 20;

export interface LeanLineOptions {
  readonly dial: Omit<DialOptions, "onClose">;
  readonly logger: Logger;
  /** Called when there is a connection. */
  readonly onDialed: () => void;
  /** Called when a connection that was there takes no more calls. */
  readonly onLost: () => void;
}

export class LeanLine {
  readonly #options: LeanLineOptions;
  #connection: LeanConnection | undefined;
  #ticksWithout = 0;

  constructor(options: LeanLineOptions) {
    this.#options = options;
  }

  /** @returns undefined: there is no connection, or the call does not fit; grpc-js may send it */
  begin(request: LeanRequest, token: string | undefined, onEnd: OnEnd): LeanCall | undefined {
    return this.#connection?.begin(request, token, onEnd);
  }

  /** @returns undefined: there is no connection, or no room; grpc-js may open it */
  beginStream(
    path: string,
    token: string | undefined,
    handlers: StreamHandlers,
  ): LeanStream | undefined {
    return this.#connection?.beginStream(path, token, handlers);
  }

  /** Never rejects: without a lean connection grpc-js takes all calls and reports errors. */
  async dial(): Promise<void> {
    if (this.#connection !== undefined) return;
    const { dial, logger, onDialed, onLost } = this.#options;
    try {
      const connection = await dialLean({
        ...dial,
        onClose: (closed) => {
          if (this.#connection !== closed) return;
          this.#connection = undefined;
          onLost();
        },
      });
      if (dial.signal.aborted) connection.destroy(new Error("closed meanwhile"));
      else if (connection.isOpen) {
        this.#connection = connection;
        onDialed();
      }
    } catch (error) {
      logger.debug({ url: dial.url, err: error }, "no lean connection to this etcd endpoint");
    }
  }

  /** @param isMemberReady whether the member is connected otherwise */
  tick(isMemberReady: boolean): void {
    this.#connection?.tick();
    const misses = isMemberReady && this.#connection === undefined;
    this.#ticksWithout = misses ? this.#ticksWithout + 1 : 0;
    if (this.#ticksWithout < REDIAL_TICKS) return;
    this.#ticksWithout = 0;
    void this.dial();
  }

  destroy(reason: Error): void {
    this.#connection?.destroy(reason);
  }
}
