/**
 * Values that behave by a resource's schema: unordered lists (sets, and maps by keys), and objects with
 * field names that an expression cannot write.
 */
import type { ItemIdentity, ObjectMember } from "./types.js";
import { type Adapt, ListValue, MapValue, ObjectMap, type Value } from "./values.js";

type Equal = (left: Value, right: Value) => boolean;

/** Items are equal by value or by keys; equality ignores order, `+` replaces. */
export class UnorderedListValue extends ListValue {
  readonly #identity: ItemIdentity;

  constructor(items: readonly unknown[], adapt: Adapt | undefined, identity: ItemIdentity) {
    super(items, adapt);
    this.#identity = identity;
  }

  /** Whether every item of a list of the same size equals an item of this one. */
  holdsAll(other: ListValue, equal: Equal): boolean {
    const mine = this.#byIdentity();
    for (const item of other) {
      const candidates = mine.get(this.#identityOf(item));
      if (!candidates?.some(({ value }) => equal(value, item))) return false;
    }
    return true;
  }

  /** Replaces equal items by those of `other`, and appends the rest. */
  merged(other: ListValue, equal: Equal): UnorderedListValue {
    const items = [...this.toArray()];
    const mine = this.#byIdentity();
    for (const item of other) {
      const identity = this.#identityOf(item);
      const candidates = mine.get(identity) ?? [];
      const known = candidates.find(
        ({ value }) => this.#identity !== "value" || equal(value, item),
      );
      if (known !== undefined) items[known.at] = item;
      else {
        mine.set(identity, [...candidates, { at: items.length, value: item }]);
        items.push(item);
      }
    }
    return new UnorderedListValue(items, undefined, this.#identity);
  }

  #byIdentity(): Map<string, { readonly at: number; readonly value: Value }[]> {
    const found = new Map<string, { readonly at: number; readonly value: Value }[]>();
    let at = 0;
    for (const value of this) {
      const identity = this.#identityOf(value);
      const known = found.get(identity);
      if (known === undefined) found.set(identity, [{ at, value }]);
      else known.push({ at, value });
      at++;
    }
    return found;
  }

  /** Equal items have equal texts; items with equal texts are then compared. */
  #identityOf(item: Value): string {
    if (this.#identity === "value") return scalarText(item);
    if (!(item instanceof MapValue)) return "";
    return this.#identity.map((key) => scalarText(item.get(key))).join("\u0000");
  }
}

function scalarText(value: Value | undefined): string {
  switch (typeof value) {
    case "string":
      return `s${value}`;
    case "bigint":
    case "number":
      return `n${Number(value)}`;
    case "boolean":
      return `b${value}`;
    default:
      return value === undefined ? "-" : "";
  }
}

/** An object whose fields are renamed to their JSON names. */
export class RenamedMap extends ObjectMap {
  readonly #fields: readonly string[];
  readonly #members: ReadonlyMap<string, ObjectMember>;

  /** `read` receives the JSON name. */
  constructor(
    object: Readonly<Record<string, unknown>>,
    read: (key: string, raw: unknown) => Value | undefined,
    typeName: string,
    fields: readonly string[],
    members: ReadonlyMap<string, ObjectMember>,
  ) {
    super(object, read, typeName);
    this.#fields = fields;
    this.#members = members;
  }

  override get(key: Value): Value | undefined {
    if (typeof key !== "string") return undefined;
    return super.get(this.#members.get(key)?.jsonName ?? key);
  }

  override keys(): readonly string[] {
    return this.#fields.filter((field) => this.get(field) !== undefined);
  }
}
