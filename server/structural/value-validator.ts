/**
 * The value validator: every OpenAPI v3 keyword that apiextensions.k8s.io/v1 permits, compiled to
 * closures, with kube-apiserver's messages. It does not handle unknown members (prune.ts),
 * x-kubernetes-list-type (list-types.ts) and CEL rules (rules.ts).
 *
 * Ratcheting: given the old object, an invalid value that equals its old value is tolerated, so that
 * an object stored under an older schema can still be changed elsewhere (correlation.ts).
 */
import type { Steps } from "../../storage/base/steps.js";
import { invalidValue } from "../api/field-errors.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import type { FieldError } from "../api/status.js";
import { isUnchanged, oldItems, oldMemberOf } from "./correlation.js";
import { formatCheck, isKnownFormat } from "./formats.js";
import { additionalSchema, itemSchema, type JsonSchema } from "./json-schema.js";
import { compileJunctors } from "./junctors.js";
import { identityOf } from "./list-types.js";
import { numberCheck } from "./number-check.js";
import { lazyPattern } from "./pattern.js";
import { isInt64 } from "./prune.js";
import {
  type Check,
  type Findings,
  missing,
  notAmong,
  outOfBounds,
  STEP_WORK_MAX,
  tooLong,
  tooMany,
  wrongType,
} from "./value-findings.js";

export function compileValidator(schema: JsonSchema): Check {
  const checks = [
    typeCheck(schema),
    compileJunctors(schema, compileValidator),
    textCheck(schema),
    numberCheck(schema),
    listCheck(schema),
    enumCheck(schema),
    objectCheck(schema),
  ].filter((check) => check !== undefined);
  const [nullCheck] = checks;
  const { enum: allowed = [] } = schema;
  const [first, second, third] = checks;
  const check: Check = (value, findings, old) => {
    const before = findings.size;
    if (value === null) {
      nullCheck?.(value, findings);
      // kube-apiserver finds null in no enum, not even where it is listed.
      if (allowed.length > 0) findings.add(notAmong(value, allowed));
    } else if (checks.length <= 3) {
      first?.(value, findings, old);
      second?.(value, findings, old);
      third?.(value, findings, old);
    } else {
      for (const each of checks) each(value, findings, old);
    }
    tolerate(value, { findings, before, old });
  };
  const tolerate = (
    value: JsonValue,
    { findings, before, old }: { findings: Findings; before: number; old: JsonValue | undefined },
  ): void => {
    if (old !== undefined && findings.size > before && isUnchanged(schema, value, old)) {
      findings.truncate(before);
    }
  };
  if (!checks.some(({ inSteps }) => inSteps !== undefined)) return check;
  function* inSteps(value: JsonValue, findings: Findings, old?: JsonValue): Steps<void> {
    if (value === null) {
      check(value, findings, old);
      return;
    }
    const before = findings.size;
    for (const each of checks) {
      if (each.inSteps === undefined) each(value, findings, old);
      else yield* each.inSteps(value, findings, old);
    }
    tolerate(value, { findings, before, old });
  }
  const looksIntoScalars = checks.some((each) => each.looksIntoScalars === true);
  return Object.assign(check, { inSteps, looksIntoScalars });
}

/** Items and members that are looked at in one step. */
const STRETCH = 16;

/** The check of a part of a value, in steps if it has parts itself. */
function* checkPart(
  check: Check,
  value: JsonValue,
  { findings, old, segment }: { findings: Findings; old: JsonValue | undefined; segment: string },
): Steps<void> {
  const before = findings.size;
  const hasParts = (typeof value === "object" && value !== null) || check.looksIntoScalars;
  if (check.inSteps !== undefined && hasParts) yield* check.inSteps(value, findings, old);
  else check(value, findings, old);
  if (findings.size > before) findings.prefix(before, segment);
  if (findings.meter.spent < STEP_WORK_MAX) return;
  findings.meter.beginStep();
  yield;
}

function typeOf(value: JsonValue): string {
  switch (typeof value) {
    case "number":
      // An integer beyond 2^53 is a bigint: such a number has been written as a float.
      return Number.isSafeInteger(value) ? "integer" : "number";
    case "bigint":
      return isInt64(value) ? "integer" : "number";
    case "object":
      if (value === null) return "null";
      return Array.isArray(value) ? "array" : "object";
    default:
      return typeof value;
  }
}

