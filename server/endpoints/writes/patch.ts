/** patch: PATCH of an object or of a subresource; the media type says which kind (S1-PATCH-01). */
import { applyJsonPatch, parseJsonPatch } from "../../api/json-patch.js";
import { applyMergePatch } from "../../api/merge-patch.js";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import { badRequest, unsupportedMediaType } from "../../api/status.js";
import type { ServedResource } from "../../registry/generic/served-resource.js";
import { patchObject } from "../../registry/generic/update.js";
import type { RequestContext } from "../../request/request-state.js";
import { mediaTypeOf, parseText, readBytes } from "./request-body.js";
import { parseWriteOptions } from "./write-options.js";
import {
  answerObject,
  namespaceOf,
  type StrategicMerge,
  type WriteServices,
} from "./write-services.js";

type Patch = (current: JsonValue) => JsonValue;

/** From the request's JSON to a function that runs on each state of the object. */
type PatchType = (document: JsonValue, strategicMerge: StrategicMerge) => Patch;

const PATCH_TYPES: ReadonlyMap<string, PatchType> = new Map<string, PatchType>([
  ["application/json-patch+json", toJsonPatch],
  ["application/merge-patch+json", toMergePatch],
  ["application/strategic-merge-patch+json", toStrategicMergePatch],
]);

/** @throws {StatusError} */
export async function handlePatch(
  ctx: RequestContext,
  resource: ServedResource,
  services: WriteServices,
): Promise<void> {
  const { registry, representations } = services;
  const { info, signal } = ctx.state;
  const toPatch = PATCH_TYPES.get(mediaTypeOf(ctx));
  if (toPatch === undefined) throw unsupportedMediaType([...PATCH_TYPES.keys()]);
  const options = parseWriteOptions(ctx, registry.naming, "PatchOptions");
  representations.of(ctx, resource, false);
  const document = parseText(await readBytes(ctx), (why) => `error decoding patch: ${why}`);
  const target = {
    resource,
    namespace: namespaceOf(ctx, resource),
    name: info.name,
    subresource: info.subresource,
    options,
    patch: toPatch(document, services.strategicMergeOf(resource)),
  };
  answerObject(ctx, resource, services, await patchObject(registry, target, signal));
}

function toJsonPatch(document: JsonValue): Patch {
  const operations = parseJsonPatch(document);
  return (current) => applyJsonPatch(current, operations);
}

function toMergePatch(document: JsonValue): Patch {
  if (typeof document !== "object" || document === null || Array.isArray(document)) {
    throw badRequest("error decoding patch: a merge patch of an object is an object");
  }
  return (current) => applyMergePatch(current, document);
}

function toStrategicMergePatch(document: JsonValue, strategicMerge: StrategicMerge): Patch {
  return (current) => strategicMerge(current as JsonObject, document);
}
