/**
 * The only place that turns an error into an answer. A StatusError is rendered as its `Status` in an
 * encoding that the client accepts; so is an unreachable store. Any other error is a defect and
 * becomes a 500 without details, with the stack in the log under the same audit id.
 */
import { StorageError, type StorageErrorCode } from "../../storage/kv/errors.js";
import { boundedStatus } from "../api/bounded-status.js";
import { ProblemsFull } from "../api/problems.js";
import { internalError, invalid, type Status, StatusError } from "../api/status.js";
import { storageFailure } from "../api/storage-failure.js";
import type { RequestContext } from "../request/request-state.js";

/** Encodes a Status for an Accept header and for people (S1-QP-14); wiring hands in the codecs, JSON is the default. */
export type StatusEncoder = (
  status: Status,
  accept: string | undefined,
  ctx: RequestContext,
) => { readonly contentType: string; readonly body: Buffer | string };

/** The StatusError that the client gets for any error. */
export function toClientError(error: unknown, auditId: string): StatusError {
  if (error instanceof StatusError) return error;
  if (isUnreachable(error)) return storageFailure(error);
  if (error instanceof ProblemsFull) return invalid({ group: "", kind: "" }, "", error.problems);
  return internalError(
    `the request failed unexpectedly; the log has more under audit id ${auditId}`,
    error,
  );
}

const UNREACHABLE: ReadonlySet<StorageErrorCode> = new Set(["Unavailable", "NoSpace", "Closed"]);

/** Whether the store was unreachable or full, which is not a defect. */
export function isUnreachable(error: unknown): error is StorageError {
  return error instanceof StorageError && UNREACHABLE.has(error.code);
}

/** Makes the response this Status. The headers must not be sent yet. */
export function respondWithStatus(
  ctx: RequestContext,
  error: StatusError,
  encode: StatusEncoder,
): void {
  const status = boundedStatus(error.status);
  ctx.state.failure = status;
  ctx.state.audit?.takeResponse(() => JSON.stringify(status));
  const { contentType, body } = encode(status, ctx.headers.accept, ctx);
  ctx.status = error.code;
  ctx.set("Content-Type", contentType);
  ctx.set("X-Content-Type-Options", "nosniff");
  // Headers that a handler had set for its own body do not describe this one.
  ctx.remove("Content-Encoding");
  ctx.remove("ETag");
  const retryAfterSeconds = error.status.details?.retryAfterSeconds;
  if (retryAfterSeconds !== undefined) ctx.set("Retry-After", String(retryAfterSeconds));
  ctx.body = body;
}
