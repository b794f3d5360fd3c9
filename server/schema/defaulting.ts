/**
 * Defaults, compiled per type from the facts: `default=` attributes, unconditional rows of the table, and
 * the rules of ./defaults for conditional rows. Types without any defaults are not visited. Outer types
 * come before inner ones, rows in the table's order.
 */

import type { Steps } from "../../storage/base/steps.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { apiextensionsDefaults } from "./defaults/apiextensions.js";
import { coreDefaults, mirrorAccountName } from "./defaults/core.js";
import { networkingDefaults } from "./defaults/networking.js";
import { rbacDefaults } from "./defaults/rbac.js";
import { defaultFlatDeviceRequest, resourceDefaults } from "./defaults/resource.js";
import type { DefaultRule, DefaultRules, RuleContext } from "./defaults/rule.js";
import {
  appsDefaults,
  autoscalingDefaults,
  batchDefaults,
  nameClaimTemplates,
} from "./defaults/workloads.js";
import type { DefaultFact, Facts, Field, SchemaModel, StructType, TypeRef } from "./model.js";
import { flatFields, followAliases } from "./struct-codec.js";

export interface DefaultingOptions {
  /** Whether a row's feature gate is enabled; default: all are. */
  readonly isGateEnabled?: (gate: string) => boolean;
  /** For the few defaults that use the current time. */
  readonly now?: () => Date;
}

/** Sets the defaults of a value in place; items of long lists may be left for later, in order. */
export type FillIn = (value: JsonObject, later?: Left[]) => void;

/** Items and members whose defaults are not set yet, and need nothing but themselves. */
interface Left {
  readonly count: number;
  readonly fillIn: (at: number, later: Left[]) => void;
}

/** Items of a list that are worth leaving for later, and that are done in one step. */
const STRETCH = 100;

/** Sets the defaults of a value in place, in steps. */
export function* fillInSteps(fillIn: FillIn | undefined, value: JsonObject): Steps<void> {
  const left: Left[] = [];
  fillIn?.(value, left);
  // Items leave their own long lists behind those that wait.
  for (const { count, fillIn: inner } of left) {
    for (let at = 0; at < count; at++) {
      if (at % STRETCH === 0) yield;
      inner(at, left);
    }
  }
}

const RULES: Readonly<Record<string, DefaultRules>> = {
  core: coreDefaults,
  apps: appsDefaults,
  batch: batchDefaults,
  autoscaling: autoscalingDefaults,
  networking: networkingDefaults,
  rbac: rbacDefaults,
  apiextensions: apiextensionsDefaults,
  resource: resourceDefaults,
};

/** Rules whose row names the inner type but that need the outer one. */
const RULE_TARGETS: Readonly<Record<string, string>> = {
  HPAScalingRules: "HorizontalPodAutoscalerBehavior",
};

/** Rules for versions of a type beyond the table. */
const EXTRA_RULES: Readonly<Record<string, FillIn>> = {
  "apps.v1.StatefulSet": nameClaimTemplates,
  "core.v1.PodSpec": mirrorAccountName,
  "resource.v1beta1.DeviceRequest": defaultFlatDeviceRequest,
};

/** Conditions that only require the field to be unset. */
const UNCONDITIONAL =
  /^(?:unset|empty|null \(zero is kept\))(?: \(written as an empty string\))?(?:; (?:also \w+|only Pod, not pod templates|gate \w+))*$/;

/** One row, not yet bound to its types. */
export interface DefaultRow {
  readonly fact: DefaultFact;
  /** The rule in code; undefined for a data-only row. */
  readonly rule: DefaultRule | undefined;
  /** Key of the rule in its group's table. */
  readonly key: string;
  /** Short group name: "core". */
  readonly base: string;
  readonly types: readonly string[];
  readonly gates: readonly string[];
}

/** The table with its rules. @throws {TypeError} if a conditional row has no rule */
export function bindRules(facts: Facts): readonly DefaultRow[] {
  const seen = new Map<string, number>();
  const alsoFor = facts.defaults.filter(({ when }) => when.includes("both rules also for"));
  return facts.defaults.map((fact) => {
    const base = fact.file.slice(0, fact.file.indexOf("."));
    const name = `${fact.type} ${fact.field.replace(/\[".*"\]/, "[*]")}`;
    const count = (seen.get(`${fact.file} ${name}`) ?? 0) + 1;
    seen.set(`${fact.file} ${name}`, count);
    const key = count === 1 ? name : `${name}#${count}`;
    const rule = RULES[base]?.[key];
    const isData = fact.value !== undefined && UNCONDITIONAL.test(fact.when);
    if (rule === undefined && !isData) throw new TypeError(`no rule for ${fact.file} ${key}`);
    const words = alsoFor.find(
      ({ type, field }) => type === fact.type && field === fact.field,
    )?.when;
    const also = [...(words ?? fact.when).matchAll(/also (?:for )?([A-Z]\w+)/g)].map(
      (match) => match[1] ?? "",
    );
    const gates = [...fact.when.matchAll(/gate (\w+)/g)].map((match) => match[1] ?? "");
    return { fact, rule, key, base, types: [RULE_TARGETS[fact.type] ?? fact.type, ...also], gates };
  });
}

