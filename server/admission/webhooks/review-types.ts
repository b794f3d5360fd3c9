/**
 * The types of a webhook's answer. A member of another type makes the whole answer undecodable, as in
 * kube-apiserver: the call has failed, and nothing in the answer is a decision.
 */
import { isRecord } from "../../../storage/base/is-record.js";

/** The answer is no AdmissionReview. The message tells the first member of another type. */
export class UndecodableReview extends Error {
  override readonly name = "UndecodableReview";
}

type Check = (value: unknown) => string | undefined;

/** A type by its name in kube-apiserver's words; null is an absent member. */
function typed(name: string, fits: (value: unknown) => boolean): Check {
  return (value) => ((value ?? null) === null || fits(value) ? undefined : name);
}

const isText = (value: unknown) => typeof value === "string";
const text = typed("string", isText);
const object = (name: string) => typed(name, isRecord);

const RESPONSE: Readonly<Record<string, Check>> = {
  uid: text,
  allowed: typed("bool", (value) => typeof value === "boolean"),
  status: object("v1.Status"),
  patch: typed("[]uint8", isText),
  patchType: text,
  auditAnnotations: typed("map[string]string", (value) => isRecord(value) && areTexts(value)),
  warnings: typed("[]string", (value) => Array.isArray(value) && areTexts(value)),
};

const RESULT: Readonly<Record<string, Check>> = {
  status: text,
  message: text,
  reason: text,
  code: typed("int32", (value) => Number.isInteger(value)),
  details: object("v1.StatusDetails"),
};

/** @throws {UndecodableReview} */
export function checkReviewTypes(review: Readonly<Record<string, unknown>>): void {
  check(review, { apiVersion: text, kind: text }, "AdmissionReview");
  check(review, { response: object("v1.AdmissionResponse") }, "AdmissionReview");
  const { response } = review;
  if (!isRecord(response)) return;
  check(response, RESPONSE, "AdmissionResponse.response");
  if (isRecord(response.status)) check(response.status, RESULT, "Status.response.status");
  if (typeof response.patch === "string" && !BASE64.test(response.patch)) {
    throw new UndecodableReview("illegal base64 data in response.patch");
  }
}

/** Go's standard encoding, which takes line breaks. */
const BASE64 = /^[A-Za-z0-9+/\r\n]*(?:={1,2}[\r\n]*)?$/;

function check(
  holder: Readonly<Record<string, unknown>>,
  checks: Readonly<Record<string, Check>>,
  at: string,
): void {
  for (const [member, wants] of Object.entries(checks)) {
    const wanted = wants(holder[member]);
    if (wanted === undefined) continue;
    const got = nameOf(holder[member]);
    throw new UndecodableReview(
      `json: cannot unmarshal ${got} into Go struct field ${at}.${member} of type ${wanted}`,
    );
  }
}

function areTexts(values: object): boolean {
  return Object.values(values).every((value) => value === null || isText(value));
}

/** In the words of Go's JSON. */
function nameOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}