function typeCheck(schema: JsonSchema): Check {
  const isIntOrString = schema["x-kubernetes-int-or-string"] === true;
  const { type: own = "", format = "" } = schema;
  const isEither = own === "" && isIntOrString;
  const wanted = isEither ? "integer,string" : own;
  const types = new Set(wanted === "" ? [] : wanted.split(","));
  // Every integer is a number.
  if (types.has("number")) types.add("integer");
  const isNullable = schema.nullable === true;
  const isAny = types.size === 0;
  const isKnown = isKnownFormat(format, own);
  const isNumber = types.has("number") || types.has("integer");
  return (value, findings) => {
    findings.matches++;
    const type = typeOf(value);
    if (types.has(type)) return;
    // A string with a format is checked by the format, whatever the type; of a default with any format.
    const hasFormat = isKnown || (findings.areOfDefault && format !== "");
    if (isAny && !hasFormat) return;
    if (value === null && (isNullable || isAny)) return;
    if (isEither && findings.areOfDefault) return;
    const isText = type === "string" || type === "array";
    if (hasFormat && !isNumber && isText) return;
    // For other values the error names the schema's format and the value's own.
    if (hasFormat && !isText && value !== null) findings.add(wrongType(format, formatOf(type)));
    else findings.add(wrongType(wanted, type));
  };
}

function formatOf(type: string): string {
  if (type === "integer") return "int64";
  return type === "number" ? "float64" : "";
}

function textCheck(schema: JsonSchema): Check | undefined {
  const { maxLength, minLength, pattern, format = "", type: own = "" } = schema;
  const hasFormat = formatCheck(format);
  // Of objects it counts for texts alone.
  const isOfTexts = isKnownFormat(format, own);
  if ([maxLength, minLength, pattern, hasFormat].every((part) => part === undefined)) return;
  const lazy = pattern === undefined ? undefined : lazyPattern(pattern);
  const checkPattern = (value: string, findings: Findings): void => {
    if (lazy === undefined) return;
    findings.meter.spend(lazy.work);
    const compiled = lazy.get();
    if (value.length > compiled.lengthMax) {
      const why = `be at most ${compiled.lengthMax} chars long to be matched with '${pattern}'`;
      findings.add(outOfBounds(value, why));
      return;
    }
    findings.meter.spend(value.length * compiled.size);
    if (!compiled.matches(value)) findings.add(outOfBounds(value, `match '${pattern}'`));
  };
  return (value, findings) => {
    if (typeof value !== "string") return;
    findings.matches++;
    // Of length and pattern only the first error is reported.
    if (maxLength !== undefined && value.length > maxLength && lengthOf(value) > maxLength) {
      findings.add(tooLong(maxLength));
    } else if (minLength !== undefined && lengthOf(value) < minLength) {
      findings.add(outOfBounds(value, `be at least ${minLength} chars long`));
    } else checkPattern(value, findings);
    if (hasFormat === undefined || !(isOfTexts || findings.areOfDefault)) return;
    if (!hasFormat(value)) findings.add(wrongType(format, value));
  };
}

/** Characters, not UTF-16 code units. */
function lengthOf(text: string): number {
  let length = text.length;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0xd800 && code < 0xdc00) length--;
  }
  return length;
}

function enumCheck({ enum: allowed }: JsonSchema): Check | undefined {
  if (allowed === undefined || allowed.length === 0) return undefined;
  const identities = new Set(allowed.map(identityOf));
  return (value, findings) => {
    findings.matches++;
    if (identities.has(identityOf(value)) || identities.has(integerOf(value))) return;
    findings.add(notAmong(value, allowed));
  };
}

/** kube-apiserver compares with an integer what a conversion makes of the value: its integer part. */
function integerOf(value: JsonValue): string {
  return typeof value === "number" ? identityOf(Math.trunc(value)) : "";
}

