/**
 * For tests: one object of a kind under a field manager, as the registry keeps it. Each write advances
 * the time by a second; applied objects are decoded and defaulted.
 */
import { finishNow } from "../../../storage/base/steps.js";
import type { ApiObject, JsonObject, JsonValue } from "../../api/meta.js";
import { createNaming } from "../../api/naming.js";
import type { Facts } from "../../schema/model.js";
import { createObjectCodecs } from "../../schema/object-codec.js";
import { FieldManager, type FieldManagerOptions } from "../field-manager.js";
import { type FieldSet, visitPaths } from "../field-set.js";
import { keepTimesIfSame } from "../keep-times.js";
import { createMergeSchemas } from "../merge-schema-facts.js";
import { describePath } from "../path-element.js";

const START_MS = Date.UTC(2024, 0, 1);

export function manageObjects(
  facts: Facts,
  [group, version, kind]: readonly [string, string, string],
  options: Partial<FieldManagerOptions> = {},
) {
  const type = facts.model.kind(group, version, kind);
  const codec = createObjectCodecs(facts).forKind(group, version, kind);
  if (type === undefined || codec === undefined) throw new Error(`no kind ${kind}`);
  const apiVersion = group === "" ? version : `${group}/${version}`;
  let second = 0;
  const manager = new FieldManager({
    schema: createMergeSchemas(facts.model).ofKind(type),
    apiVersion,
    kind,
    naming: createNaming("kubernetes"),
    now: () => START_MS + second * 1000,
    ...options,
  });
  const decode = (value: JsonValue): ApiObject => {
    const { object } = codec.decode(value);
    codec.applyDefaults(object);
    return object;
  };

  let live: ApiObject | undefined;
  const object = () => {
    if (live === undefined) throw new Error("nothing was written yet");
    return live;
  };
  return {
    manager,
    object,
    /** Replaces or creates the whole object. */
    put(writer: string, value: JsonObject, subresource = ""): ApiObject {
      second++;
      const next = decode({ ...value, apiVersion, kind });
      live = manager.update(live, next, { manager: writer, subresource });
      live.metadata.uid ??= "uid";
      return live;
    },
    apply(writer: string, config: JsonObject, force = false, subresource = ""): ApiObject {
      second++;
      const applied = { ...config, apiVersion, kind };
      const merged = manager.apply(live, applied, { manager: writer, subresource, force });
      const next = decode(merged as unknown as JsonValue);
      live = live === undefined ? next : finishNow(keepTimesIfSame(live, next, false));
      live.metadata.uid ??= "uid";
      return live;
    },
    /** The owned fields as text, by manager: ".spec.replicas", ... */
    owners(): Record<string, string[]> {
      const owners: Record<string, string[]> = {};
      for (const entry of object().metadata.managedFields ?? []) {
        owners[nameOf(entry)] = pathsOf(entry.fieldsV1 as unknown as FieldSet);
      }
      return owners;
    },
  };
}

/** "kubectl Apply", "web Update status" */
function nameOf({ manager, operation, subresource }: JsonObject): string {
  return [manager, operation, subresource].filter((part) => part !== undefined).join(" ");
}

export function pathsOf(set: FieldSet): string[] {
  const paths: string[] = [];
  visitPaths(set, (path) => paths.push(describePath(path)) > 0);
  return paths.sort();
}
