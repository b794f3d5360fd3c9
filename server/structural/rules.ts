/**
 * Evaluates a schema's CEL rules on objects: one budget for all rules of an object, transition rules
 * only with an old value, and a rule that does not use the old value never refuses what is unchanged.
 */

import { finishNow, type Steps } from "../../storage/base/steps.js";
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  invalidWhole,
  requiredValue,
} from "../api/field-errors.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { Problems } from "../api/problems.js";
import type { FieldError } from "../api/status.js";
import { CelEvaluationError, type CelProgram, evaluateInSteps } from "../cel/environment.js";
import { type CompiledRule, compileRulesInSteps, EVALUATION_COST_MAX } from "./compiled-rules.js";
import { isUnchanged, oldItems, oldMemberOf } from "./correlation.js";
import type { ValidationRule } from "./json-schema.js";
import { memberOf, type Structural } from "./structural.js";
import { WHOLE } from "./value-findings.js";

/** Cost limit of all rules of one object together. */
export const OBJECT_COST_MAX = 10_000_000;

interface RunOptions {
  readonly path?: string;
  /** Receives errors that are tolerated because they already existed. */
  readonly warn?: ((text: string) => void) | undefined;
}

/** Evaluates a schema's rules on an object; `old` is its previous state. */
export interface RuleCheck {
  (object: JsonValue, old: JsonValue | undefined, options?: RunOptions): FieldError[];
  /** The same, a rule on a value in each step: what rules cost has little to do with the object's size. */
  inSteps(object: JsonValue, old: JsonValue | undefined, options?: RunOptions): Steps<FieldError[]>;
}

export interface RuleCheckOptions {
  /** Whether values have metadata of their own. Default true. */
  readonly isResource?: boolean;
  /** Whether existing errors of unchanged values are tolerated. Default true. */
  readonly ratchets?: boolean;
}

/** Compiles on first use. */
export function createRuleCheck(
  root: Structural,
  { isResource = true, ratchets = true }: RuleCheckOptions = {},
): RuleCheck {
  const compiled = new Map<Structural, readonly CompiledRule[] | "untyped">();
  const rulesOf: RulesOf = function* (node, hasMetadata) {
    let rules = compiled.get(node);
    if (rules === undefined) {
      rules = (yield* compileRulesInSteps(node, hasMetadata)) ?? "untyped";
      compiled.set(node, rules);
    }
    return rules;
  };
  function* inSteps(
    object: JsonValue,
    old: JsonValue | undefined,
    { path = "", warn }: RunOptions = {},
  ): Steps<FieldError[]> {
    const run = new Run(rulesOf, ratchets, warn);
    const anchor = anchorOf(root, object, old);
    yield* run.check({ value: object, old, node: root, isResource, path, anchor });
    return run.errors;
  }
  return Object.assign(
    (object: JsonValue, old: JsonValue | undefined, options?: RunOptions) =>
      finishNow(inSteps(object, old, options)),
    { inSteps },
  );
}

/** "untyped": the place has rules, but its type does not support them. */
type RulesOf = (
  node: Structural,
  isResource: boolean,
) => Steps<readonly CompiledRule[] | "untyped">;

const UNTYPED =
  "rule compiler initialization error: failed to convert to declType for CEL validation rules";

/** A value whose old one is known. */
interface Anchor {
  readonly node: Structural;
  readonly value: JsonValue;
  readonly old: JsonValue;
}

/** A value in the object, with what is known about it. */
interface VisitedValue {
  readonly value: JsonValue;
  /** What rules see as `oldSelf`; undefined = there is none. */
  readonly old: JsonValue | undefined;
  readonly node: Structural;
  readonly isResource: boolean;
  readonly path: string;
  /** The nearest value with an old one, from here outwards; undefined = no value around has one. */
  readonly anchor: Anchor | undefined;
}

