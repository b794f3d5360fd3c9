/** Strategic merge patches for the resources that are served, by the type of their served version. */

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
    return (current, patch) => patcher(type, current, patch);
  };
}
