/**
 * Strategic merge patch: a merge patch that knows the object's type, so that lists with a merge key
 * are merged by item (S1-PATCH-05). Takes the current object and the patch, and returns the result
 * without changing either; unchanged parts are shared. Unknown fields pass through: decoding the
 * result handles them.
 *
 * Directives: `$patch` (replace, delete, merge), `$retainKeys`, `$deleteFromPrimitiveList/<field>`,
 * `$setElementOrder/<field>`. Order of list items as kube-apiserver has it: items of the patch in the
 * order of the directive or else of the patch, other items stay before those that they stood before.
 *
 * Unlike in kube-apiserver, an unsuitable patch is never a 500: malformed directives are 400,
 * unmergeable lists 422 (S1-PATCH-11); and directives in new values do not end up in the object.
 */
import { isJsonObject } from "../api/json-object.js";
import type { JsonArray, JsonObject, JsonValue } from "../api/meta.js";
import { badRequest, StatusError } from "../api/status.js";
import { stringifyJson } from "../schema/json-text.js";
import type { SchemaModel, StructType } from "../schema/model.js";
import { setMember } from "../schema/value-codec.js";
import { createPatchTypes, OPAQUE, type PatchField, type PatchType } from "./patch-types.js";

const DIRECTIVE = "$patch";
const RETAIN_KEYS = "$retainKeys";
const DELETE_FROM_LIST = "$deleteFromPrimitiveList";
const ELEMENT_ORDER = "$setElementOrder";

/** How much of a value a message quotes. */
const SHOWN_CHARS_MAX = 200;

/** @throws {StatusError} 400 for a malformed patch, 422 for one that does not fit the object */
export type StrategicMergePatcher = (
  type: StructType,
  current: JsonObject,
  patch: JsonValue,
) => JsonObject;

/** A patcher for the types of one model. */
export function createStrategicMergePatcher(model: SchemaModel): StrategicMergePatcher {
  const patchTypeOf = createPatchTypes(model);
  return (type, current, patch) => {
    // As in kube-apiserver, which reads it as a patch of nothing.
    if (patch === null) return current;
    if (!isJsonObject(patch)) throw malformed("invalid JSON document");
    return mergeMaps(patchTypeOf(type), current, patch);
  };
}

const NEW_MAP_FIELD: PatchField = {
  type: OPAQUE,
  isMerged: false,
  isReplaced: false,
  mergeKey: undefined,
};

function fieldOf(type: PatchType, name: string): PatchField {
  switch (type.form) {
    case "struct":
      return type.fields().get(name) ?? NEW_MAP_FIELD;
    case "map":
      return { ...NEW_MAP_FIELD, type: type.values };
    default:
      return NEW_MAP_FIELD;
  }
}

/** @param current undefined = no value yet, so the result is the patch without its directives */
function mergeMaps(
  type: PatchType,
  current: JsonObject | undefined,
  patch: JsonObject,
): JsonObject {
  const directive = directiveOf(patch);
  if (directive === "replace") {
    const { [DIRECTIVE]: _, ...members } = patch;
    return mergeMaps(type, undefined, members);
  }
  if (directive === "delete") return {};
  const result = retainKeys(current ?? {}, patch);
  const { orders, deletions } = listDirectives(patch);
  for (const [name, items] of deletions) {
    const list = own(result, name);
    if (Array.isArray(list)) setMember(result, name, withoutScalars(list, items));
  }
  for (const name of Object.keys(patch)) {
    const value = patch[name];
    if (value === undefined || isDirective(name)) continue;
    if (value === null) delete result[name];
    else {
      const order = orders.get(name);
      const merged = mergeField(fieldOf(type, name), own(result, name), value, order);
      if (merged === undefined) delete result[name];
      else setMember(result, name, merged);
    }
  }
  for (const [name, order] of orders) {
    const list = own(result, name);
    if (own(patch, name) !== undefined || list === undefined || list === null) continue;
    if (!Array.isArray(list)) throw malformed(`expected a list at ${name}, but received a value`);
    setMember(result, name, reorder(fieldOf(type, name), list, order));
  }
  return result;
}

