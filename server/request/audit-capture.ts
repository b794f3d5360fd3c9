/**
 * AuditCapture: what the audit log wants of one request beside its metadata. Handlers hand over what
 * was sent and what is answered; nothing is kept of a request whose level does not ask for it.
 */
import { assert } from "../../storage/base/assert.js";

/** JSON, made when the record is written and not before. */
export type LazyJson = () => Buffer | string;

export class AuditCapture {
  readonly wantsRequest: boolean;
  readonly wantsResponse: boolean;
  #request: LazyJson | undefined;
  #response: LazyJson | undefined;
  /** What plugins and steps have to say of the request, by key. */
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

  /** The body of the request; the last one that is handed over counts. */
  takeRequest(json: LazyJson): void {
    if (this.wantsRequest) this.#request = json;
  }

  takeResponse(json: LazyJson): void {
    if (this.wantsResponse) this.#response = json;
  }
}