class Run {
  readonly errors: FieldError[] = new Problems();
  readonly #rulesOf: RulesOf;
  readonly #ratchets: boolean;
  /** Anchors that have been compared, by their value: many places may ask the same one. */
  readonly #unchanged = new Map<JsonValue, boolean>();
  readonly #warn: ((text: string) => void) | undefined;
  #budget = OBJECT_COST_MAX;
  /** Set when the budget is used up or an evaluation was stopped: no further rule is evaluated. */
  #isOver = false;

  constructor(rulesOf: RulesOf, ratchets: boolean, warn?: (text: string) => void) {
    this.#warn = warn;
    this.#rulesOf = rulesOf;
    this.#ratchets = ratchets;
  }

  *check(place: VisitedValue): Steps<void> {
    const { value, node, isResource, path } = place;
    if (!node.has.rules || this.#isOver) return;
    if (node.rules.length > 0 && value !== null) {
      const rules = yield* this.#rulesOf(node, isResource);
      if (rules === "untyped") {
        this.errors.push(invalidValue(path === "" ? WHOLE : path, node.type, UNTYPED));
        return;
      }
      for (const rule of rules) {
        yield* this.#ask(rule, place);
        yield;
        if (this.#isOver) return;
      }
    }
    if (Array.isArray(value)) yield* this.#checkItems(value, place);
    else if (isJsonObject(value)) yield* this.#checkMembers(value, place);
  }

  *#checkMembers(object: JsonObject, { old, node, path, anchor }: VisitedValue): Steps<void> {
    const olds = node.mapType === "atomic" ? undefined : old;
    // Only the place of the anchor itself has an old value for its members.
    const anchored = anchor?.value === object ? anchor.old : undefined;
    for (const [name, member] of Object.entries(object)) {
      const known = memberOf(node, name);
      if (typeof known !== "object" || !known.has.rules || member === undefined) continue;
      yield* this.check({
        value: member,
        old: oldMemberOf(olds, name),
        node: known,
        isResource: known.isEmbedded,
        path: node.properties.has(name) ? join(path, name) : `${path}[${name}]`,
        anchor: anchorOf(known, member, oldMemberOf(anchored, name)) ?? anchor,
      });
    }
  }

  *#checkItems(list: readonly JsonValue[], { old, node, path, anchor }: VisitedValue): Steps<void> {
    const { items } = node;
    if (items === undefined || !items.has.rules) return;
    const anchored = anchor?.value === list ? oldItems(node.schema, list, anchor.old) : undefined;
    for (const [index, value] of list.entries()) {
      yield* this.check({
        value,
        old: old === undefined ? undefined : anchored?.[index],
        node: items,
        isResource: items.isEmbedded,
        path: `${path}[${index}]`,
        anchor: anchorOf(items, value, anchored?.[index]) ?? anchor,
      });
    }
  }

  #isTolerated(anchor: Anchor | undefined): boolean {
    if (anchor === undefined || !this.#ratchets) return false;
    const { node, value, old } = anchor;
    if (typeof value !== "object" || value === null) return isUnchanged(node.schema, value, old);
    let known = this.#unchanged.get(value);
    if (known === undefined) {
      known = isUnchanged(node.schema, value, old);
      this.#unchanged.set(value, known);
    }
    return known;
  }

