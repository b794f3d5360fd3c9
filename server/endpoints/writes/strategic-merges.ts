/** Strategic merge patches for the resources that are served, by the type of their served version. */

import type { JsonObject, JsonValue } from "../../api/meta.js";
import { internalError } from "../../api/status.js";
import { createStrategicMergePatcher } from "../../apply/strategic-merge.js";
import type { ServedResource } from "../../registry/generic/served-resource.js";
import type { SchemaModel } from "../../schema/model.js";
import { bodyKindOf, type StrategicMerge } from "./write-services.js";

export function createStrategicMerges(
  model: SchemaModel,
): (resource: ServedResource) => StrategicMerge {
  const patcher = createStrategicMergePatcher(model);
  return (resource) => {
    const { group, version, kind } = bodyKindOf(resource);
    const type = model.kind(group, version, kind);
    if (type === undefined) throw internalError(`there are no facts of kind ${kind}`);
    return (current, patch) => withTypeOf(current, patcher(type, current, patch));
  };
}

/**
 * The type of an object is no part of what a strategic merge changes: a patch that names another one
 * (many clients name the parent's when they patch `scale`) changes the rest.
 */
function withTypeOf({ apiVersion, kind }: JsonObject, patched: JsonObject): JsonObject {
  const isTyped = isTextOrNone(patched.apiVersion) && isTextOrNone(patched.kind);
  return isTyped ? { ...patched, apiVersion, kind } : patched;
}

function isTextOrNone(value: JsonValue | undefined): boolean {
  return value === undefined || typeof value === "string";
}
