/**
 * The declarative rules of one field, compiled from the facts ("required", "minimum=1",
 * "ifEnabled(Gate)>immutable") into functions that report errors. Pure; declarative.ts walks the
 * objects. Unknown rules do nothing.
 */
import { deepEqual } from "../api/deep-equal.js";
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  invalidValues,
  requiredValue,
  tooLongValue,
  tooManyItems,
} from "../api/field-errors.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import type { FieldError } from "../api/status.js";
import { checkFormat } from "./declarative-formats.js";
import type { Field } from "./model.js";

export type Value = JsonValue | undefined;

/** A value with its enclosing struct, for rules that depend on neighbouring fields. */
export interface FieldValue {
  readonly value: Value;
  readonly old: Value;
  /** Whether the enclosing object existed before, so that there is an old value. */
  readonly isUpdate: boolean;
  readonly path: string;
  readonly owner: JsonObject;
}

/** Appends errors to `errors`. */
export type Rule = (place: FieldValue, errors: FieldError[]) => void;

/** Neither absent nor null; an empty value may be present. */
export function isPresent(value: Value): value is JsonValue {
  return value !== undefined && value !== null;
}

/** Whether it is Go's zero value of a non-pointer type. */
function isZero(value: Value): boolean {
  if (!isPresent(value) || value === "" || value === false) return true;
  if (typeof value === "number" || typeof value === "bigint") return Number(value) === 0;
  return typeof value === "object" && Object.keys(value as object).length === 0;
}

/** Whether a field is set: a pointer if present, other types if not empty. */
export function isGiven({ type }: Field, value: Value): boolean {
  return type.nullable ? isPresent(value) : !isZero(value);
}

/** The key that identifies an item of a keyed list. */
export function keyOf(item: JsonValue, keys: readonly string[]): string {
  return JSON.stringify(keys.map((key) => (isObject(item) ? String(item[key] ?? "") : item)));
}

export function isObject(value: Value): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export interface FieldContext {
  readonly field: Field;
  /** The neighbouring field that selects a member of the union. */
  readonly discriminator: string | undefined;
}

const CONDITION = /^(\w+)\(([^)]*)\)>(.+)$/;

/** Compiles the rules of one field, as they are written. */
export type CompileRules = (texts: readonly string[], context: FieldContext) => readonly Rule[];

export function createRuleCompiler(isGateEnabled: (gate: string) => boolean): CompileRules {
  function compile(text: string, context: FieldContext): Rule | undefined {
    const [, name, argument = "", rest = ""] = CONDITION.exec(text) ?? [];
    switch (name) {
      case undefined:
        return text.startsWith("eachKey>")
          ? eachKey(text.slice("eachKey>".length))
          : plain(text, context.field);
      case "ifEnabled":
        return isGateEnabled(argument) ? compile(rest, context) : undefined;
      case "ifDisabled":
        return isGateEnabled(argument) ? undefined : compile(rest, context);
      case "member":
        return ofMember(argument, compile(rest, context), context);
      case "subfield":
        return ofSubfield(argument, compile(rest, context));
      default:
        return undefined;
    }
  }

  return (texts, context) => {
    const { field } = context;
    const always: Rule[] = [];
    const whenGiven: Rule[] = [];
    for (const text of texts) {
      const rule = compile(text, context);
      if (rule !== undefined) (isAboutPresence(text) ? always : whenGiven).push(rule);
    }
    const uniqueness = uniqueRule(texts);
    if (uniqueness !== undefined) whenGiven.push(uniqueness);
    if (whenGiven.length === 0) return always;
    // An absent value is only checked for being required.
    const isJudgedEmpty = !texts.some((text) => text === "optional" || text === "required");
    const ofGiven: Rule = (place, errors) => {
      if (!isJudgedEmpty && !isGiven(field, place.value)) return;
      for (const rule of whenGiven) rule(place, errors);
    };
    return [...always, ofGiven];
  };
}

/** Rules about the presence of a value. */
function isAboutPresence(text: string): boolean {
  return /(^|>)(required|forbidden|immutable)$/.test(text);
}

