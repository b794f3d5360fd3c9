/**
 * AdmissionReview: builds the request for a webhook and checks the answer. The request is text assembled
 * from the encodings that clients get. The answer is checked as strictly as by kube-apiserver, because
 * an invalid one must count as a failure and never as a decision.
 */

import { isRecord } from "../../../storage/base/is-record.js";
import type { ApiObject } from "../../api/meta.js";
import { formatGroupVersion } from "../../api/names.js";
import type { Naming } from "../../api/naming.js";
import type { ServedResource } from "../../kinds/served-resource.js";
import { requestOf } from "../matching/request-environment.js";
import type { WriteSubject } from "../matching/write-subject.js";
import type { ReviewVersion } from "./hook.js";
import { checkReviewTypes } from "./review-types.js";

export interface ReviewAnswer {
  readonly isAllowed: boolean;
  /** The Status, if the webhook gave one. */
  readonly result: Readonly<Record<string, unknown>> | undefined;
  /** The JSON patch as text; undefined = none. */
  readonly patch: string | undefined;
  readonly patchType: string;
  readonly warnings: readonly string[];
  readonly auditAnnotations: Readonly<Record<string, string>>;
}

export interface ReviewText {
  readonly uid: string;
  readonly apiVersion: string;
  readonly body: string;
  /** The object as sent, to which a patch applies; undefined = none. */
  readonly object: string | undefined;
}

/** @param resource the version that the webhook wants */
export function writeReview(
  subject: WriteSubject,
  resource: ServedResource,
  version: ReviewVersion,
  { naming, uid }: { readonly naming: Naming; readonly uid: string },
): ReviewText {
  const apiVersion = formatGroupVersion({ group: `admission.${naming.groupDomain}`, version });
  const request = { uid, ...requestOf(subject, resource, naming) };
  const object = encoded(subject.object(resource), resource);
  const oldObject = encoded(subject.oldObject(resource), resource);
  const head = JSON.stringify(request);
  const body = `{"kind":"AdmissionReview","apiVersion":${JSON.stringify(apiVersion)},"request":${head.slice(0, -1)},"object":${object ?? "null"},"oldObject":${oldObject ?? "null"}}}`;
  return { uid, apiVersion, body, object };
}

function encoded(object: ApiObject | undefined, { codec }: ServedResource): string | undefined {
  return object === undefined ? undefined : codec.encode(object);
}

/** @throws {UndecodableReview} @throws {Error} whose message tells what is wrong with the answer */
export function readReview(text: string, sent: ReviewText, isMutating: boolean): ReviewAnswer {
  let review: unknown;
  try {
    review = JSON.parse(text);
  } catch {
    throw new Error("the answer is not JSON");
  }
  if (!isRecord(review)) throw new Error("the answer is not an object");
  checkReviewTypes(review);
  const { response } = review;
  if (!isRecord(response)) throw new Error("webhook response was absent");
  const isStrict = sent.apiVersion.endsWith("/v1");
  if (isStrict) checkIdentity(review, response, sent);
  const patch = patchOf(response.patch);
  const { patchType } = response;
  if (isMutating && isStrict) {
    if (patch !== undefined && patchType === undefined) {
      throw new Error("webhook returned response.patch but not response.patchType");
    }
    if (patch === undefined && typeof patchType === "string" && patchType !== "") {
      throw new Error("webhook returned response.patchType but not response.patch");
    }
    if (patchType === "") throw new Error('webhook returned invalid response.patchType of ""');
  }
  if (!isMutating && isStrict) {
    if (patch !== undefined) throw new Error("validating webhook may not return response.patch");
    if (patchType !== undefined && patchType !== null) {
      throw new Error("validating webhook may not return response.patchType");
    }
  }
  return {
    isAllowed: response.allowed === true,
    result: isRecord(response.status) ? response.status : undefined,
    patch,
    patchType: typeof patchType === "string" ? patchType : isStrict ? "" : "JSONPatch",
    warnings: textsOf(response.warnings),
    auditAnnotations: textMembersOf(response.auditAnnotations),
  };
}

type Members = Readonly<Record<string, unknown>>;

function checkIdentity(review: Members, response: Members, sent: ReviewText): void {
  if (response.uid !== sent.uid) {
    const got = JSON.stringify(typeof response.uid === "string" ? response.uid : "");
    throw new Error(`expected response.uid=${JSON.stringify(sent.uid)}, got ${got.slice(0, 100)}`);
  }
  const { apiVersion = "", kind = "" } = review;
  if (apiVersion !== sent.apiVersion || kind !== "AdmissionReview") {
    const got = `${String(apiVersion).slice(0, 100)}, Kind=${String(kind).slice(0, 100)}`;
    throw new Error(
      `expected webhook response of ${sent.apiVersion}, Kind=AdmissionReview, got ${got}`,
    );
  }
}

/** JSON has no byte strings, so patches are base64. */
function patchOf(patch: unknown): string | undefined {
  if (typeof patch !== "string" || patch === "") return undefined;
  return Buffer.from(patch, "base64").toString("utf8");
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === "string") : [];
}

function textMembersOf(value: unknown): Record<string, string> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string",
    ),
  );
}
