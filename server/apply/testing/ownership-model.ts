/**
 * A brute-force model of ownership for tests: objects are flat lists of paths, owners are sets of
 * paths, and every rule is a filter. `checkAgainstModel` runs writes and applies on a schema and
 * compares owners, conflicts and values after each.
 */
import assert from "node:assert/strict";
import { finishNow } from "../../../storage/base/steps.js";
import type { ApiObject, JsonObject, JsonValue } from "../../api/meta.js";
import { createNaming } from "../../api/naming.js";
import { StatusError } from "../../api/status.js";
import { FieldManager } from "../field-manager.js";
import type { FieldSet } from "../field-set.js";
import { keepTimesIfSame } from "../keep-times.js";
import { elementOf } from "../list-items.js";
import {
  DYNAMIC,
  LEAF_TYPE,
  type MapType,
  type MergeType,
  mapOf,
  objectType,
} from "../merge-schema.js";
import { describePath } from "../path-element.js";
import { pathsOf } from "./managed-object.js";

export function structOf(fields: Readonly<Record<string, MergeType>>): MapType {
  const map = new Map(Object.entries(fields));
  return { form: "map", fields: () => map, others: undefined };
}

/** The value at each path: JSON for atomic values, or a mark that it has fields of its own. */
export type Flat = Map<string, string>;
export const MAP = "{...}";
export const LIST = "[...]";
const CONTAINERS = [MAP, LIST, "{}", "[]"];

/** @param isEntry a configuration with it also owns the entry or item itself */
function flatten(
  type: MergeType,
  value: JsonValue,
  path: readonly string[],
  isEntry: boolean,
  out: { values: Flat; owned: Set<string> },
): void {
  const here = describePath(path);
  const members = membersOf(type, value);
  if (members === undefined || members.length === 0) {
    out.values.set(here, JSON.stringify(sorted(value)));
    out.owned.add(here);
    return;
  }
  out.values.set(here, Array.isArray(value) ? LIST : MAP);
  if (isEntry) out.owned.add(here);
  for (const [element, memberType, member, isMemberEntry] of members) {
    flatten(memberType, member, [...path, element], isMemberEntry, out);
  }
}

/** Members in order, so that equal values have equal texts. */
function sorted(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  return Array.isArray(value)
    ? value.map(sorted)
    : Object.fromEntries(Object.entries(value).sort());
}

