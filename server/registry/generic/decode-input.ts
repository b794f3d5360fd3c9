/**
 * Decodes a request's JSON into an object of the resource's version: checks version and kind
 * against the URL, checks for unknown fields, and sets defaults.
 */

import { finishNow, type Steps } from "../../../storage/base/steps.js";
import { invalidValue } from "../../api/field-errors.js";
import { isJsonObject } from "../../api/json-object.js";
import type { ApiObject, JsonValue } from "../../api/meta.js";
import { formatGroupVersion } from "../../api/names.js";
import { badRequest, invalid, StatusError } from "../../api/status.js";
import { isCustom, kindVersionOf, type ServedResource } from "../../kinds/served-resource.js";
import { stringifyJson } from "../../schema/json-text.js";
import { DecodeFailure } from "../../schema/value-codec.js";
import { joinRepeatedKeys, strictProblems, type TextProblems } from "./strict-problems.js";

export interface ObjectInput extends TextProblems {
  readonly value: JsonValue;
  /** The error for an invalid value; absent = the 400 for a request's own body. */
  readonly refuse?: RefuseInput | undefined;
  /** Set for what came of an apply. */
  readonly keepsNulls?: boolean;
}

export type FieldValidation = "Ignore" | "Warn" | "Strict";

export interface InputOptions {
  readonly fieldValidation: FieldValidation;
  /** Receives warnings for the client of a successful write. */
  warn(text: string): void;
  /** Absent = nobody waits for it in turns. */
  readonly request?: { grew?(bytes: number): void } | undefined;
}

/** The error for an invalid value that the server made itself, such as the result of a patch. */
export type RefuseInput = (failure: DecodeFailure) => StatusError;

/** @throws {StatusError} 400 for an invalid object of this version and kind (S1-META-21) */
export function decodeInput(
  resource: ServedResource,
  input: ObjectInput,
  options: InputOptions,
): ApiObject {
  return finishNow(decodeInSteps(resource, input, options, false));
}

/**
 * The same in steps.
 * @param isLong whether it is worth while to cut each of them. @throws {StatusError} as decodeInput
 */
export function* decodeInSteps(
  resource: ServedResource,
  input: ObjectInput,
  options: InputOptions,
  isLong: boolean,
): Steps<ApiObject> {
  if (input.refuse !== undefined) refuseOtherNames(resource, input);
  try {
    return yield* decode(resource, input, options, isLong);
  } catch (error) {
    if (input.refuse === undefined || !(error instanceof StatusError)) throw error;
    const { cause, message } = error;
    throw input.refuse(
      cause instanceof DecodeFailure ? cause : new DecodeFailure(undefined, message),
    );
  }
}

function* decode(
  resource: ServedResource,
  input: ObjectInput,
  options: InputOptions,
  isLong: boolean,
): Steps<ApiObject> {
  refuseOtherTypes(resource, input.value);
  const { codec } = resource;
  const value = input.value ?? {};
  const { object, unknownFields } =
    isLong && codec.decodeInSteps !== undefined
      ? yield* codec.decodeInSteps(value, input)
      : codec.decode(value, input);
  // An apply is judged by the types of the schema, which take what an untyped member holds. Another kind has none.
  const isOther = isJsonObject(value) && (value.kind ?? "") !== resource.kind;
  const isUntyped = isCustom(resource) && (input.keepsNulls === true || isOther);
  reportStrictProblems(resource, isUntyped ? [] : unknownFields, input, options);
  yield;
  // A definition decides how much a small object gets.
  if ((isLong || isCustom(resource)) && codec.applyDefaultsInSteps !== undefined) {
    yield* codec.applyDefaultsInSteps(object, (bytes) => options.request?.grew?.(bytes));
  } else codec.applyDefaults(object);
  return object;
}

/**
 * Version and kind may be missing, but must not differ from the URL's (S1-META-21). For custom kinds
 * the kind is required, and the version too (refuseOtherNames).
 */
