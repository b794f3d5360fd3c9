/**
 * What a definition's paths of replicas and selectors lead to in an object, and what is wrong with it where it
 * is of another type. The words are those of kube-apiserver, in which Go shows values and types.
 */
import { invalidValue } from "../api/field-errors.js";
import { printValue, typeOf } from "../api/go-text.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonValue } from "../api/meta.js";
import { type FieldError, failedConversion } from "../api/status.js";

const REPLICAS_MAX = 2 ** 31 - 1;

/** The steps of ".spec.replicas". */
export function scaleSteps(path: string | null | undefined): readonly string[] {
  return (path ?? "").split(".").filter((step) => step !== "");
}

/** Replicas have to be a number that a scale can show, or not there. */
export function checkReplicas(object: JsonValue, path: string): FieldError[] {
  const found = lookUp(object, path, "int64");
  if (found.problem !== undefined) return [invalidValue(path, 0, found.problem)];
  const { value } = found;
  if (value === undefined) return [];
  const replicas = value as number | bigint;
  if (replicas < 0) return [invalidValue(path, replicas, "should be a non-negative integer")];
  if (replicas <= REPLICAS_MAX) return [];
  return [invalidValue(path, replicas, `should be less than or equal to ${REPLICAS_MAX}`)];
}

export function checkSelector(object: JsonValue, path: string): FieldError[] {
  const { problem } = lookUp(object, path, "string");
  return problem === undefined ? [] : [invalidValue(path, "", problem)];
}

/** As a scale shows them, in 32 bits; undefined when there are none. @throws {StatusError} 500 for another type */
export function replicasAt(object: JsonValue, path: string): number | undefined {
  const value = shownAt(object, path, "int64") as number | bigint | undefined;
  return value === undefined ? undefined : Number(BigInt.asIntN(32, BigInt(value)));
}

/** @throws {StatusError} 500 for another type */
export function selectorAt(object: JsonValue, path: string): string | undefined {
  return path === "" ? undefined : (shownAt(object, path, "string") as string | undefined);
}

function shownAt(object: JsonValue, path: string, type: "int64" | "string"): JsonValue | undefined {
  const { value, problem } = lookUp(object, path, type);
  if (problem !== undefined) throw failedConversion(problem);
  return value;
}

interface Found {
  readonly value?: JsonValue;
  readonly problem?: string;
}

function lookUp(object: JsonValue, path: string, type: "int64" | "string"): Found {
  const steps = scaleSteps(path);
  let value: JsonValue = object;
  for (const [index, step] of steps.entries()) {
    if (value === null) return {};
    const passed = steps.slice(0, index + 1);
    if (!isJsonObject(value)) return wrong(passed, value, "map[string]interface{}");
    const member: JsonValue | undefined = Object.hasOwn(value, step) ? value[step] : undefined;
    if (member === undefined) return {};
    value = member;
  }
  return typeName(value) === type ? { value } : wrong(steps, value, type);
}

function wrong(steps: readonly string[], value: JsonValue, expected: string): Found {
  const path = `.${steps.join(".")}`;
  const is = `${printValue(value)} is of the type ${typeName(value)}, expected ${expected}`;
  return { problem: `${path} accessor error: ${is}` };
}

function typeName(value: JsonValue): string {
  return value === null ? "<nil>" : typeOf(value);
}