/** A rule without conditions: "required", "minimum=1", "format=k8s-short-name". */
function plain(text: string, field: Field): Rule | undefined {
  const equals = text.indexOf("=");
  const name = equals < 0 ? text : text.slice(0, equals);
  const argument = equals < 0 ? "" : text.slice(equals + 1);
  const bound = Number(argument);
  switch (name) {
    case "required":
      return ({ value, path }, errors) => {
        // A struct without a pointer is always present.
        if (!isGiven(field, value) && !isStruct(field)) errors.push(requiredValue(path));
      };
    case "forbidden":
      return ({ value, path }, errors) => {
        if (isGiven(field, value)) errors.push(forbiddenField(path, ""));
      };
    case "immutable":
      return ({ value, old, isUpdate, path }, errors) => {
        if (!isUpdate || deepEqual(value ?? null, old ?? null)) return;
        errors.push(invalidValue(path, value, "field is immutable"));
      };
    case "minimum":
      return ofNumbers((value) => value < bound, `must be greater than or equal to ${bound}`);
    case "maximum":
      return ofNumbers((value) => value > bound, `must be less than or equal to ${bound}`);
    case "maxItems":
      return ({ value, path }, errors) => {
        if (Array.isArray(value) && value.length > bound) {
          errors.push(tooManyItems(path, value.length, bound));
        }
      };
    case "maxLength":
      return ofTexts((text) => [...text].length > bound, bound);
    case "maxBytes":
      return ofTexts((text) => Buffer.byteLength(text) > bound, bound);
    case "format":
      return ({ value, path }, errors) => {
        if (typeof value !== "string" || value === "") return;
        errors.push(...invalidValues(path, value, checkFormat(argument, value)));
      };
    default:
      return undefined;
  }
}

function isStruct({ type, empty }: Field): boolean {
  return !type.nullable && empty === "struct" && type.kind === "named";
}

function ofNumbers(isWrong: (value: number) => boolean, why: string): Rule {
  return ({ value, path }, errors) => {
    if (typeof value !== "number" && typeof value !== "bigint") return;
    if (isWrong(Number(value))) errors.push(invalidValue(path, value, why));
  };
}

function ofTexts(isTooLong: (text: string) => boolean, max: number): Rule {
  return ({ value, path }, errors) => {
    if (typeof value === "string" && isTooLong(value)) errors.push(tooLongValue(path, max));
  };
}

/** Applies a format to the keys of a map. */
function eachKey(text: string): Rule | undefined {
  if (!text.startsWith("format=")) return undefined;
  const format = text.slice("format=".length);
  return ({ value, path }, errors) => {
    if (!isObject(value)) return;
    for (const key in value) {
      errors.push(...invalidValues(path, key, checkFormat(format, key)));
    }
  };
}

/** Applies while the discriminator names this member. */
function ofMember(
  member: string,
  rule: Rule | undefined,
  { discriminator }: FieldContext,
): Rule | undefined {
  if (rule === undefined || discriminator === undefined) return undefined;
  return (place, errors) => {
    if (place.owner[discriminator] === member) rule(place, errors);
  };
}

/** Applies to one member of the value. */
function ofSubfield(name: string, rule: Rule | undefined): Rule | undefined {
  if (rule === undefined) return undefined;
  return (place, errors) => {
    if (!isObject(place.value)) return;
    const old = isObject(place.old) ? place.old[name] : undefined;
    const path = `${place.path}.${name}`;
    rule({ ...place, value: place.value[name], old, path, owner: place.value }, errors);
  };
}

/** Lists with unique items, compared as a whole (sets of scalars) or by key. */
function uniqueRule(texts: readonly string[]): Rule | undefined {
  if (texts.includes("customUnique")) return undefined;
  const isSet = texts.includes("unique=set") || texts.includes("listType=set");
  const isMap = texts.includes("unique=map") || texts.includes("listType=map");
  const keys = texts
    .filter((text) => text.startsWith("listMapKey="))
    .map((text) => text.slice("listMapKey=".length));
  if (!isSet && (!isMap || keys.length === 0)) return undefined;
  return ({ value, path }, errors) => {
    if (!Array.isArray(value)) return;
    const seen = new Set<string>();
    value.forEach((item, index) => {
      const key = isSet ? String(item) : keyOf(item, keys);
      if (seen.has(key)) {
        const shown = isSet || !isObject(item) ? item : pick(item, keys);
        errors.push(duplicateValue(`${path}[${index}]`, shown));
      }
      seen.add(key);
    });
  };
}

function pick(item: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(keys.map((key) => [key, item[key]]));
}
