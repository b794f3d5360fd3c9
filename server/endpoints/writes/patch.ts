/** patch: PATCH of an object or a subresource; the media type selects the kind of patch (S1-PATCH-01). */
import { applyJsonPatch, parseJsonPatch } from "../../api/json-patch.js";
import { applyMergePatch } from "../../api/merge-patch.js";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import { badRequest, internalError, unsupportedMediaType } from "../../api/status.js";
import { limitsOf } from "../../codec/body-values.js";
import type { StrategicMerge } from "../../kinds/kind-codec.js";
import { isCustom, type StoredResource } from "../../kinds/served-resource.js";
import type { ObjectInput, RefuseInput } from "../../registry/generic/decode-input.js";
import { duplicateField, joinRepeatedKeys } from "../../registry/generic/strict-problems.js";
import { applyObject } from "../../registry/write/apply.js";
import { pauseOf } from "../../registry/write/long-write.js";
import { patchObject } from "../../registry/write/update.js";
import type { RequestContext } from "../../request/request-state.js";
import { readJson } from "./json-body.js";
import { refuseConversion, refuseHidden, refuseResult } from "./refused-patch.js";
import {
  mediaTypeOf,
  type ObjectDecoders,
  type Reading,
  readBytes,
  readCbor,
  readYaml,
  revisionSent,
  takeForAudit,
} from "./request-body.js";
import { parseApplyOptions, parseWriteOptions } from "./write-options.js";
import { answerObject, namespaceOf, type WriteServices, waitOf } from "./write-services.js";

interface Patch {
  readonly apply: (current: JsonValue) => JsonValue;
  readonly refuseResult: (result: JsonValue) => RefuseInput;
}

/** Turns the request's JSON into a function that runs on each state of the object. */
type PatchType = (document: JsonValue, strategicMerge: StrategicMerge) => Patch;

const JSON_PATCH_TYPE = "application/json-patch+json";
const STRATEGIC_TYPE = "application/strategic-merge-patch+json";

const PATCH_TYPES: ReadonlyMap<string, PatchType> = new Map<string, PatchType>([
  [JSON_PATCH_TYPE, toJsonPatch],
  ["application/merge-patch+json", toMergePatch],
  [STRATEGIC_TYPE, toStrategicMergePatch],
]);

const APPLY_TYPE = "application/apply-patch+yaml";
const APPLY_CBOR_TYPE = "application/apply-patch+cbor";

/** @throws {StatusError} */
export async function handlePatch(
  ctx: RequestContext,
  resource: StoredResource,
  services: WriteServices,
): Promise<void> {
  const type = mediaTypeOf(ctx);
  const toPatch = PATCH_TYPES.get(type);
  const applyTypes = services.decoders.hasCbor ? [APPLY_TYPE, APPLY_CBOR_TYPE] : [APPLY_TYPE];
  // The scale of a custom object is of a built-in type, and takes no more than its object does (D17).
  const takesStrategic = !isCustom(resource) && resource.codec.strategicMerge() !== undefined;
  const isTaken = toPatch === undefined ? applyTypes.includes(type) : type !== STRATEGIC_TYPE;
  if (!isTaken && !(type === STRATEGIC_TYPE && takesStrategic)) {
    const patchTypes = [...PATCH_TYPES.keys()].filter(
      (known) => known !== STRATEGIC_TYPE || takesStrategic,
    );
    throw unsupportedMediaType([...patchTypes, ...applyTypes]);
  }
  if (toPatch === undefined) await apply(ctx, resource, services);
  else await patch(ctx, resource, services, toPatch);
}

async function patch(
  ctx: RequestContext,
  resource: StoredResource,
  services: WriteServices,
  toPatch: PatchType,
): Promise<void> {
  const { registry, representations } = services;
  const type = mediaTypeOf(ctx);
  const options = parseWriteOptions(ctx, registry.naming, "PatchOptions");
  const representation = representations.of(ctx, resource, false);
  const text = (await readBytes(ctx)).toString("utf8");
  // A strategic merge converts values, and reads no text of them.
  const keepsDecimals = type !== STRATEGIC_TYPE && !isCustom(resource);
  const read = readJson(text, (why) => `error decoding patch: ${why}`, {
    limits: limitsOf(resource.kind),
    keepsDecimals,
    findsDuplicates: options.fieldValidation !== "Ignore",
    pause: pauseOf(ctx.state),
  });
  const { value: document, duplicateFields } = read instanceof Promise ? await read : read;
  ctx.state.notes?.nameBase(revisionPatched(document));
  const { apply, refuseResult } = toPatch(document, strategicMergeOf(resource));
  const target = {
    ...targetOf(ctx, resource),
    options,
    patch: apply,
    refuseResult: isConfidential(resource) ? refuseHidden : refuseResult,
    remarks: options.fieldValidation === "Ignore" ? [] : remarksOn(document, duplicateFields, type),
  };
  const result = await patchObject(registry, target, waitOf(ctx));
  await answerObject(ctx, resource, representation, result);
}