function refuseOtherTypes(resource: ServedResource, value: JsonValue): void {
  // Nothing is an object without fields, for kinds that know their own names.
  if (value === null && !isCustom(resource)) return;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw badRequest(
      "couldn't get version/kind; json parse error: the body of the request is no JSON object",
    );
  }
  const expected = formatGroupVersion(kindVersionOf(resource));
  const { apiVersion = "", kind = "" } = value;
  if (typeof apiVersion !== "string" || typeof kind !== "string") {
    throw badRequest(
      "couldn't get version/kind; json parse error: apiVersion and kind must be strings",
    );
  }
  if (kind === "" && isCustom(resource) && !isScale(resource)) {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${resource.kind}): Object 'Kind' is missing in '${stringifyJson(value).slice(0, SHOWN_CHARS_MAX)}'`,
    );
  }
  const isNamed = isCustom(resource) && !isScale(resource);
  if ((apiVersion !== "" || isNamed) && !acceptedVersions(resource).includes(apiVersion)) {
    throw otherVersion(apiVersion, expected);
  }
  if (kind !== "" && kind !== resource.kind && !isNamed) {
    throw cannotBeHandled(
      resource,
      kind,
      `the kind in the data (${kind}) does not match the expected kind (${resource.kind})`,
    );
  }
}

/**
 * Nothing but its version and kind says what a custom object is: another kind is a mistake in a field, found when
 * the object is judged. So is whatever a patch makes of them. @throws {StatusError} 422
 */
export function refuseOtherNames(resource: ServedResource, { value }: ObjectInput): void {
  if (!isCustom(resource) || isScale(resource) || !isJsonObject(value)) return;
  const expected = formatGroupVersion(kindVersionOf(resource));
  const { apiVersion = "", kind = "" } = value;
  if (typeof apiVersion !== "string" || typeof kind !== "string" || kind === "") return;
  const isOtherVersion = apiVersion !== expected;
  const problems = [
    ...(kind === resource.kind ? [] : [invalidValue("kind", kind, `must be ${resource.kind}`)]),
    ...(isOtherVersion ? [invalidValue("apiVersion", apiVersion, `must be ${expected}`)] : []),
  ];
  if (problems.length === 0) return;
  const { metadata } = value;
  const name = metadata !== undefined && isJsonObject(metadata) ? metadata.name : undefined;
  const shown = typeof name === "string" ? name : "";
  throw invalid({ group: resource.group, kind }, shown, problems);
}

function otherVersion(apiVersion: string, expected: string): StatusError {
  return badRequest(
    `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`,
  );
}

function isScale({ fact }: ServedResource): boolean {
  return fact.subresource === "scale";
}

/** How much of a body a message quotes. */
const SHOWN_CHARS_MAX = 200;

/** Versions that a body may name. Eviction's versions share their fields, and old clients send both. */
function acceptedVersions(resource: ServedResource): string[] {
  const { group, version } = kindVersionOf(resource);
  const versions = resource.fact.subresource === "eviction" ? [version, "v1beta1"] : [version];
  return versions.map((accepted) => formatGroupVersion({ group, version: accepted }));
}

function reportStrictProblems(
  resource: ServedResource,
  unknownFields: readonly string[],
  input: ObjectInput,
  { fieldValidation, warn }: InputOptions,
): void {
  if (fieldValidation === "Ignore") return;
  const { repeatedKeys = [] } = input;
  const isStrict = fieldValidation === "Strict";
  const text =
    isStrict && repeatedKeys.length > 0
      ? { ...input, repeatedKeys: [joinRepeatedKeys(repeatedKeys)] }
      : input;
  // Custom objects are read before their fields are looked up: what is written twice comes first.
  const shown = isCustom(resource) && !isScale(resource) ? { ...text, isText: false } : text;
  const problems = strictProblems(input.value, shown, unknownFields);
  if (problems.length === 0) return;
  if (isStrict) {
    throw cannotBeHandled(resource, resource.kind, `strict decoding error: ${problems.join(", ")}`);
  }
  for (const problem of problems) warn(problem);
}

function cannotBeHandled(resource: ServedResource, kind: string, why: string): StatusError {
  const version = JSON.stringify(kindVersionOf(resource).version);
  return badRequest(
    `${kind} in version ${version} cannot be handled as a ${resource.kind}: ${why}`,
    new DecodeFailure(undefined, why),
  );
}
