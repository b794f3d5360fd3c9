/**
 * Calls of grpc-js: unary calls, and bidirectional streams. They are made on a Channel and not on a
 * Client, whose interceptors, emitters and stack captures make a transaction a third dearer
 * (docs/dev/decisions/0003-etcd-client.md). Run by EtcdConnection; knows no etcd message.
 */
import type { Channel, InterceptingListener, Metadata, StatusObject } from "@grpc/grpc-js";
import type { Abortable } from "../base/abort-hub.js";
import { GRPC_STATUS, RpcError } from "./errors.js";

/** The answer of a streaming call: any number of messages, then one end. */
export interface StreamHandlers {
  onMessage(message: Buffer): void;
  /** Called once, with the call's status (which may be ok); no message follows. */
  onEnd(status: RpcError): void;
}

export interface GrpcStream {
  send(message: Buffer): void;
  /** Stops and restarts the flow of messages; etcd waits meanwhile. */
  pause(): void;
  resume(): void;
  /** Cancels the call; no handler is called any more. */
  close(): void;
}

/** The parameters of a call. */
export interface CallPlan {
  readonly channel: Channel;
  readonly path: string;
  readonly metadata: Metadata;
}

type Call = ReturnType<Channel["createCall"]>;

/** grpc-js's text for a stream that the peer has not processed (RFC 9113, 8.7). */
const REFUSED_STREAM = "Stream refused by server";

/** Shared, because a new Error with its stack for each successful call would cost 3 µs. */
export const STATUS_OK = new RpcError(GRPC_STATUS.ok, "ok", { isSent: true });

/** Sends the request at once, and calls `onEnd` once with the answer or the failure. */
export class UnaryCall implements InterceptingListener, Abortable {
  readonly #channel: Channel;
  readonly #call: Call;
  readonly #onEnd: (failure: unknown, answer: Buffer | undefined) => void;
  #answer: Buffer | undefined;
  #isOver = false;
  /** The caller may cancel at any time, so it must assume that the request was sent. */
  readonly isSent = true;
  /** How often EtcdConnection's timer has found the call under way. */
  ticks = 0;

  constructor(
    plan: CallPlan,
    message: Buffer,
    onEnd: (failure: unknown, answer: Buffer | undefined) => void,
    deadlineMs = Number.POSITIVE_INFINITY,
  ) {
    this.#channel = plan.channel;
    this.#onEnd = onEnd;
    this.#call = plan.channel.createCall(plan.path, deadlineMs, null, null, null);
    this.#call.start(plan.metadata, this);
    this.#call.startRead();
    this.#call.sendMessageWithContext({}, message);
    this.#call.halfClose();
  }

  onReceiveMetadata(): void {}

  onReceiveMessage(message: Buffer): void {
    this.#answer = message;
  }

  onReceiveStatus(status: StatusObject): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const isOk = status.code === GRPC_STATUS.ok && this.#answer !== undefined;
    if (isOk) this.#onEnd(undefined, this.#answer);
    else this.#onEnd(toRpcError(status, this.#call, this.#channel), undefined);
  }

  /** Cancels the call with that reason. */
  abort(reason: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#call.cancelWithStatus(GRPC_STATUS.cancelled, "given up");
    this.#onEnd(reason, undefined);
  }
}

export class StreamCall implements InterceptingListener, GrpcStream, Abortable {
  readonly #channel: Channel;
  readonly #call: Call;
  readonly #handlers: StreamHandlers;
  #isOver = false;
  #isPaused = false;
  /** Whether the next message has been requested; grpc-js delivers one per request. */
  #isReading = false;
  /** grpc-js takes the next message when the previous one is written. */
  #isSending = false;
  readonly #unsent: Buffer[] = [];

  constructor(plan: CallPlan, handlers: StreamHandlers) {
    this.#channel = plan.channel;
    this.#handlers = handlers;
    this.#call = plan.channel.createCall(plan.path, Number.POSITIVE_INFINITY, null, null, null);
    this.#call.start(plan.metadata, this);
    this.#read();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  send(message: Buffer): void {
    if (this.#isOver) return;
    if (this.#isSending) {
      this.#unsent.push(message);
      return;
    }
    this.#isSending = true;
    const callback = () => {
      this.#isSending = false;
      const next = this.#unsent.shift();
      if (next !== undefined) this.send(next);
    };
    this.#call.sendMessageWithContext({ callback }, message);
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#read();
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#call.cancelWithStatus(GRPC_STATUS.cancelled, "given up");
  }

  abort(reason: unknown): void {
    if (this.#isOver) return;
    this.close();
    this.#handlers.onEnd(
      new RpcError(GRPC_STATUS.unavailable, "the stream was given up", {
        isSent: true,
        cause: reason,
      }),
    );
  }

  onReceiveMetadata(): void {}

  onReceiveMessage(message: Buffer): void {
    this.#isReading = false;
    if (this.#isOver) return;
    this.#handlers.onMessage(message);
    this.#read();
  }

  onReceiveStatus(status: StatusObject): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const isOk = status.code === GRPC_STATUS.ok;
    this.#handlers.onEnd(isOk ? STATUS_OK : toRpcError(status, this.#call, this.#channel));
  }

  #read(): void {
    if (this.#isPaused || this.#isReading || this.#isOver) return;
    this.#isReading = true;
    this.#call.startRead();
  }
}

function toRpcError(status: StatusObject, call: Call, channel: Channel): RpcError {
  if (status.code === GRPC_STATUS.ok) {
    return new RpcError(GRPC_STATUS.internal, "no message in the answer", { isSent: true });
  }
  // Until a stream is begun on a connection, a call's peer is the channel's target.
  const isStarted = call.getPeer() !== channel.getTarget();
  const isSent = isStarted && !status.details.includes(REFUSED_STREAM);
  return new RpcError(status.code, status.details, { isSent });
}