/** The version that a patch asks for, or puts back. */
function revisionPatched(document: JsonValue): unknown {
  if (!Array.isArray(document)) return revisionSent(document);
  const named = document.find(
    (operation) => (operation as JsonObject | null)?.path === "/metadata/resourceVersion",
  );
  return (named as JsonObject | undefined)?.value;
}

function isConfidential({ group, resource }: StoredResource): boolean {
  return group === "" && resource === "secrets";
}

/** The findings of strict validation about the patch itself. */
function remarksOn(
  document: JsonValue,
  duplicates: readonly string[],
  type: string,
): readonly string[] {
  if (type !== JSON_PATCH_TYPE || !Array.isArray(document)) return duplicates.map(duplicateField);
  const unknown = document.flatMap((operation, index) =>
    Object.keys(operation ?? {})
      .filter((member) => !JSON_PATCH_MEMBERS.has(member))
      .map((member) => `json patch unknown field ${JSON.stringify(`[${index}].${member}`)}`),
  );
  return [...unknown, ...duplicates.map((path) => `json patch ${duplicateField(path)}`)];
}

const JSON_PATCH_MEMBERS = new Set(["op", "path", "from", "value"]);

/** Server-side apply (S1-SSA-04): the body is a configuration, not a patch of the current object. */
async function apply(
  ctx: RequestContext,
  resource: StoredResource,
  services: WriteServices,
): Promise<void> {
  const { registry, representations } = services;
  const { options, force } = parseApplyOptions(ctx, registry.naming);
  const representation = representations.of(ctx, resource, false);
  const bytes = await readBytes(ctx);
  const reading = { limits: limitsOf(resource.kind), pause: pauseOf(ctx.state) };
  const input = await readConfiguration(bytes, mediaTypeOf(ctx), services.decoders, reading);
  takeForAudit(ctx, input.value);
  ctx.state.notes?.nameBase(revisionSent(input.value));
  const { repeatedKeys = [] } = input;
  if (options.fieldValidation === "Strict" && repeatedKeys.length > 0) {
    const why = `error converting YAML to JSON: ${joinRepeatedKeys(repeatedKeys)}`;
    throw badRequest(`error strict decoding YAML: ${why}`);
  }
  const target = {
    ...targetOf(ctx, resource),
    options,
    force,
    input,
    authorizeCreate: async () => services.authorizeCreate?.(ctx, resource),
  };
  const result = await applyObject(registry, target, waitOf(ctx));
  await answerObject(ctx, resource, representation, result);
}

async function readConfiguration(
  bytes: Buffer,
  type: string,
  { yaml }: ObjectDecoders,
  reading: Reading,
): Promise<ObjectInput> {
  if (type === APPLY_CBOR_TYPE) {
    return await readCbor(bytes, (why) => `error decoding CBOR: ${why}`, reading);
  }
  const describe = (why: string) => `error decoding YAML: ${why}`;
  return await readYaml(yaml, bytes.toString("utf8"), describe, reading);
}

function targetOf(ctx: RequestContext, resource: StoredResource) {
  const { name, subresource } = ctx.state.info;
  return { resource, namespace: namespaceOf(ctx, resource), name, subresource };
}

function toJsonPatch(document: JsonValue): Patch {
  const operations = parseJsonPatch(document);
  return { apply: (current) => applyJsonPatch(current, operations), refuseResult };
}

function toMergePatch(document: JsonValue): Patch {
  if (typeof document !== "object" || document === null || Array.isArray(document)) {
    throw badRequest("error decoding patch: a merge patch of an object is an object");
  }
  return { apply: (current) => applyMergePatch(current, document), refuseResult };
}

function strategicMergeOf({ codec, resource }: StoredResource): StrategicMerge {
  return (current, patch) => {
    const merge = codec.strategicMerge();
    if (merge === undefined) throw internalError(`${resource} takes no strategic merge patches`);
    return withTypeOf(current, merge(current, patch));
  };
}

/**
 * A strategic merge does not change an object's type: a patch that names another one (many clients name
 * the parent's when they patch `scale`) changes the other fields.
 */
function withTypeOf({ apiVersion, kind }: JsonObject, patched: JsonObject): JsonObject {
  const isTyped = isTextOrNone(patched.apiVersion) && isTextOrNone(patched.kind);
  return isTyped ? { ...patched, apiVersion, kind } : patched;
}

function isTextOrNone(value: JsonValue | undefined): boolean {
  return value === undefined || typeof value === "string";
}

function toStrategicMergePatch(document: JsonValue, strategicMerge: StrategicMerge): Patch {
  return {
    apply: (current) => strategicMerge(current as JsonObject, document),
    refuseResult: () => refuseConversion(document),
  };
}
