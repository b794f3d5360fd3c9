/** The one place where a failure of the store becomes an answer to a client. */
import { unreachable } from "../../storage/base/assert.js";
import type { StorageError } from "../../storage/kv/errors.js";
import {
  expired,
  internalError,
  requestEntityTooLarge,
  type StatusError,
  serviceUnavailable,
  timeout,
} from "./status.js";

/** What to say for a failure that nobody on the way knew better words for. */
export function storageFailure(error: StorageError): StatusError {
  if (error.outcomeUnknown) {
    // The client must look before it tries again: the write may have happened.
    return timeout("request did not complete within the allotted timeout", 1);
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
    case "Refused":
      return internalError("the store refused the request", error);
    default:
      return unreachable(error.code);
  }
}

/** 503: nothing was done, and may be tried again. */
export function storeUnavailable(): StatusError {
  return serviceUnavailable("the store is not available, please try again later");
}
