/**
 * What can go wrong with a gRPC call to etcd, and what that means to users of the store. etcd tells
 * most of its reasons apart only by text; the texts are spelled here and nowhere else (they are
 * etcd's api/v3rpc/rpctypes/error.go, and are the same from 3.4 on).
 */
import { StorageError, type StorageErrorCode } from "../kv/errors.js";

/** gRPC status codes that we tell apart. */
export const GRPC_STATUS = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  deadlineExceeded: 4,
  permissionDenied: 7,
  resourceExhausted: 8,
  aborted: 10,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** A call that did not succeed, as gRPC says it. Never leaves storage/etcd. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly status: number;
  /** Whether etcd can have seen the request. */
  readonly isSent: boolean;

  constructor(status: number, message: string, options: { isSent: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.status = status;
    this.isSent = options.isSent;
  }

  /** Whether another endpoint, or the same one a little later, may well answer. */
  get isTransient(): boolean {
    return TRANSIENT.has(this.status) && !(reasonOf(this)?.isFinal ?? false);
  }

  /** Whether etcd has certainly not done what was asked. */
  get isHarmless(): boolean {
    return !this.isSent || (reasonOf(this)?.isHarmless ?? !TRANSIENT.has(this.status));
  }

  /** Whether the token that we sent has expired; a new one helps. */
  get needsNewToken(): boolean {
    return /invalid auth token|auth store is old|auth revision/.test(this.message);
  }
}

const TRANSIENT: ReadonlySet<number> = new Set([
  GRPC_STATUS.cancelled,
  GRPC_STATUS.unknown,
  GRPC_STATUS.deadlineExceeded,
  GRPC_STATUS.resourceExhausted,
  GRPC_STATUS.aborted,
  GRPC_STATUS.internal,
  GRPC_STATUS.unavailable,
]);

interface Reason {
  readonly text: string;
  readonly code: StorageErrorCode;
  /** Whether asking again is useless. */
  readonly isFinal: boolean;
  /** Whether nothing was written. */
  readonly isHarmless: boolean;
}

/** A refusal after which nothing has happened and asking again gives the same answer. */
function refusal(text: string, code: StorageErrorCode): Reason {
  return { text, code, isFinal: true, isHarmless: true };
}

const REASONS: readonly Reason[] = [
  refusal("required revision has been compacted", "Compacted"),
  refusal("required revision is a future revision", "FutureRevision"),
  refusal("request is too large", "TooLarge"),
  // Said by grpc-js of an answer beyond our limit. etcd says the other of a request beyond its own.
  { text: "Received message larger than max", code: "Refused", isFinal: true, isHarmless: false },
  refusal("received message larger than max", "TooLarge"),
  refusal("too many operations in txn request", "TooLarge"),
  // Until an operator makes room: later is better, and nothing is wrong with the request.
  refusal("database space exceeded", "Unavailable"),
  refusal("corrupt cluster", "Refused"),
  // The lease ended between our asking for it and the write: a new attempt gets a new one.
  refusal("requested lease not found", "Unavailable"),
  { text: "too many requests", code: "Unavailable", isFinal: false, isHarmless: true },
  // Said on arrival, because every request asks for a leader ("hasleader").
  { text: "etcdserver: no leader", code: "Unavailable", isFinal: false, isHarmless: true },
];

function reasonOf(error: RpcError): Reason | undefined {
  return REASONS.find((reason) => error.message.includes(reason.text));
}

/** What a failed call means to users of the store. @param isWrite whether it could change anything */
export function toStorageError(error: unknown, isWrite: boolean): StorageError {
  if (error instanceof StorageError) return error;
  if (!(error instanceof RpcError)) {
    return new StorageError("Unavailable", "the call to etcd failed", {
      cause: error,
      outcomeUnknown: isWrite,
    });
  }
  const code = reasonOf(error)?.code ?? (error.isTransient ? "Unavailable" : "Refused");
  return new StorageError(code, `etcd: ${error.message}`, {
    cause: error,
    outcomeUnknown: isWrite && code === "Unavailable" && !error.isHarmless,
  });
}

/** The error of a call of etcd3, whose messages are "<status> <NAME>: <details>". */
export function fromEtcd3Error(error: unknown): RpcError {
  const text = error instanceof Error ? error.message : String(error);
  const [, status, details] = /(\d+) [A-Z_]+: (.*)/s.exec(text) ?? [];
  const isRefusal = text.includes("etcdserver:") && status === undefined;
  const fallback = isRefusal ? GRPC_STATUS.permissionDenied : GRPC_STATUS.unavailable;
  return new RpcError(status === undefined ? fallback : Number(status), details ?? text, {
    isSent: true,
    cause: error,
  });
}
