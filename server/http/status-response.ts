/**
 * The one place where an error becomes an answer: a StatusError is rendered as its `Status` in the
 * encoding that the client accepts; so is a store out of reach, whoever asked it. Anything else is a
 * defect of ours and becomes a 500 that says nothing of what happened, with the stack in the log under
 * the same audit id.
 */
import { StorageError } from "../../storage/kv/errors.js";
import { internalError, type Status, StatusError } from "../api/status.js";
import { storageFailure } from "../api/storage-failure.js";
import type { RequestContext } from "../request/request-state.js";

/** Encodes a Status for an Accept header and for people (S1-QP-14); wiring hands in the codecs, JSON is the default. */
export type StatusEncoder = (
  status: Status,
  accept: string | undefined,
  ctx: RequestContext,
) => { readonly contentType: string; readonly body: Buffer | string };

/** The StatusError that a client sees for whatever was thrown. */
export function toClientError(error: unknown, auditId: string): StatusError {
  if (error instanceof StatusError) return error;
  if (isUnreachable(error)) return storageFailure(error);
  return internalError(
    `the request failed unexpectedly; the log has more under audit id ${auditId}`,
    error,
  );
}

/** Whether somebody waited for the store in vain, which is nobody's mistake. */
export function isUnreachable(error: unknown): error is StorageError {
  return error instanceof StorageError && (error.code === "Unavailable" || error.code === "Closed");
}

/** Makes the response this Status. The headers must not be sent yet. */
export function respondWithStatus(
  ctx: RequestContext,
  error: StatusError,
  encode: StatusEncoder,
): void {
  ctx.state.failure = error.status;
  ctx.state.audit?.takeResponse(() => JSON.stringify(error.status));
  const { contentType, body } = encode(error.status, ctx.headers.accept, ctx);
  ctx.status = error.code;
  ctx.set("Content-Type", contentType);
  ctx.set("X-Content-Type-Options", "nosniff");
  // What a handler had prepared for its own body does not describe this one.
  ctx.remove("Content-Encoding");
  ctx.remove("ETag");
  const retryAfterSeconds = error.status.details?.retryAfterSeconds;
  if (retryAfterSeconds !== undefined) ctx.set("Retry-After", String(retryAfterSeconds));
  ctx.body = body;
}
