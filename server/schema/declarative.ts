/**
 * Declarative rules: the facts' constraints on values beyond their types (`v:` enforced, `va:` and `vb:`
 * in shadow; see docs/dev/facts.md), compiled into one check per kind. Shadow findings are reported
 * separately: handwritten validation decides, and the caller compares both (S1-FEAT-06). An unchanged
 * value never causes a refusal.
 *
 * checks.ts handles closed sets of values; a status comes from controllers and is not checked.
 */
import { deepEqual } from "../api/deep-equal.js";
import { invalidValue } from "../api/field-errors.js";
import { KnownValues } from "../api/known-values.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import type { FieldError } from "../api/status.js";
import {
  createRuleCompiler,
  type FieldContext,
  type FieldValue,
  isGiven,
  isObject,
  isPresent,
  keyOf,
  type Rule,
} from "./declarative-rules.js";
import type { Field, SchemaModel, StructType, TypeRef } from "./model.js";
import { flatFields, followAliases, innerStruct } from "./struct-codec.js";

export interface DeclarativeFindings {
  readonly inForce: FieldError[];
  readonly shadow: FieldError[];
  /** Findings of both kinds in unchanged stored values. */
  readonly waived: FieldError[];
}

/** `previous` is the old object; undefined for a new one. */
export type DeclarativeCheck = (object: JsonObject, previous?: JsonObject) => DeclarativeFindings;

type Node = (place: FieldValue, findings: DeclarativeFindings) => void;

interface RuleSet {
  readonly inForce: readonly Rule[];
  readonly shadow: readonly Rule[];
}

/** Returns the compiled check of a kind; undefined if it has no rules. */
export function createDeclarativeChecks(
  model: SchemaModel,
  isGateEnabled: (gate: string) => boolean,
): (type: StructType) => DeclarativeCheck | undefined {
  const compileRules = createRuleCompiler(isGateEnabled);
  const structs = new Map<StructType, Node | undefined>();

  function structNode(type: StructType): Node | undefined {
    if (structs.has(type)) return structs.get(type);
    if (type.customJson || !hasRules(model, type, new Set())) {
      structs.set(type, undefined);
      return undefined;
    }
    // Types may be recursive, so their fields are compiled on first use.
    let node: Node | undefined;
    const lazy: Node = (place, findings) => {
      node ??= fieldsNode(type, false);
      node(place, findings);
    };
    structs.set(type, lazy);
    return lazy;
  }

  function fieldsNode(type: StructType, isKindItself: boolean): Node {
    const fields = flatFields(model, type)
      .filter(({ name }) => !(isKindItself && name === "status"))
      .flatMap((field) => {
        const node = fieldNode(type, field);
        return node === undefined ? [] : [{ name: field.name, node }];
      });
    const union = unionRules(model, type);
    return (place, findings) => {
      const owner = place.value as JsonObject;
      const old = isObject(place.old) ? place.old : undefined;
      // Fields of a new value have no old value, even during an update.
      const isUpdate = place.isUpdate && old !== undefined;
      run(union, { ...place, isUpdate }, findings);
      for (const { name, node } of fields) {
        const path = place.path === "" ? name : `${place.path}.${name}`;
        node({ value: owner[name], old: old?.[name], isUpdate, path, owner }, findings);
      }
    };
  }

  function fieldNode(type: StructType, field: Field): Node | undefined {
    const context: FieldContext = { field, discriminator: discriminatorOf(model, type) };
    const rules: RuleSet = {
      inForce: compileRules(field.rules, context),
      shadow: compileRules(field.shadowRules, context),
    };
    const inner = valueNode(field.type, field);
    if (rules.inForce.length + rules.shadow.length === 0 && inner === undefined) return undefined;
    return (place, findings) => {
      const before = sizeOf(findings);
      run(rules, place, findings);
      if (inner !== undefined && isPresent(place.value)) inner(place, findings);
      if (!place.isUpdate || !hasGrown(findings, before)) return;
      if (deepEqual(place.value ?? null, place.old ?? null)) waive(findings, before);
    };
  }

  function valueNode(ref: TypeRef, field: Field): Node | undefined {
    const target = followAliases(model, ref);
    if (target.kind === "list") return listNode(valueNode(target.items, field), field);
    if (target.kind === "map") return mapNode(valueNode(target.values, field));
    const type = target.kind === "named" ? model.type(target.id) : undefined;
    return type?.form === "struct" ? structNode(type) : undefined;
  }

  return (type) => {
    if (!hasRules(model, type, new Set())) return undefined;
    const node = fieldsNode(type, true);
    return (object, previous) => {
      const findings: DeclarativeFindings = { inForce: [], shadow: [], waived: [] };
      const isUpdate = previous !== undefined;
      node({ value: object, old: previous, isUpdate, path: "", owner: object }, findings);
      return findings;
    };
  };
}

/** The shadow rules of the field at a path of a problem, such as "spec.rules[0].verbs". */
export function shadowRulesAt(
  model: SchemaModel,
  type: StructType,
  path: string,
): readonly string[] {
  let owner: StructType | undefined = type;
  let field: Field | undefined;
  for (const name of path.replace(/\[[^\]]*\]?/g, "").split(".")) {
    if (owner === undefined) return [];
    field = flatFields(model, owner).find((one) => one.name === name);
    if (field === undefined) return [];
    owner = innerStruct(model, field.type);
  }
  return field?.shadowRules ?? [];
}

