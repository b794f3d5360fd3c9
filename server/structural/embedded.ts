/**
 * Embedded resources (`x-kubernetes-embedded-resource`): they have an apiVersion, a kind and
 * metadata like any object, without a schema for these.
 */

import { finishNow, type Steps } from "../../storage/base/steps.js";
import { invalidValue, requiredValue } from "../api/field-errors.js";
import { isJsonObject, setMember } from "../api/json-object.js";
import type { JsonObject, JsonValue, ObjectMeta } from "../api/meta.js";
import { parseGroupVersion } from "../api/names.js";
import { Problems } from "../api/problems.js";
import type { FieldError } from "../api/status.js";
import { validateMetadata } from "../api/validation-metadata.js";
import { checkDns1035Label, checkPathSegmentName } from "../api/validation-names.js";
import { DecodeFailure } from "../schema/value-codec.js";
import { memberOf, type Structural } from "./structural.js";
import { Findings } from "./value-findings.js";
import { compileValidator } from "./value-validator.js";

const TEXT = { type: "string", nullable: true } as const;
const TEXTS = { type: "object", nullable: true, additionalProperties: TEXT } as const;

/** The types of what is validated in metadata. */
const METADATA_SHAPE = compileValidator({
  type: "object",
  properties: {
    name: TEXT,
    generateName: TEXT,
    namespace: TEXT,
    labels: TEXTS,
    annotations: TEXTS,
    finalizers: { type: "array", nullable: true, items: TEXT },
    ownerReferences: {
      type: "array",
      nullable: true,
      items: {
        type: "object",
        properties: { apiVersion: TEXT, kind: TEXT, name: TEXT, uid: TEXT },
      },
    },
  },
});

/** Decodes metadata; `unknown` receives the paths of unknown fields. */
export interface MetadataCodec {
  decode(value: JsonValue, unknown: string[]): JsonValue;
}

/** Visits every embedded resource with its path; a step each. */
function* eachEmbedded(
  value: JsonValue,
  node: Structural,
  path: string,
  visit: (resource: JsonObject, path: string) => void,
): Steps<void> {
  if (!node.has.embedded) return;
  if (Array.isArray(value)) {
    const { items } = node;
    if (items === undefined) return;
    for (const [index, item] of value.entries()) {
      yield* eachEmbedded(item, items, `${path}[${index}]`, visit);
    }
  } else if (isJsonObject(value)) {
    if (node.isEmbedded) {
      visit(value, path);
      yield;
    }
    for (const [name, member] of Object.entries(value)) {
      const known = memberOf(node, name);
      if (typeof known !== "object" || member === undefined) continue;
      const at = node.properties.has(name) ? join(path, name) : `${path}[${name}]`;
      yield* eachEmbedded(member, known, at, visit);
    }
  }
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/**
 * Decodes the metadata of embedded resources, and drops unknown fields, whose paths it appends.
 * @param dropsInvalid leaves out what has a wrong type
 * @throws {DecodeFailure} unless it is left out
 */
export function readEmbedded(
  object: JsonValue,
  root: Structural,
  codec: MetadataCodec,
  unknown: string[],
  dropsInvalid = false,
): void {
  const reading = eachEmbedded(object, root, "", (resource, path) => {
    if (dropsInvalid) dropInvalid(resource, codec);
    requireTexts(resource, path);
    const { metadata } = resource;
    if (metadata === undefined || metadata === null) return;
    if (!isJsonObject(metadata)) {
      const why = `json: cannot unmarshal ${jsonType(metadata)} into Go value of type v1.ObjectMeta`;
      throw refusal(invalidValue(`${path}.metadata`, metadata, why));
    }
    const own: string[] = [];
    const read = decodeAt(`${path}.metadata`, metadata, (sent) => codec.decode(sent, own));
    setMember(resource, "metadata", withoutZeros(read, metadata));
    unknown.push(...own.map((field) => `${path}.metadata.${field}`));
  });
  finishNow(reading);
}

/** Of a stored resource, which may be older than its schema. */
function dropInvalid(resource: JsonObject, codec: MetadataCodec): void {
  for (const name of ["apiVersion", "kind"]) {
    if (typeof resource[name] !== "string") delete resource[name];
  }
  const { metadata } = resource;
  if (metadata === undefined || metadata === null) return;
  if (!isJsonObject(metadata)) {
    delete resource.metadata;
    return;
  }
  for (const [name, member] of Object.entries(metadata)) {
    if (member !== undefined && !canDecode(codec, { [name]: member })) delete metadata[name];
  }
}

function canDecode(codec: MetadataCodec, metadata: JsonObject): boolean {
  try {
    codec.decode(metadata, []);
    return true;
  } catch (error) {
    if (error instanceof DecodeFailure) return false;
    throw error;
  }
}

/** The decoded metadata; a failure names the place and shows what is there. @throws {DecodeFailure} */
function decodeAt(
  path: string,
  metadata: JsonObject,
  decode: (sent: JsonObject) => JsonValue,
): JsonValue {
  try {
    return decode(metadata);
  } catch (error) {
    if (!(error instanceof DecodeFailure)) throw error;
    throw refusal(invalidValue(path, metadata, error.describe()));
  }
}

/** @throws {DecodeFailure} for an apiVersion or a kind that is there, but no text */
function requireTexts(resource: JsonObject, path: string): void {
  for (const name of ["apiVersion", "kind"]) {
    const value = resource[name];
    if (value === undefined || typeof value === "string") continue;
    throw refusal(invalidValue(`${path}.${name}`, value, "must be a string"));
  }
}

function refusal({ field, message }: FieldError): DecodeFailure {
  return new DecodeFailure(undefined, `${field}: ${message}`);
}

/** As Go calls it. */
function jsonType(value: JsonValue): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  return typeof value === "string" ? "string" : "number";
}

