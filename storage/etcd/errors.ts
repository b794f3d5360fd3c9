/**
 * The errors of gRPC calls to etcd, and their meaning for users of the store. etcd distinguishes
 * most reasons by text only; the texts are spelled here and nowhere else (they come from etcd's
 * api/v3rpc/rpctypes/error.go, and are the same from 3.4 on).
 */
import { StorageError, type StorageErrorCode } from "../kv/errors.js";

/** The gRPC status codes that we distinguish. */
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

/** A failed call with its gRPC status. Never leaves storage/etcd. */
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

  /** Whether another endpoint, or the same one a little later, is likely to answer. */
  get isTransient(): boolean {
    return TRANSIENT.has(this.status) && !(reasonOf(this)?.isFinal ?? false);
  }

  /** Whether etcd has certainly not executed the request. */
  get isHarmless(): boolean {
    return !this.isSent || (reasonOf(this)?.isHarmless ?? !TRANSIENT.has(this.status));
  }

  /** Whether the token has expired, so that a new one helps. */
  get needsNewToken(): boolean {
    return /invalid auth token|auth store is old|auth revision/.test(this.message);
  }
}

/** An answer beyond what a lean connection takes; its text is grpc-js's for answers beyond our limit there. */
export class AnswerTooLong extends RpcError {
  constructor() {
    super(GRPC_STATUS.resourceExhausted, "Received message larger than max", { isSent: true });
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
  /** Whether retrying is useless. */
  readonly isFinal: boolean;
  /** Whether nothing was written. */
  readonly isHarmless: boolean;
}

/** A refusal that changed nothing and that a retry would meet again. */
function refusal(text: string, code: StorageErrorCode): Reason {
  return { text, code, isFinal: true, isHarmless: true };
}

const REASONS: readonly Reason[] = [
  refusal("required revision has been compacted", "Compacted"),
  refusal("required revision is a future revision", "FutureRevision"),
  refusal("request is too large", "TooLarge"),
  // The first is grpc-js's text for an answer beyond our limit, the other etcd's for a request
  // beyond its own.
  { text: "Received message larger than max", code: "Refused", isFinal: true, isHarmless: false },
  refusal("received message larger than max", "TooLarge"),
  refusal("too many operations in txn request", "TooLarge"),
  // The write that crosses the quota is applied and refused; later ones are only refused.
  { text: "database space exceeded", code: "NoSpace", isFinal: true, isHarmless: false },
  refusal("corrupt cluster", "Refused"),
  // The lease ended between our request for it and the write: a retry gets a new one.
  refusal("requested lease not found", "Unavailable"),
  { text: "too many requests", code: "Unavailable", isFinal: false, isHarmless: true },
  // Returned on arrival, because every request requires a leader ("hasleader").
  { text: "etcdserver: no leader", code: "Unavailable", isFinal: false, isHarmless: true },
];

function reasonOf(error: RpcError): Reason | undefined {
  return REASONS.find((reason) => error.message.includes(reason.text));
}

/** Codes of failures that can follow a write that was applied. */
const LOST: ReadonlySet<StorageErrorCode> = new Set(["Unavailable", "NoSpace"]);

/**
 * Translates a failed call for users of the store. @param isWrite whether it could change anything
 */
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
    outcomeUnknown: isWrite && LOST.has(code) && !error.isHarmless,
  });
}

/** Translates an error of etcd3, whose messages are "<status> <NAME>: <details>". */
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