function membersOf(
  type: MergeType,
  value: JsonValue,
): (readonly [string, MergeType, JsonValue, boolean])[] | undefined {
  if (type.form === "list") {
    return (value as JsonValue[]).map((item) => [
      String(elementOf(type, item)),
      type.items,
      item,
      true,
    ]);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  if (type.form === "dynamic") {
    return Object.entries(value).map(([name, member]) => [
      `f:${name}`,
      DYNAMIC,
      member ?? null,
      true,
    ]);
  }
  if (type.form !== "map") return undefined;
  return Object.entries(value).map(([name, member]) => {
    const declared = type.fields().get(name);
    const memberType = declared ?? type.others;
    assert(memberType !== undefined, name);
    return [`f:${name}`, memberType, member ?? null, declared === undefined];
  });
}

/** The values at all paths of a body, and the paths that a configuration of it owns. */
export function flat(body: MapType, value: JsonObject): { values: Flat; owned: Set<string> } {
  const out = { values: new Map<string, string>(), owned: new Set<string>() };
  for (const [element, type, member] of membersOf(body, value) ?? []) {
    flatten(type, member, [element], false, out);
  }
  return out;
}

/** Paths that other owners lose, and paths that the writer gains. */
function differenceOf(before: Flat, after: Flat): { changed: Set<string>; removed: Set<string> } {
  const changed = new Set<string>();
  const removed = new Set<string>();
  for (const [path, value] of after) {
    const old = before.get(path);
    // A map or list that only gained or lost members counts as unchanged.
    const isSame = [old, value].every((text) => CONTAINERS.includes(text ?? ""));
    if (old !== value && !(isSame && old?.[0] === value[0])) changed.add(path);
  }
  for (const path of before.keys()) if (!after.has(path)) removed.add(path);
  return { changed, removed };
}

export type Operation =
  | { readonly verb: "put"; readonly manager: string; readonly value: JsonObject }
  | {
      readonly verb: "apply";
      readonly manager: string;
      readonly value: JsonObject;
      readonly force: boolean;
    };

/** One object of a kind with this body under a field manager. */
export function createEngine(body: MapType) {
  let time = 0;
  const fields = new FieldManager({
    schema: {
      root: objectType(body, structOf({ labels: mapOf(LEAF_TYPE) })),
      empty: { metadata: {} },
    },
    apiVersion: "v1",
    kind: "Thing",
    naming: createNaming("kubernetes"),
    now: () => time++ * 1000,
  });
  let live: ApiObject | undefined;
  return {
    run(step: Operation): void {
      const object = { apiVersion: "v1", kind: "Thing", metadata: { name: "t" }, ...step.value };
      const write = { manager: step.manager, subresource: "" };
      const before = JSON.stringify([live, object]);
      const next =
        step.verb === "put"
          ? fields.update(live, object, write)
          : fields.apply(live, object as JsonObject, { ...write, force: step.force });
      assert.equal(JSON.stringify([live, object]), before, "what goes in is left alone");
      live = live === undefined ? next : finishNow(keepTimesIfSame(live, next, false));
      live.metadata.uid = "u";
    },
    object: () => live,
    body(): JsonObject {
      const { apiVersion: _, kind: __, metadata: ___, ...rest } = live ?? {};
      return rest as JsonObject;
    },
    owners(): Map<string, string[]> {
      const entries = live?.metadata.managedFields ?? [];
      return new Map(
        entries.map(({ manager: name, operation: how, fieldsV1 }) => [
          `${String(name)} ${String(how)}`,
          pathsOf(fieldsV1 as unknown as FieldSet),
        ]),
      );
    },
  };
}

/** Runs the steps in order. @throws {AssertionError} when engine and model differ */
export function checkAgainstModel(body: MapType, steps: readonly Operation[]): void {
  const engine = createEngine(body);
  const model = new Map<string, Set<string>>();
  for (const step of steps) {
    const before = flat(body, engine.body()).values;
    const isNew = engine.object() === undefined;
    if (!isNew && model.size === 0) {
      if (step.verb === "put") {
        // Without owners nothing is tracked, as the last owner has let go.
        engine.run(step);
        continue;
      }
      if (before.size > 0) model.set("before-first-apply Update", new Set(before.keys()));
    }
    const id = `${step.manager} ${step.verb === "put" ? "Update" : "Apply"}`;
    const others = [...model].filter(([owner]) => step.verb === "put" || owner !== id);
    let conflict: StatusError | undefined;
    try {
      engine.run(step);
    } catch (error) {
      assert(error instanceof StatusError && error.code === 409, String(error));
      assert(step.verb === "apply" && !step.force);
      conflict = error;
      engine.run({ ...step, force: true });
    }
    const { changed, removed } = differenceOf(before, flat(body, engine.body()).values);
    const taken = others.flatMap(([owner, paths]) =>
      owner === id ? [] : [...paths].filter((path) => changed.has(path)),
    );
    if (step.verb === "apply") {
      assert.equal(conflict !== undefined, taken.length > 0 && !step.force);
      const fields = conflict?.status.details?.causes?.map(({ field }) => field ?? "");
      if (fields !== undefined) assert.deepEqual(fields.sort(), taken.sort());
    }
    for (const [owner, paths] of others) {
      for (const path of paths) {
        if (removed.has(path) || (changed.has(path) && owner !== id)) paths.delete(path);
      }
      if (paths.size === 0) model.delete(owner);
    }
    const own =
      step.verb === "apply"
        ? flat(body, step.value).owned
        : new Set([...(model.get(id) ?? []), ...changed]);
    if (own.size === 0) model.delete(id);
    else model.set(id, own);
    const expected = [...model].map(([owner, paths]) => [owner, [...paths].sort()] as const);
    assert.deepEqual(new Map([...engine.owners()].sort()), new Map([...expected].sort()));
  }
}