const NO_ROWS: readonly DefaultRow[] = [];

/** By "core.PodSpec", in their order. */
function byType(rows: readonly DefaultRow[]): ReadonlyMap<string, readonly DefaultRow[]> {
  const found = new Map<string, DefaultRow[]>();
  for (const row of rows) {
    for (const type of new Set(row.types)) {
      const key = `${row.base}.${type}`;
      const known = found.get(key);
      if (known === undefined) found.set(key, [row]);
      else known.push(row);
    }
  }
  return found;
}

/** Returns the compiled defaults of a type; undefined if it has none. */
export function createDefaulting(
  facts: Facts,
  options: DefaultingOptions,
): (type: StructType) => FillIn | undefined {
  const { model } = facts;
  const { isGateEnabled = () => true, now = () => new Date() } = options;
  const rows = byType(bindRules(facts).filter((row) => row.gates.every(isGateEnabled)));
  const compiled = new Map<StructType, FillIn>();
  const reaching = new Map<StructType, boolean>();

  function rowsFor(file: string, name: string): readonly DefaultRow[] {
    const base = file.slice(0, file.indexOf("."));
    const candidates = rows.get(`${base}.${name}`) ?? NO_ROWS;
    const exact = candidates.filter((row) => row.fact.file === file);
    return exact.length > 0 ? exact : candidates;
  }

  /** Rules of a type itself and of the structs embedded in it. */
  function ownRules(type: StructType): FillIn[] {
    const rules = rowsFor(type.file, type.name).map((row) => bind(row, type));
    const extra = EXTRA_RULES[type.id];
    if (extra !== undefined) rules.push(extra);
    for (const field of type.fields) {
      const inlined = field.name === "<inline>" ? structOf(field.type) : undefined;
      if (inlined !== undefined) rules.push(...ownRules(inlined));
    }
    return rules;
  }

  function bind({ fact, rule }: DefaultRow, type: StructType): FillIn {
    if (rule === undefined) return dataRule(model, type, fact);
    const context: RuleContext = { fact, now };
    return (value) => rule(value, context);
  }

  function structOf(ref: TypeRef): StructType | undefined {
    const target = followAliases(model, ref);
    const type = target.kind === "named" ? model.type(target.id) : undefined;
    return type?.form === "struct" && !type.customJson ? type : undefined;
  }

  function markers(type: StructType): FillIn[] {
    return flatFields(model, type).flatMap((field) => {
      const { default: filling, name } = field;
      // An empty optional value equals an absent one.
      const isMoot = !field.type.nullable && isEmptyValue(filling);
      return filling === undefined || isMoot ? [] : [fillField(name, field, filling)];
    });
  }

  /** Whether the type contains the struct at any depth. */
  function reaches(type: StructType): boolean {
    const known = reaching.get(type);
    if (known !== undefined) return known;
    const queue = [type];
    const met = new Set(queue);
    let found = false;
    for (let at = 0; at < queue.length && !found; at++) {
      const next = queue[at] as StructType;
      found = ownRules(next).length > 0 || markers(next).length > 0 || hasAliasRule(next);
      for (const field of flatFields(model, next)) {
        const inner = innerStruct(field.type);
        if (inner !== undefined && !met.has(inner)) {
          met.add(inner);
          queue.push(inner);
        }
      }
    }
    reaching.set(type, found);
    return found;
  }

  function innerStruct(ref: TypeRef): StructType | undefined {
    const target = followAliases(model, ref);
    if (target.kind === "list") return innerStruct(target.items);
    if (target.kind === "map") return innerStruct(target.values);
    return structOf(target);
  }

  function hasAliasRule(type: StructType): boolean {
    return (
      roundsAmounts(type) &&
      flatFields(model, type).some((field) => aliasRule(field.type) !== undefined)
    );
  }

  /** A rule for a named map, for example a list of resources. */
  function aliasRule(ref: TypeRef): FillIn | undefined {
    const type = ref.kind === "named" ? model.type(ref.id) : undefined;
    if (type?.form !== "alias") return undefined;
    const row = rowsFor(type.file, type.name)[0];
    if (row?.rule === undefined)
      return type.target.kind === "named" ? aliasRule(type.target) : undefined;
    const { rule, fact } = row;
    return (value) => rule(value, { fact, now });
  }

  function childStep(field: Field, type: StructType): FillIn | undefined {
    const { name } = field;
    const rule = roundsAmounts(type) ? aliasRule(field.type) : undefined;
    const inner = innerStruct(field.type);
    const fillIn = rule ?? (inner !== undefined && reaches(inner) ? compile(inner) : undefined);
    if (fillIn === undefined) return undefined;
    const { kind } = followAliases(model, field.type);
    // A rule for a map applies to the map, not to its values.
    return within(
      name,
      rule === undefined ? kind : "named",
      rule === undefined ? fillIn : inMembers(rule),
    );
  }

  function compile(type: StructType): FillIn {
    const known = compiled.get(type);
    if (known !== undefined) return known;
    let own: readonly FillIn[] | undefined;
    let ofMembers: readonly FillIn[] | undefined;
    const fillIn: FillIn = (value, later) => {
      own ??= [...ownRules(type), ...markers(type)];
      ofMembers ??= flatFields(model, type).flatMap((field) => childStep(field, type) ?? []);
      // A rule may read what one before it has set within an item.
      for (const step of own) step(value);
      for (const step of ofMembers) step(value, later);
    };
    compiled.set(type, fillIn);
    return fillIn;
  }

  return (type) => (reaches(type) ? compile(type) : undefined);
}