function run(rules: RuleSet, place: FieldValue, findings: DeclarativeFindings): void {
  for (const rule of rules.shadow) rule(place, findings.shadow);
  for (const rule of rules.inForce) rule(place, findings.inForce);
}

interface Size {
  readonly inForce: number;
  readonly shadow: number;
}

function sizeOf({ inForce, shadow }: DeclarativeFindings): Size {
  return { inForce: inForce.length, shadow: shadow.length };
}

function hasGrown({ inForce, shadow }: DeclarativeFindings, before: Size): boolean {
  return inForce.length > before.inForce || shadow.length > before.shadow;
}

/** Moves the findings since `before` to `waived`. */
function waive({ inForce, shadow, waived }: DeclarativeFindings, before: Size): void {
  waived.push(...inForce.splice(before.inForce), ...shadow.splice(before.shadow));
}

/** Whether the type or any type in it has a rule. */
function hasRules(model: SchemaModel, type: StructType, met: Set<StructType>): boolean {
  if (met.has(type) || type.customJson) return false;
  met.add(type);
  return flatFields(model, type).some((field) => {
    if (field.rules.length + field.shadowRules.length > 0) return true;
    const inner = innerStruct(model, field.type);
    return inner !== undefined && hasRules(model, inner, met);
  });
}

/** Old and new items are matched by key if the list has keys, else by equality. */
function listNode(item: Node | undefined, field: Field): Node | undefined {
  if (item === undefined) return undefined;
  const keys = field.listType === "map" ? (field.listMapKeys ?? []) : [];
  return (place, findings) => {
    const { value, old, isUpdate, path, owner } = place;
    const olds: readonly JsonValue[] = isUpdate && Array.isArray(old) ? old : [];
    const byKey = keys.length === 0 ? undefined : firstByKey(olds, keys);
    let known: KnownValues | undefined;
    (value as JsonValue[]).forEach((one, index) => {
      if (!isPresent(one)) return;
      const was = byKey?.get(keyOf(one, keys));
      const before = sizeOf(findings);
      const isKnown = was !== undefined;
      item({ value: one, old: was, isUpdate: isKnown, path: `${path}[${index}]`, owner }, findings);
      if (isKnown || !hasGrown(findings, before)) return;
      known ??= new KnownValues(olds);
      if (known.has(one)) waive(findings, before);
    });
  };
}

function firstByKey(items: readonly JsonValue[], keys: readonly string[]): Map<string, JsonValue> {
  const found = new Map<string, JsonValue>();
  for (const item of items) {
    if (!isPresent(item)) continue;
    const key = keyOf(item, keys);
    if (!found.has(key)) found.set(key, item);
  }
  return found;
}

function mapNode(item: Node | undefined): Node | undefined {
  if (item === undefined) return undefined;
  return ({ value, old, isUpdate, path, owner }, findings) => {
    const members = value as JsonObject;
    for (const key in members) {
      const one = members[key];
      if (!isPresent(one)) continue;
      const was = isObject(old) ? old[key] : undefined;
      item({ value: one, old: was, isUpdate, path: `${path}[${key}]`, owner }, findings);
    }
  };
}

function discriminatorOf(model: SchemaModel, type: StructType): string | undefined {
  return flatFields(model, type).find((field) => field.discriminator)?.name;
}

/** Exactly one member is set, for unions without a discriminator. */
function unionRules(model: SchemaModel, type: StructType): RuleSet {
  if (discriminatorOf(model, type) !== undefined) return { inForce: [], shadow: [] };
  const fields = flatFields(model, type);
  const membersOf = (rulesOf: (field: Field) => readonly string[]) =>
    fields.filter((field) => rulesOf(field).includes("unionMember"));
  const ruleOf = (members: readonly Field[]): readonly Rule[] =>
    members.length === 0 ? [] : [unionRule(members)];
  return {
    inForce: ruleOf(membersOf(({ rules }) => rules)),
    shadow: ruleOf(membersOf(({ shadowRules }) => shadowRules)),
  };
}

function unionRule(members: readonly Field[]): Rule {
  const names = members.map(({ name }) => name);
  const listed = names.map((name) => `\`${name}\``).join(", ");
  const isOptional = members.some(({ zeroOrOneOf }) => zeroOrOneOf !== undefined);
  const givenIn = (owner: JsonObject) =>
    members.filter((field) => isGiven(field, owner[field.name])).map(({ name }) => name);
  return ({ value, old, isUpdate, path }, errors) => {
    const given = givenIn(value as JsonObject);
    if (given.length === 1 || (given.length === 0 && isOptional)) return;
    // An invalid choice may stay unchanged.
    if (isUpdate && isObject(old) && deepEqual(given, givenIn(old))) return;
    errors.push(
      given.length === 0
        ? invalidValue(path, "", `must specify one of: ${listed}`)
        : invalidValue(path, `{${given.join(", ")}}`, `must specify exactly one of: ${listed}`),
    );
  };
}
