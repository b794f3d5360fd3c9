/**
 * What clients are told about stored objects that cannot be read (S1-UNS-08, S1-UNS-11, S1-UNS-12):
 * which ones, and nothing of their content.
 */
import { StatusError } from "../../api/status.js";

/** As many keys as a person looks at. */
const CAUSES_MAX = 100;

/** 500 StoreReadError: clients know it as the sign of objects that only a forced delete removes. */
export function unreadableObjects(paths: readonly string[]): StatusError {
  return new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: "failed to read one or more objects from storage",
    reason: "StoreReadError",
    details: {
      causes: paths.slice(0, CAUSES_MAX).map((path) => ({
        reason: "UnexpectedServerResponse",
        message: `the stored object at ${JSON.stringify(path)} cannot be read`,
        field: path,
      })),
    },
    code: 500,
  });
}