/** The overhead of run times keeps the amounts of the core as they were written. */
function roundsAmounts({ file }: StructType): boolean {
  return !file.startsWith("node.");
}

function isEmptyValue(value: JsonValue | undefined): boolean {
  return value === "" || value === 0 || value === false || (Array.isArray(value) && !value.length);
}

function fillField(name: string, field: Field, filling: JsonValue): FillIn {
  const isNullable = field.type.nullable;
  const isShared = typeof filling !== "object" || filling === null;
  return (value) => {
    const member = value[name];
    const isUnset =
      member === undefined || member === null || (!isNullable && isEmptyValue(member));
    if (isUnset) value[name] = isShared ? filling : structuredClone(filling);
  };
}

/**
 * A data row: a path of fields, where "[]" means every item, and a value. Other versions of a type may
 * lack the field; they are skipped.
 */
function dataRule(model: SchemaModel, type: StructType, fact: DefaultFact): FillIn {
  let current: StructType | undefined = type;
  const fields: Field[] = [];
  for (const segment of fact.field.split(".")) {
    const name = segment.replace("[]", "");
    const field: Field | undefined =
      current && flatFields(model, current).find((candidate) => candidate.name === name);
    if (field === undefined) return () => {};
    fields.push(field);
    let target = followAliases(model, field.type);
    if (target.kind === "list") target = followAliases(model, target.items);
    else if (target.kind === "map") target = followAliases(model, target.values);
    const named = target.kind === "named" ? model.type(target.id) : undefined;
    current = named?.form === "struct" ? named : undefined;
  }
  const last = fields.pop() as Field;
  let fillIn = fillField(last.name, last, fact.value ?? null);
  for (const field of fields.reverse()) {
    fillIn = within(field.name, followAliases(model, field.type).kind, fillIn);
  }
  return fillIn;
}

/** Applies `inner` to a member, or to each item of a list or map. */
function within(name: string, kind: TypeRef["kind"], inner: FillIn): FillIn {
  return (value, later) => {
    const member = value[name];
    if (member === undefined || member === null) return;
    if (kind !== "list" && kind !== "map") {
      inner(member as JsonObject, later);
      return;
    }
    const items = (kind === "list" ? member : Object.values(member)) as readonly JsonObject[];
    if (later !== undefined && items.length > STRETCH) {
      later.push({
        count: items.length,
        fillIn: (at, left) => inner(items[at] as JsonObject, left),
      });
    } else for (const item of items) inner(item, later);
  };
}

/** A rule for a named map looks at one member after the other, so members may be left for later as items are. */
function inMembers(rule: FillIn): FillIn {
  return (map, later) => {
    const names = later === undefined ? [] : Object.keys(map);
    if (later === undefined || names.length <= STRETCH) {
      rule(map);
      return;
    }
    const fillIn = (at: number): void => {
      const name = names[at] as string;
      const one: JsonObject = { [name]: map[name] };
      rule(one);
      map[name] = one[name];
    };
    later.push({ count: names.length, fillIn });
  };
}
