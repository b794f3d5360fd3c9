/** The only place that turns a failure of the store into an answer to a client. */
import { unreachable } from "../../storage/base/assert.js";
import { StorageError } from "../../storage/kv/errors.js";
import {
  expired,
  internalError,
  requestEntityTooLarge,
  StatusError,
  serviceUnavailable,
  timeout,
} from "./status.js";

/** The default answer, when no caller had a better one. */
export function storageFailure(error: StorageError): StatusError {
  return new StatusError(answerTo(error).status, { cause: error });
}

/** Whether it is the store that fails, which fails all others as well. A webhook may deny with the same codes. */
export function isOutage(error: unknown): error is StatusError {
  return error instanceof StatusError && error.code >= 503 && error.cause instanceof StorageError;
}

function answerTo(error: StorageError): StatusError {
  if (error.outcomeUnknown) {
    // No Retry-After: clients repeat what carries one, and this write may have happened.
    return timeout("request did not complete within the allotted timeout");
  }
  switch (error.code) {
    case "Compacted":
      return expired(error.message);
    case "TooLarge":
      return requestEntityTooLarge(`the object is too large for the store: ${error.message}`);
    case "FutureRevision":
    case "Unavailable":
    case "Closed":
      return storeUnavailable();
    case "NoSpace":
      return serviceUnavailable(`the store has no space left: ${error.message}`);
    case "Refused":
      return internalError("the store refused the request", error);
    default:
      return unreachable(error.code);
  }
}

/** 503: nothing was done, and a retry is safe. */
export function storeUnavailable(cause?: unknown): StatusError {
  return serviceUnavailable("the store is not available, please try again later", cause);
}