/** What a map of a patch says of its counterpart. */
function directiveOf(patch: JsonObject): "merge" | "replace" | "delete" {
  const directive = own(patch, DIRECTIVE);
  if (directive === undefined) return "merge";
  if (directive === "replace" || directive === "delete") return directive;
  throw malformed(`unknown patch type: ${show(directive)} in map: ${show(patch)}`);
}

/** @returns undefined for a map with a directive where none is to merge with: it is left out with what it has */
function mergeField(
  field: PatchField,
  current: JsonValue | undefined,
  value: JsonValue,
  order: JsonArray | undefined,
): JsonValue | undefined {
  if (isJsonObject(value)) {
    if (!isJsonObject(current) && own(value, DIRECTIVE) !== undefined) return undefined;
    const isKept = isJsonObject(current) && !field.isReplaced;
    return mergeMaps(field.type, isKept ? current : undefined, value);
  }
  if (!Array.isArray(value)) {
    if (order !== undefined) throw malformed("expected a list, but received a value");
    return value;
  }
  // Items of a replaced list are not examined.
  if (!field.isMerged) return value;
  return Array.isArray(current)
    ? mergeLists(field, current, value, order)
    : newList(field, value, order);
}

/** The patch's items without directives; those of one key stay apart, as nothing is there to merge with. */
function newList(field: PatchField, patch: JsonArray, order: JsonArray | undefined): JsonArray {
  const items: JsonArray = [];
  for (const item of patch) {
    if (!isJsonObject(item)) items.push(item);
    else if (own(item, DIRECTIVE) === undefined) {
      items.push(mergeMaps(itemTypeOf(field), undefined, item));
    }
  }
  if (order === undefined) return items;
  const { mergeKey } = field;
  const key = (item: JsonValue) =>
    mergeKey === undefined ? scalarKey(item) : orderKey(item, mergeKey);
  checkOrder(items.map(key), order.map(key), patch, order);
  return reorder(field, items, order);
}

/** A copy of the current object without the fields that the patch does not retain. */
function retainKeys(current: JsonObject, patch: JsonObject): JsonObject {
  const directive = own(patch, RETAIN_KEYS);
  if (directive === undefined) return copyOf(current);
  if (!Array.isArray(directive)) throw malformed("invalid patch format of retainKeys");
  const retained = new Set<JsonValue>(directive);
  for (const name of Object.keys(patch)) {
    if (patch[name] === null || isDirective(name) || retained.has(name)) continue;
    throw malformed("invalid patch format of retainKeys");
  }
  const kept: JsonObject = {};
  for (const name of Object.keys(current)) {
    const value = current[name];
    if (value !== undefined && retained.has(name)) setMember(kept, name, value);
  }
  return kept;
}

interface ListDirectives {
  readonly orders: ReadonlyMap<string, JsonArray>;
  readonly deletions: ReadonlyMap<string, JsonArray>;
}

const NO_LIST_DIRECTIVES: ListDirectives = { orders: new Map(), deletions: new Map() };

function listDirectives(patch: JsonObject): ListDirectives {
  let found: { orders: Map<string, JsonArray>; deletions: Map<string, JsonArray> } | undefined;
  for (const name of Object.keys(patch)) {
    if (!name.startsWith("$")) continue;
    const isOrder = name.startsWith(ELEMENT_ORDER);
    if (!isOrder && !name.startsWith(DELETE_FROM_LIST)) continue;
    const what = isOrder ? "setElementOrder list" : "primitive list";
    const prefix = `${isOrder ? ELEMENT_ORDER : DELETE_FROM_LIST}/`;
    const items = patch[name];
    if (!name.startsWith(prefix) || !Array.isArray(items)) {
      throw malformed(`invalid patch format of ${what}`);
    }
    found ??= { orders: new Map(), deletions: new Map() };
    (isOrder ? found.orders : found.deletions).set(name.slice(prefix.length), items);
  }
  return found ?? NO_LIST_DIRECTIVES;
}

function isDirective(name: string): boolean {
  if (!name.startsWith("$")) return false;
  return (
    name === DIRECTIVE ||
    name === RETAIN_KEYS ||
    name.startsWith(DELETE_FROM_LIST) ||
    name.startsWith(ELEMENT_ORDER)
  );
}

function withoutScalars(list: JsonArray, removed: JsonArray): JsonArray {
  const keys = new Set(removed.map(scalarKey));
  return list.filter((item) => !keys.has(scalarKey(item)));
}

