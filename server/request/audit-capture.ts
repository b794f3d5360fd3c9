/**
 * AuditCapture: the audit log's data about one request beyond its metadata. Handlers pass request
 * and response bodies; nothing is kept unless the request's audit level requires it.
 */
import { assert } from "../../storage/base/assert.js";

/** JSON that is only made when the record is written. */
export type LazyJson = () => Buffer | string;

export class AuditCapture {
  readonly wantsRequest: boolean;
  readonly wantsResponse: boolean;
  #request: LazyJson | undefined;
  #response: LazyJson | undefined;
  /** Annotations of plugins and steps, by key. */
  readonly annotations = new Map<string, string>();

  constructor(wants: { readonly request: boolean; readonly response: boolean }) {
    assert(wants.request || !wants.response, "ResponseLevelIncludesRequest");
    this.wantsRequest = wants.request;
    this.wantsResponse = wants.response;
  }

  get request(): LazyJson | undefined {
    return this.#request;
  }

  get response(): LazyJson | undefined {
    return this.#response;
  }

  /** The request's body; the last call counts. */
  takeRequest(json: LazyJson): void {
    if (this.wantsRequest) this.#request = json;
  }

  takeResponse(json: LazyJson): void {
    if (this.wantsResponse) this.#response = json;
  }
}