  *#ask(
    compiled: CompiledRule,
    { value: self, old, node, path, anchor }: VisitedValue,
  ): Steps<void> {
    const { rule, program, usesOldSelf } = compiled;
    const isOptional = rule.optionalOldSelf === true;
    if (usesOldSelf && !isOptional && (old === undefined || old === null)) return;
    const shown = node.type;
    const refuse = (field: string, error: FieldError) => {
      // An existing error of an unchanged value does not refuse a change elsewhere.
      const mayStay = !usesOldSelf && this.#isTolerated(anchor);
      if (mayStay) this.#warn?.(`${field}: ${error.message}`);
      else this.errors.push({ ...error, field });
    };
    const at = path === "" ? WHOLE : path;
    if (program === undefined) {
      const why = `${compiled.problem ?? "compilation failed"}`;
      this.errors.push(invalidValue(at, shown, `rule compile error: ${why}`));
      return;
    }
    const bindings = { self, oldSelf: old ?? null };
    const outcome = yield* this.#evaluate(program, bindings);
    if (outcome instanceof CelEvaluationError) {
      this.errors.push(invalidValue(at, shown, this.#failure(outcome, shownRule(rule))));
      return;
    }
    if (outcome === true) return;
    const field = pathOf(path, compiled.fieldPath);
    const message = yield* this.#message(compiled, bindings);
    const isWhole = shown === "object" || shown === "array";
    const failed = isWhole ? undefined : self;
    if (!this.#isOver) refuse(field, errorFor(rule.reason, field, failed, message));
  }

  *#evaluate(
    program: CelProgram,
    bindings: Readonly<Record<string, unknown>>,
  ): Steps<unknown | CelEvaluationError> {
    const limit = Math.min(EVALUATION_COST_MAX, this.#budget);
    try {
      const { value, cost } = yield* evaluateInSteps(program.begin(bindings, limit));
      this.#budget -= cost;
      return value;
    } catch (error) {
      if (!(error instanceof CelEvaluationError)) throw error;
      this.#budget -= error.cost;
      return error;
    }
  }

  #failure(error: CelEvaluationError, rule: string): string {
    if (this.#budget <= 0) {
      this.#isOver = true;
      return "validation failed due to running out of cost budget, no further validation rules will be run";
    }
    if (error.isOverBudget) {
      this.#isOver = true;
      return `'${error.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${rule}`;
    }
    if (error.message.startsWith("no such overload")) {
      return `'${error.message}': call arguments did not match a supported operator, function or macro signature for rule: ${rule}`;
    }
    return `${error.message} evaluating rule: ${rule}`;
  }

  /** The message of a failed rule; the rule's own text if the message expression gives none. */
  *#message(
    { rule, message }: CompiledRule,
    bindings: Readonly<Record<string, unknown>>,
  ): Steps<string> {
    const fallback = rule.message?.trim() || `failed rule: ${rule.rule.trim()}`;
    if (message === undefined) return fallback;
    const text = yield* this.#evaluate(message, bindings);
    if (text instanceof CelEvaluationError || typeof text !== "string") return fallback;
    const trimmed = text.trim();
    const isFit = trimmed !== "" && !/[\n\r]/.test(trimmed) && trimmed.length <= MESSAGE_LENGTH_MAX;
    return isFit ? trimmed : fallback;
  }
}

/** A rule in the errors of its evaluation: its message, if it has one. */
function shownRule({ rule, message = "" }: ValidationRule): string {
  return (message === "" ? rule : message).trim();
}

/** Longer results of message expressions are ignored. */
const MESSAGE_LENGTH_MAX = 5 * 1024;

function anchorOf(
  node: Structural,
  value: JsonValue,
  old: JsonValue | undefined,
): Anchor | undefined {
  return old === undefined ? undefined : { node, value, old };
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function pathOf(path: string, below: string): string {
  const whole = path + below;
  if (whole === "") return WHOLE;
  return whole.startsWith(".") ? whole.slice(1) : whole;
}

/** @param value the rule's value; undefined if it is not shown */
function errorFor(
  reason: string | undefined,
  field: string,
  value: JsonValue | undefined,
  message: string,
): FieldError {
  switch (reason) {
    case "FieldValueRequired":
      return requiredValue(field, message);
    case "FieldValueForbidden":
      return forbiddenField(field, message);
    case "FieldValueDuplicate":
      return value === undefined
        ? { reason, field, message: "Duplicate value" }
        : duplicateValue(field, value);
    default:
      return value === undefined
        ? invalidWhole(field, message)
        : invalidValue(field, value, message);
  }
}
