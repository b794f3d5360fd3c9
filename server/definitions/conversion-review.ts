/**
 * ConversionReview: the request to a conversion webhook and the validation of its answer. A webhook
 * may not change an object's identity: of the metadata only labels and annotations are taken.
 */

import { isJsonObject } from "../api/json-object.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { firstOf } from "../api/shown-value.js";
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

/** The converted objects, in the order of the request. @throws {ConversionFailure} */
export function readReview(answer: JsonValue, question: ReviewQuestion): readonly JsonObject[] {
  const { group, version, uid, desiredVersion, objects } = question;
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
      `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response.uid)}`,
    );
  }
  const { result } = response;
  const status = result !== undefined && isJsonObject(result) ? result : {};
  if (status.status !== "Success") {
    throw new ConversionFailure(typeof status.message === "string" ? status.message : "");
  }
  const converted = Array.isArray(response.convertedObjects) ? response.convertedObjects : [];
  if (converted.length !== objects.length) {
    throw new ConversionFailure(`returned ${converted.length} objects, expected ${objects.length}`);
  }
  return converted.map((object, index) =>
    accept(objects[index] as JsonObject, object, desiredVersion, index),
  );
}

function accept(
  sent: JsonObject,
  answered: JsonValue,
  desiredVersion: string,
  index: number,
): JsonObject {
  const refuse = (why: string) =>
    new ConversionFailure(`returned invalid converted object at index ${index}: ${why}`);
  if (!isJsonObject(answered)) throw refuse("must be an object");
  if (answered.apiVersion !== desiredVersion) {
    throw refuse(
      `invalid groupVersion (received ${String(answered.apiVersion)}, expected ${desiredVersion})`,
    );
  }
  const [before, after] = [metadataOf(sent), metadataOf(answered)];
  const same: readonly (readonly [string, JsonValue | undefined, JsonValue | undefined])[] = [
    ["kind", sent.kind, answered.kind],
    ["name", before.name, after.name],
    ["namespace", before.namespace, after.namespace],
    ["UID", before.uid, after.uid],
  ];
  for (const [what, wanted = "", got = ""] of same) {
    if (wanted !== got)
      throw refuse(`must have the same ${what}: ${String(wanted)} != ${String(got)}`);
  }
  for (const part of ["labels", "annotations"] as const) {
    const texts = after[part] ?? {};
    const isTexts =
      isJsonObject(texts) && Object.values(texts).every((text) => typeof text === "string");
    if (!isTexts) throw refuse(`metadata.${part}: must be a map of strings`);
  }
  return answered;
}

export function metadataOf({ metadata }: JsonObject): JsonObject {
  return metadata !== undefined && isJsonObject(metadata) ? metadata : {};
}