function mergeLists(
  field: PatchField,
  current: JsonArray,
  patch: JsonArray,
  order: JsonArray | undefined,
): JsonArray {
  if (current.length === 0 && patch.length === 0) return current;
  return elementForm(current, patch) === "scalar"
    ? mergeScalars(current, patch, order)
    : mergeItems(field, current, patch, order);
}

/** All items are maps, or all are scalars of one type. */
function elementForm(current: JsonArray, patch: JsonArray): "map" | "scalar" {
  let form: string | undefined;
  for (const list of [current, patch]) {
    for (const item of list) {
      if (Array.isArray(item)) throw unfit("lists of lists are not supported");
      const itemForm = item === null ? "null" : typeof item === "bigint" ? "number" : typeof item;
      form ??= itemForm;
      if (form !== itemForm) {
        throw unfit(`list element types are not identical: ${show([current, patch])}`);
      }
    }
  }
  return form === "object" ? "map" : "scalar";
}

function mergeScalars(
  current: JsonArray,
  patch: JsonArray,
  order: JsonArray | undefined,
): JsonArray {
  if (order !== undefined) checkOrder(patch.map(scalarKey), order.map(scalarKey), patch, order);
  const union = new Map<string, JsonValue>();
  for (const item of [...current, ...patch]) union.set(scalarKey(item), item);
  const items = [...union].map(([key, item]) => ({ key, item }));
  return arrange(items, (order ?? patch).map(scalarKey), current.map(scalarKey));
}

function itemTypeOf({ type }: PatchField): PatchType {
  return type.form === "list" ? type.items : OPAQUE;
}

interface KeyedItem {
  /** undefined = an item of the current object without its merge key. */
  readonly key: string | undefined;
  item: JsonValue;
}

function mergeItems(
  field: PatchField,
  current: JsonArray,
  patch: JsonArray,
  order: JsonArray | undefined,
): JsonArray {
  const { mergeKey } = field;
  if (mergeKey === undefined) throw unfit("cannot merge lists without merge key for type struct");
  const { deleted, isReplaced, changes } = readChanges(patch as JsonObject[], mergeKey);
  if (isReplaced) return newList(field, patch, order);
  const itemType = itemTypeOf(field);
  const orderKeys = order?.map((item) => orderKey(item, mergeKey));
  if (orderKeys !== undefined && order !== undefined) {
    const keys = changes.map(({ key }) => key);
    checkOrder(keys, orderKeys, patch, order);
  }
  let items: KeyedItem[] = current.map((item) => ({
    key: keyOf(item as JsonObject, mergeKey),
    item,
  }));
  const serverKeys = items.map(({ key }) => key);
  if (deleted.size > 0) items = items.filter(({ key }) => key === undefined || !deleted.has(key));
  const places = new Map<string, KeyedItem>();
  for (const place of items) {
    if (place.key !== undefined && !places.has(place.key)) places.set(place.key, place);
  }
  for (const { key, change } of changes) {
    const place = places.get(key);
    if (place !== undefined) {
      place.item = mergeMaps(itemType, place.item as JsonObject, change);
    } else {
      const added = { key, item: mergeMaps(itemType, undefined, change) };
      places.set(key, added);
      items.push(added);
    }
  }
  return arrange(items, orderKeys ?? changes.map(({ key }) => key), serverKeys);
}

interface ListChanges {
  readonly deleted: ReadonlySet<string>;
  readonly isReplaced: boolean;
  readonly changes: readonly { readonly key: string; readonly change: JsonObject }[];
}

/** Splits a patch's items into directives for the list and plain items. */
function readChanges(patch: readonly JsonObject[], mergeKey: string): ListChanges {
  const deleted = new Set<string>();
  const changes: { key: string; change: JsonObject }[] = [];
  let isReplaced = false;
  const keyIn = (item: JsonObject): string => {
    const key = keyOf(item, mergeKey);
    if (key !== undefined) return key;
    throw unfit(`map: ${show(item)} does not contain declared merge key: ${mergeKey}`);
  };
  for (const item of patch) {
    if (own(item, DIRECTIVE) === "merge") {
      throw malformed("merging lists cannot yet be specified in the patch");
    }
    const directive = directiveOf(item);
    if (directive === "merge") changes.push({ key: keyIn(item), change: item });
    else if (directive === "delete") deleted.add(keyIn(item));
    else isReplaced = true;
  }
  return { deleted, isReplaced, changes };
}

