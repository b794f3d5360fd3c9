/**
 * ConversionReview: the request to a conversion webhook and the validation of its answer. A webhook
 * may not change an object's identity: of the metadata only labels and annotations are taken.
 */

import { deepEqual } from "../api/deep-equal.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { Problems } from "../api/problems.js";
import { firstOf } from "../api/shown-value.js";
import { validateAnnotations, validateLabels } from "../api/validation-metadata.js";
import { isLargeValue } from "../codec/body-values.js";
import { jsonToText } from "../codec/json.js";

/** The answer is missing or invalid; the message is for the client. */
export class ConversionFailure extends Error {
  override readonly name = "ConversionFailure";

  constructor(message: string) {
    super(firstOf(message, MESSAGE_CHARS_MAX));
  }
}

/** Foreign text gets into answers, and into conditions that are stored. */
const MESSAGE_CHARS_MAX = 16_384;

export interface ReviewQuestion {
  /** "apiextensions.k8s.io" */
  readonly group: string;
  readonly version: "v1" | "v1beta1";
  readonly uid: string;
  readonly desiredVersion: string;
  readonly objects: readonly JsonObject[];
}

export function writeReview(question: ReviewQuestion): JsonObject {
  const { group, version, uid, desiredVersion, objects } = question;
  return {
    kind: "ConversionReview",
    apiVersion: `${group}/${version}`,
    request: { uid, desiredAPIVersion: desiredVersion, objects: [...objects] },
  };
}

/** What it says the objects are now, in the order of the request. @throws {ConversionFailure} */
export function readReview(answer: JsonValue, question: ReviewQuestion): readonly JsonValue[] {
  const { group, version, uid, objects } = question;
  const apiVersion = `${group}/${version}`;
  if (!isJsonObject(answer)) throw new ConversionFailure("expected a ConversionReview");
  if (answer.kind !== "ConversionReview" || answer.apiVersion !== apiVersion) {
    const got = `${jsonToText(answer.apiVersion)}, Kind=${jsonToText(answer.kind)}`;
    throw new ConversionFailure(
      `expected webhook response of ${apiVersion}, Kind=ConversionReview, got ${got}`,
    );
  }
  const { response } = answer;
  if (response === undefined || !isJsonObject(response)) {
    throw new ConversionFailure("no response provided");
  }
  if (version === "v1" && response.uid !== uid) {
    throw new ConversionFailure(
      `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response.uid ?? "")}`,
    );
  }
  const { result } = response;
  const status = result !== undefined && isJsonObject(result) ? result : {};
  if (status.status !== "Success") {
    const { message } = status;
    const got = typeof status.status === "string" ? status.status : "";
    const unsaid = `response.result.status was '${got}', not 'Success'`;
    throw new ConversionFailure(typeof message === "string" && message !== "" ? message : unsaid);
  }
  const converted = Array.isArray(response.convertedObjects) ? response.convertedObjects : [];
  if (converted.length !== objects.length) {
    throw new ConversionFailure(`returned ${converted.length} objects, expected ${objects.length}`);
  }
  return converted;
}

/** The object if it may be what was sent, in the desired version. @throws {ConversionFailure} */
export function acceptConverted(
  answered: JsonValue,
  index: number,
  { objects, desiredVersion }: ReviewQuestion,
): JsonObject {
  const sent = objects[index] as JsonObject;
  const refuse = (why: string) => new ConversionFailure(`returned invalid ${why}`);
  if (!isJsonObject(answered))
    throw refuse(`converted object at index ${index}: must be an object`);
  if (isLargeValue(answered)) {
    throw refuse(`object at index ${index}: it holds more values than a client may send`);
  }
  if (answered.apiVersion !== desiredVersion) {
    const why = `(expected ${desiredVersion}, received ${String(answered.apiVersion ?? "")})`;
    throw refuse(`object at index ${index}: invalid groupVersion ${why}`);
  }
  if (answered.kind !== sent.kind) {
    const why = `(expected ${String(sent.kind)}, received ${String(answered.kind ?? "")})`;
    throw refuse(`object at index ${index}: invalid kind ${why}`);
  }
  const [before, after] = [metadataOf(sent), metadataOf(answered)];
  const same: readonly (readonly [string, JsonValue | undefined, JsonValue | undefined])[] = [
    ["name", before.name, after.name],
    ["namespace", before.namespace, after.namespace],
    ["UID", before.uid, after.uid],
  ];
  for (const [what, wanted = "", got = ""] of same) {
    if (wanted === got) continue;
    throw refuse(`object: must have the same ${what}: ${String(wanted)} != ${String(got)}`);
  }
  for (const part of ["labels", "annotations"] as const) {
    const why = whyInvalidTexts(part, before[part] ?? {}, after[part] ?? {});
    if (why !== undefined) throw refuse(`metadata: ${why}`);
  }
  return answered;
}

/** What the object had already is not judged anew. */
function whyInvalidTexts(
  part: "labels" | "annotations",
  before: JsonValue,
  after: JsonValue,
): string | undefined {
  if (!isJsonObject(after)) return `metadata.${part}: must be a map of strings`;
  for (const key in after) {
    if (typeof after[key] !== "string") return `metadata.${part}[${key}] must be a string`;
  }
  if (deepEqual(before, after)) return undefined;
  const texts = after as Readonly<Record<string, string>>;
  const errors = new Problems();
  if (part === "labels") validateLabels(texts, "metadata.labels", errors);
  else validateAnnotations(texts, "metadata.annotation", errors);
  const told = [...new Set(errors.map(({ field, message }) => `${field}: ${message}`))];
  return told.length > 1 ? `[${told.join(", ")}]` : told[0];
}

export function metadataOf({ metadata }: JsonObject): JsonObject {
  return metadata !== undefined && isJsonObject(metadata) ? metadata : {};
}