function listCheck(schema: JsonSchema): Check | undefined {
  const { maxItems, minItems } = schema;
  const items = itemSchema(schema);
  const isUnique = schema.uniqueItems === true;
  const check = items === undefined ? undefined : compileValidator(items);
  if (check === undefined && maxItems === undefined && minItems === undefined && !isUnique) return;
  const checkList: Check = (value, findings, old) => {
    if (!Array.isArray(value)) return;
    findings.matches++;
    if (check !== undefined) {
      const olds = old === undefined ? undefined : oldItems(schema, value, old);
      for (let index = 0; index < value.length && !findings.isFull; index++) {
        const before = findings.size;
        check(value[index] as JsonValue, findings, olds?.[index]);
        if (findings.size > before) findings.prefix(before, `[${index}]`);
      }
    }
    checkBounds(value, findings);
  };
  const checkBounds = (value: readonly JsonValue[], findings: Findings): void => {
    if (minItems !== undefined && value.length < minItems) {
      findings.add(outOfBounds(value.length, `have at least ${minItems} items`));
    }
    if (maxItems !== undefined && value.length > maxItems) {
      findings.add(tooMany(value.length, maxItems));
    }
    if (isUnique && new Set(value.map(identityOf)).size < value.length) {
      findings.add(repeatedItems);
    }
  };
  if (check === undefined) return checkList;
  function* inSteps(value: JsonValue, findings: Findings, old?: JsonValue): Steps<void> {
    if (!Array.isArray(value)) return;
    findings.matches++;
    const olds = old === undefined ? undefined : oldItems(schema, value, old);
    for (const [index, item] of value.entries()) {
      if (findings.isFull) break;
      if (index % STRETCH === STRETCH - 1) yield;
      const part = { findings, old: olds?.[index], segment: `[${index}]` };
      yield* checkPart(check as Check, item, part);
    }
    checkBounds(value, findings);
  }
  return Object.assign(checkList, { inSteps });
}

function objectCheck(schema: JsonSchema): Check | undefined {
  const { properties = {}, required = [], minProperties, maxProperties } = schema;
  const checks = new Map(
    Object.entries(properties).map(([name, property]) => [name, compileValidator(property)]),
  );
  const additional = additionalSchema(schema);
  const checkOther = additional === undefined ? undefined : compileValidator(additional);
  const isClosed = schema.additionalProperties === false;
  const bounds = [minProperties, maxProperties];
  const isMoot = checks.size === 0 && required.length === 0 && !isClosed;
  if (isMoot && checkOther === undefined && bounds.every((bound) => bound === undefined)) return;
  const checkObject: Check = (value, findings, old) => {
    if (!isJsonObject(value)) return;
    findings.matches++;
    checkCount(value, findings);
    for (const name in value) {
      const member = value[name];
      if (findings.isFull) break;
      if (member === undefined) continue;
      const check = checks.get(name) ?? checkOther;
      if (check === undefined) {
        if (isClosed) findings.add(forbiddenMember(name));
        continue;
      }
      const before = findings.size;
      check(member, findings, oldMemberOf(old, name));
      if (findings.size > before) findings.prefix(before, `.${name}`);
    }
    checkRequired(value, findings);
  };
  const checkCount = (value: JsonObject, findings: Findings): void => {
    if (minProperties !== undefined || maxProperties !== undefined) {
      const count = Object.keys(value).length;
      if (minProperties !== undefined && count < minProperties) {
        findings.add(outOfBounds(count, `have at least ${minProperties} properties`));
      }
      if (maxProperties !== undefined && count > maxProperties) {
        findings.add(tooMany(count, maxProperties));
      }
    }
  };
  const checkRequired = (value: JsonObject, findings: Findings): void => {
    for (const name of required) {
      if (value[name] === undefined || !Object.hasOwn(value, name)) {
        findings.add(missing, `.${name}`);
      }
    }
  };
  if (checks.size === 0 && checkOther === undefined) return checkObject;
  function* inSteps(value: JsonValue, findings: Findings, old?: JsonValue): Steps<void> {
    if (!isJsonObject(value)) return;
    findings.matches++;
    checkCount(value, findings);
    let looked = 0;
    for (const name in value) {
      const member = value[name];
      if (findings.isFull) break;
      if (++looked % STRETCH === 0) yield;
      if (member === undefined) continue;
      const check = checks.get(name) ?? checkOther;
      if (check === undefined) {
        if (isClosed) findings.add(forbiddenMember(name));
        continue;
      }
      const part = { findings, old: oldMemberOf(old, name), segment: `.${name}` };
      yield* checkPart(check, member, part);
    }
    checkRequired(value, findings);
  }
  return Object.assign(checkObject, { inSteps });
}

function repeatedItems(name: string, field: string): FieldError {
  return invalidValue(field, "", `${name} in body shouldn't contain duplicates`);
}

function forbiddenMember(member: string) {
  return (name: string, field: string) =>
    invalidValue(field, "", `${name}.${member} in body is a forbidden property`);
}
