/**
 * AuditCapture: the audit log's data about one request beyond its metadata. Handlers pass request
 * and response bodies; nothing is kept unless the request's audit level requires it.
 */

import { assert } from "../../storage/base/assert.js";
import type { Status } from "../api/status.js";
import { parseJson } from "../schema/parse-json.js";

/** JSON that is only made when the record is written. */
export type LazyJson = () => Buffer | string;

/** Which state of which object a body speaks of; "" = it does not say. */
export interface SentIdentity {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** The part of a Status that says how it went. */
export type Outcome = Omit<Status, "code">;

const STATUS_START = '{"kind":"Status",';

/** Only what is one: a body may have anything in their place. */
const UID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const RESOURCE_VERSION = /^\d{1,20}$/;

export class AuditCapture {
  readonly wantsRequest: boolean;
  readonly wantsResponse: boolean;
  #request: LazyJson | undefined;
  #response: LazyJson | undefined;
  #answered: Buffer | undefined;
  #sent: SentIdentity | undefined;
  /** Annotations of plugins and steps, by key. */
  readonly annotations: Map<string, string>;

  /** @param annotations of earlier steps */
  constructor(
    wants: { readonly request: boolean; readonly response: boolean },
    annotations?: ReadonlyMap<string, string>,
  ) {
    assert(wants.request || !wants.response, "ResponseLevelIncludesRequest");
    this.annotations = new Map(annotations);
    this.wantsRequest = wants.request;
    this.wantsResponse = wants.response;
  }

  get request(): LazyJson | undefined {
    return this.#request;
  }

  get response(): LazyJson | undefined {
    return this.#response;
  }

  /** The answer, if it is a Status. */
  get outcome(): Outcome | undefined {
    const isStatus = this.#answered?.toString("utf8", 0, STATUS_START.length) === STATUS_START;
    return isStatus ? (parseJson(this.#answered ?? "") as unknown as Outcome) : undefined;
  }

  /** Of the body's object; undefined = there is none. */
  get sent(): SentIdentity | undefined {
    return this.#sent;
  }

  /** @param value of a body, unchecked */
  takeIdentity(value: unknown): void {
    const { metadata } = (value ?? {}) as { readonly metadata?: unknown };
    const { uid, resourceVersion } = (metadata ?? {}) as Record<string, unknown>;
    const isOne = (text: unknown, form: RegExp) => typeof text === "string" && form.test(text);
    this.#sent = {
      uid: isOne(uid, UID) ? String(uid) : "",
      resourceVersion: isOne(resourceVersion, RESOURCE_VERSION) ? String(resourceVersion) : "",
    };
  }

  /** The request's body; the last call counts. */
  takeRequest(json: LazyJson): void {
    if (this.wantsRequest) this.#request = json;
  }

  /** An answer that may be a Status, which also records without objects have. */
  takeDocument(json: Buffer): void {
    this.#answered = json;
    this.takeResponse(() => json);
  }

  takeResponse(json: LazyJson): void {
    if (this.wantsResponse) this.#response = json;
  }
}
