/**
 * From a request's JSON to an object of the resource's version: are version and kind those of the
 * URL, do all fields exist, and what stands in for those that are left out.
 */
import type { ApiObject, JsonValue } from "../../api/meta.js";
import { formatGroupVersion } from "../../api/names.js";
import { badRequest, StatusError } from "../../api/status.js";
import { isCustom, kindVersionOf, type ServedResource } from "../../kinds/served-resource.js";
import { DecodeFailure } from "../../schema/value-codec.js";
import type { WriteOptions } from "./registry.js";
import { joinRepeatedKeys, strictProblems, type TextProblems } from "./strict-problems.js";

export interface ObjectInput extends TextProblems {
  readonly value: JsonValue;
  /** The answer when the value is no such object; absent = the 400 of a request's own body. */
  readonly refuse?: RefuseInput | undefined;
}

/** What is said of a value that the server made itself, such as the result of a patch. */
export type RefuseInput = (failure: DecodeFailure) => StatusError;

/** @throws {StatusError} 400 for what is no object of this version and kind (S1-META-21) */
export function decodeInput(
  resource: ServedResource,
  input: ObjectInput,
  options: Pick<WriteOptions, "fieldValidation" | "warn">,
): ApiObject {
  try {
    return decode(resource, input, options);
  } catch (error) {
    if (input.refuse === undefined || !(error instanceof StatusError)) throw error;
    const { cause, message } = error;
    throw input.refuse(
      cause instanceof DecodeFailure ? cause : new DecodeFailure(undefined, message),
    );
  }
}

function decode(
  resource: ServedResource,
  input: ObjectInput,
  options: Pick<WriteOptions, "fieldValidation" | "warn">,
): ApiObject {
  refuseOtherTypes(resource, input.value);
  const { object, unknownFields } = resource.codec.decode(input.value);
  reportStrictProblems(resource, unknownFields, input, options);
  resource.codec.applyDefaults(object);
  return object;
}

/**
 * Version and kind may be left out, but not be others than the URL's (S1-META-21). Of kinds that users
 * bring they are asked for, as nothing else says what a body is.
 */
function refuseOtherTypes(resource: ServedResource, value: JsonValue): void {
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
  if (kind === "" && isCustom(resource) && resource.fact.subresource !== "scale") {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${resource.kind}): Object 'Kind' is missing in '${JSON.stringify(value).slice(0, SHOWN_CHARS_MAX)}'`,
    );
  }
  if (apiVersion !== "" && !acceptedVersions(resource).includes(apiVersion)) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`,
    );
  }
  if (kind !== "" && kind !== resource.kind) {
    throw cannotBeHandled(
      resource,
      kind,
      `the kind in the data (${kind}) does not match the expected kind (${resource.kind})`,
    );
  }
}

/** Of a body in a message. */
const SHOWN_CHARS_MAX = 200;

/** Versions that a body may name. Those of an eviction have the same fields, and old drains send both. */
function acceptedVersions(resource: ServedResource): string[] {
  const { group, version } = kindVersionOf(resource);
  const versions = resource.fact.subresource === "eviction" ? [version, "v1beta1"] : [version];
  return versions.map((accepted) => formatGroupVersion({ group, version: accepted }));
}

function reportStrictProblems(
  resource: ServedResource,
  unknownFields: readonly string[],
  input: ObjectInput,
  { fieldValidation, warn }: Pick<WriteOptions, "fieldValidation" | "warn">,
): void {
  if (fieldValidation === "Ignore") return;
  const { repeatedKeys = [] } = input;
  const isStrict = fieldValidation === "Strict";
  const text =
    isStrict && repeatedKeys.length > 0
      ? { ...input, repeatedKeys: [joinRepeatedKeys(repeatedKeys)] }
      : input;
  const problems = strictProblems(input.value, text, unknownFields);
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