/** The schema with its defaults read as objects are: without unknown fields in embedded metadata. */
export function withReadDefaults(node: Structural, codec: MetadataCodec): Structural {
  if (!node.has.embedded) return node;
  const { items, properties, additional } = node;
  const read = (child: Structural) => withReadDefaults(child, codec);
  return Object.freeze({
    ...node,
    default: readDefault(node, codec),
    items: items && read(items),
    properties: new Map([...properties].map(([name, child]) => [name, read(child)])),
    additional: typeof additional === "object" ? read(additional) : additional,
  });
}

function readDefault(node: Structural, codec: MetadataCodec): JsonValue | undefined {
  if (typeof node.default !== "object" || node.default === null) return node.default;
  const read = structuredClone(node.default);
  try {
    readEmbedded(read, node, codec, []);
    return read;
  } catch (error) {
    // An older definition may have a default of another shape, which objects then are refused for.
    if (error instanceof DecodeFailure) return node.default;
    throw error;
  }
}

/** Decoding adds members that a stored object always has; an embedded one keeps only those sent. */
function withoutZeros(decoded: JsonValue, sent: JsonObject): JsonValue {
  if (!isJsonObject(decoded)) return decoded;
  for (const name of Object.keys(decoded)) if (!Object.hasOwn(sent, name)) delete decoded[name];
  return decoded;
}

export function validateEmbedded(object: JsonValue, root: Structural): FieldError[] {
  return finishNow(validateEmbeddedInSteps(object, root));
}

/** The same, a resource in each step. */
export function* validateEmbeddedInSteps(object: JsonValue, root: Structural): Steps<FieldError[]> {
  const errors = new Problems();
  yield* eachEmbedded(object, root, "", (resource, path) => {
    validateResource(resource, path, errors);
  });
  return errors;
}

function validateResource(resource: JsonObject, path: string, errors: FieldError[]): void {
  const { apiVersion, kind, metadata } = resource;
  if (checkText(apiVersion, `${path}.apiVersion`, errors)) {
    if (parseGroupVersion(apiVersion) === undefined) {
      const why = `unexpected GroupVersion string: ${apiVersion}`;
      errors.push(invalidValue(`${path}.apiVersion`, apiVersion, why));
    }
  }
  if (checkText(kind, `${path}.kind`, errors)) {
    const problems = checkDns1035Label(kind.toLowerCase());
    if (problems.length > 0) {
      const why = `may have mixed case, but should otherwise match: ${problems.join(",")}`;
      errors.push(invalidValue(`${path}.kind`, kind, why));
    }
  }
  if (metadata === undefined || metadata === null) return;
  if (!isJsonObject(metadata)) {
    errors.push(invalidValue(`${path}.metadata`, metadata, "must be an object"));
    return;
  }
  // readEmbedded has ensured the shape in an object, but nobody has in a definition's default.
  const misshapen = new Findings();
  METADATA_SHAPE(metadata, misshapen);
  const [first] = misshapen.size === 0 ? [] : misshapen.toErrors();
  if (first !== undefined) {
    errors.push(invalidValue(`${path}.metadata`, metadata, `${first.field}: ${first.message}`));
    return;
  }
  const meta = metadata as ObjectMeta;
  const isNamed = meta.name !== undefined && meta.name !== "";
  const found = validateMetadata(isNamed ? meta : { ...meta, name: "fakename" }, {
    isNamespaced: (meta.namespace ?? "") !== "",
    checkName: checkPathSegmentName,
    namespaceFinalizer: "",
    finalizers: "any",
  });
  errors.push(...found.map((error) => ({ ...error, field: `${path}.${error.field}` })));
}

/** Whether the value is a text, which can be checked further. */
function checkText(
  value: JsonValue | undefined,
  path: string,
  errors: FieldError[],
): value is string {
  if (value === undefined) {
    errors.push(requiredValue(path));
    return false;
  }
  if (typeof value !== "string") {
    errors.push(invalidValue(path, value, "must be a string"));
    return false;
  }
  if (value !== "") return true;
  errors.push(invalidValue(path, value, "must not be empty"));
  return false;
}
