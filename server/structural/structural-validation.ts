/**
 * createValidation: what a custom object breaks of its schema, in this order:
 *
 *   1. the schema, for a write to the status only what it says of that     with the old object: errors of what is as it was do not count
 *   2. resources that are embedded in the object
 *   3. lists that may not repeat an item
 *   4. its rules, unless 1 or 2 found what rules cannot be asked about
 *
 *   object                          now          in the turns of `long`
 *   nobody gives turns              1 2 3 4
 *   small                           1 2 3        4, as its size does not tell what a rule costs
 *   small, and 1 takes long         1, begun     1 2 3 4
 *   large                                        1 2 3 4
 */
import { finishNow, type Steps } from "../../storage/base/steps.js";
import { invalidValue } from "../api/field-errors.js";
import type { LongWork } from "../api/long-work.js";
import type { ApiObject, JsonObject, JsonValue } from "../api/meta.js";
import { Problems } from "../api/problems.js";
import type { FieldError } from "../api/status.js";
import { validateEmbedded, validateEmbeddedInSteps } from "./embedded.js";
import type { JsonSchema } from "./json-schema.js";
import { listTypeSteps } from "./list-types.js";
import { createRuleCheck } from "./rules.js";
import type { Structural } from "./structural.js";
import { Findings, STEP_WORK_MAX, TakesLong, WHOLE, WorkMeter } from "./value-findings.js";
import { compileValidator } from "./value-validator.js";

export interface ValidationOptions {
  /** "status": of the schema only what it says of the status is asked. */
  readonly subresource?: string;
  /** Receives tolerated errors of rules. */
  readonly warn?: ((text: string) => void) | undefined;
  /** Takes what may take long; absent = all is done at once. */
  readonly long?: LongWork | undefined;
}

/** With `current`, existing errors of unchanged values are tolerated. */
export type Validation = (
  object: ApiObject,
  current?: ApiObject,
  options?: ValidationOptions,
) => FieldError[];

/** Reasons that prevent rules from running, as their values would be invalid. */
const BLOCKING: ReadonlySet<FieldError["reason"]> = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

const NOT_ASKED =
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

export function createValidation(structural: Structural): Validation {
  const check = checkOf(structural.schema);
  const status = structural.schema.properties?.status;
  const checkStatus = status === undefined ? undefined : checkOf(status);
  const checkRules = structural.has.rules ? createRuleCheck(structural) : undefined;
  const ofObject = (
    next: JsonObject,
    old: JsonObject | undefined,
    workMax: number | undefined,
  ): FieldError[] => [
    ...check(next, old, "", workMax),
    ...(structural.has.embedded ? validateEmbedded(next, structural) : []),
  ];
  function* ofObjectInSteps(next: JsonObject, old: JsonObject | undefined): Steps<FieldError[]> {
    const errors = yield* check.inSteps(next, old);
    if (structural.has.embedded) errors.push(...(yield* validateEmbeddedInSteps(next, structural)));
    return errors;
  }
  const ofStatus = (
    next: JsonObject,
    old: JsonObject | undefined,
    workMax: number | undefined,
  ): FieldError[] =>
    checkStatus === undefined || next.status === undefined
      ? []
      : checkStatus(next.status, old?.status, "status", workMax);
  function* ofStatusInSteps(next: JsonObject, old: JsonObject | undefined): Steps<FieldError[]> {
    return checkStatus === undefined || next.status === undefined
      ? []
      : yield* checkStatus.inSteps(next.status, old?.status, "status");
  }
  return (object, current, { subresource = "", warn, long } = {}) => {
    const next = object as unknown as JsonObject;
    const old = current as unknown as JsonObject | undefined;
    const isOfStatus = subresource === "status";
    const leaveAll = (later: LongWork): FieldError[] => {
      later.leave(function* (found) {
        const errors = yield* isOfStatus ? ofStatusInSteps(next, old) : ofObjectInSteps(next, old);
        const isBlocked = errors.some(isBlocking);
        found.push(...errors);
        if (structural.has.uniqueLists) yield* newlyRepeated(next, old, structural, found);
        if (checkRules === undefined) return;
        if (isBlocked) found.push(invalidValue(WHOLE, null, NOT_ASKED));
        else found.push(...(yield* checkRules.inSteps(next, old, { warn })));
      });
      return [];
    };
    if (long?.isOfLarge === true) return leaveAll(long);
    let errors: FieldError[];
    try {
      const workMax = long === undefined ? undefined : STEP_WORK_MAX;
      errors = isOfStatus ? ofStatus(next, old, workMax) : ofObject(next, old, workMax);
    } catch (error) {
      if (long === undefined || !(error instanceof TakesLong)) throw error;
      return leaveAll(long);
    }
    if (structural.has.uniqueLists) finishNow(newlyRepeated(next, old, structural, errors));
    if (checkRules === undefined) return errors;
    if (errors.some(isBlocking)) errors.push(invalidValue(WHOLE, null, NOT_ASKED));
    else if (long === undefined) errors.push(...checkRules(next, old, { warn }));
    else {
      // What a rule costs, its object's size does not tell.
      long.leave(function* (found) {
        found.push(...(yield* checkRules.inSteps(next, old, { warn })));
      });
    }
    return errors;
  };
}

function isBlocking({ reason }: FieldError): boolean {
  return BLOCKING.has(reason);
}

/** Checks a value by a schema; the messages name fields as from the value. */
function checkOf(schema: JsonSchema) {
  const check = compileValidator(schema);
  const now = (
    value: JsonValue,
    old: JsonValue | undefined,
    base = "",
    workMax?: number,
  ): FieldError[] => {
    const meter = new WorkMeter(workMax);
    let findings = new Findings({ meter });
    check(value, findings);
    if (findings.size > 0 && old !== undefined) {
      // Only invalid objects are compared with their old state: a valid one costs no comparison.
      findings = new Findings({ meter });
      check(value, findings, old);
    }
    return findings.size === 0 ? [] : findings.toErrors(base);
  };
  function* inSteps(value: JsonValue, old: JsonValue | undefined, base = ""): Steps<FieldError[]> {
    if (check.inSteps === undefined) return now(value, old, base);
    let findings = new Findings();
    yield* check.inSteps(value, findings);
    if (findings.size > 0 && old !== undefined) {
      findings = new Findings();
      yield* check.inSteps(value, findings, old);
    }
    return findings.size === 0 ? [] : findings.toErrors(base);
  }
  return Object.assign(now, { inSteps });
}

/** Repeated items of an object, unless the old one has some as well. */
function* newlyRepeated(
  next: JsonObject,
  old: JsonObject | undefined,
  structural: Structural,
  errors: FieldError[],
): Steps<void> {
  const repeated = yield* repeatedItems(next, structural);
  if (repeated.length === 0) return;
  if (old !== undefined && (yield* repeatedItems(old, structural)).length > 0) return;
  errors.push(...repeated);
}

function* repeatedItems(object: JsonObject, structural: Structural): Steps<FieldError[]> {
  const errors = new Problems();
  yield* listTypeSteps(object, structural, "", errors);
  return errors;
}
