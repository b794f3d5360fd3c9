/** RecordedRequest: what `api.requests()` and /debug/test-api/requests say of a request. It is part of the package's types. */

/** One request that somebody made. */
export interface RecordedRequest {
  /** Counts all requests since the start, from 1. */
  readonly number: number;
  /** When its answer was made, or begun for a watch; milliseconds since 1970. */
  readonly atMs: number;
  /** get, list, watch, create, update, patch, delete, deletecollection; the method for other paths. */
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  /** "" = not a resource: `path` says what. */
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  /** That of the created object as well. */
  readonly name: string;
  readonly path: string;
  /** "" = the request was not authenticated. */
  readonly user: string;
  readonly userAgent: string;
  readonly status: number;
  /** Whether it changed anything that is stored: a write of what is there already does not. */
  readonly changed: boolean;
}