/** Reorders a list without changing its items. */
function reorder({ mergeKey, isMerged }: PatchField, list: JsonArray, order: JsonArray): JsonArray {
  if (!isMerged || list.length === 0) return list;
  if (elementForm(list, []) === "scalar") {
    const items = list.map((item) => ({ key: scalarKey(item), item }));
    return arrange(items, order.map(scalarKey), list.map(scalarKey));
  }
  if (mergeKey === undefined) throw unfit("cannot merge lists without merge key for type struct");
  const items = list.map((item) => ({ key: keyOf(item as JsonObject, mergeKey), item }));
  const serverKeys = items.map(({ key }) => key);
  return arrange(
    items,
    order.map((item) => orderKey(item, mergeKey)),
    serverKeys,
  );
}

/**
 * Items named by the patch's order come in that order; each other item comes before the first patch
 * item that followed it in the current list.
 */
function arrange(
  items: readonly KeyedItem[],
  patchOrder: readonly string[],
  serverOrder: readonly (string | undefined)[],
): JsonArray {
  const patchRank = ranksOf(patchOrder);
  const serverRank = ranksOf(serverOrder);
  const rank = ({ key }: KeyedItem) => patchRank.get(key) ?? 0;
  const fromPatch = items.filter(({ key }) => patchRank.has(key));
  fromPatch.sort((a, b) => rank(a) - rank(b));
  const others = items.filter(({ key }) => !patchRank.has(key));
  const arranged: JsonArray = [];
  let next = 0;
  for (const item of fromPatch) {
    const place = serverRank.get(item.key);
    for (; next < others.length && place !== undefined; next++) {
      const other = others[next];
      const otherPlace = other === undefined ? undefined : serverRank.get(other.key);
      if (other === undefined || otherPlace === undefined || otherPlace >= place) break;
      arranged.push(other.item);
    }
    arranged.push(item.item);
  }
  for (const { item } of others.slice(next)) arranged.push(item);
  return arranged;
}

/** The index of each key's first occurrence. */
function ranksOf(keys: readonly (string | undefined)[]): Map<string | undefined, number> {
  const ranks = new Map<string | undefined, number>();
  keys.forEach((key, index) => {
    if (!ranks.has(key)) ranks.set(key, index);
  });
  return ranks;
}

/** The patch's items must be in the directive, in the same order; an empty directive is ignored. */
function checkOrder(
  patchKeys: readonly string[],
  orderKeys: readonly string[],
  patch: JsonArray,
  order: JsonArray,
): void {
  if (orderKeys.length === 0) return;
  let found = 0;
  for (const key of orderKeys) if (patchKeys[found] === key) found++;
  if (found === patchKeys.length) return;
  throw malformed(
    `The order in patch list:\n${show(patch)}\n doesn't match ${ELEMENT_ORDER} list:\n${show(order)}\n`,
  );
}

function orderKey(item: JsonValue, mergeKey: string): string {
  const key = isJsonObject(item) ? keyOf(item, mergeKey) : undefined;
  if (key !== undefined) return key;
  throw malformed("invalid patch format of setElementOrder list");
}

function keyOf(item: JsonObject, mergeKey: string): string | undefined {
  const value = own(item, mergeKey);
  return value === undefined ? undefined : scalarKey(value);
}

/** Distinguishes values by type and value, like map keys. */
function scalarKey(value: JsonValue): string {
  if (typeof value === "object" && value !== null) {
    throw unfit(`a merge key or an item of a primitive list is no scalar: ${show(value)}`);
  }
  return `${typeof value}:${value}`;
}

function own(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Spreading keeps `__proto__` an own member, as in parsed JSON. */
function copyOf(object: JsonObject): JsonObject {
  return { ...object };
}

function show(value: JsonValue | undefined): string {
  const text = stringifyJson(value ?? null);
  return text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}...` : text;
}

function malformed(why: string): StatusError {
  return badRequest(why);
}

/** 422: the patch is well-formed, but does not fit this object. */
function unfit(why: string): StatusError {
  return new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: why,
    reason: "Invalid",
    details: {},
    code: 422,
  });
}
