/**
 * allOf, anyOf, oneOf and not: their schemas are validated separately. If all alternatives fail,
 * the errors of the best one are reported beside the junctor's own message.
 */
import type { Steps } from "../../storage/base/steps.js";
import type { JsonValue } from "../api/meta.js";
import type { JsonSchema } from "./json-schema.js";
import { type Check, Findings, STEP_WORK_MAX, unmetJunctor } from "./value-findings.js";

export function compileJunctors(
  schema: JsonSchema,
  compile: (schema: JsonSchema) => Check,
): Check | undefined {
  const { allOf = [], anyOf = [], oneOf = [], not } = schema;
  const all = allOf.map(compile);
  const any = anyOf.map(compile);
  const one = oneOf.map(compile);
  const none = not === undefined ? undefined : compile(not);
  if (all.length + any.length + one.length === 0 && none === undefined) return undefined;
  const check: Check = (value, findings) => {
    findings.matches++;
    const tried = (part: Check) => {
      const result = new Findings({ meter: findings.meter });
      part(value, result);
      return result;
    };
    if (any.length > 0) judgeAny(failuresOf(any, tried), findings);
    if (one.length > 0) judgeOne(one.map(tried), findings);
    if (all.length > 0) judgeAll(all.map(tried), findings);
    if (none !== undefined) judgeNot(tried(none), findings);
  };
  function* inSteps(value: JsonValue, findings: Findings): Steps<void> {
    findings.matches++;
    const tried = (part: Check) => tryInSteps(part, value, findings);
    if (any.length > 0) {
      const failures: Findings[] = [];
      for (const part of any) {
        const result = yield* tried(part);
        failures.push(result);
        if (result.size === 0) break;
      }
      judgeAny(failures, findings);
    }
    if (one.length > 0) judgeOne(yield* allTried(one, tried), findings);
    if (all.length > 0) judgeAll(yield* allTried(all, tried), findings);
    if (none !== undefined) judgeNot(yield* tried(none), findings);
  }
  return Object.assign(check, { inSteps, looksIntoScalars: true });
}

function* tryInSteps(part: Check, value: JsonValue, { meter }: Findings): Steps<Findings> {
  const result = new Findings({ meter });
  if (part.inSteps === undefined) part(value, result);
  else yield* part.inSteps(value, result);
  if (meter.spent >= STEP_WORK_MAX) {
    meter.beginStep();
    yield;
  }
  return result;
}

function* allTried(
  parts: readonly Check[],
  tried: (part: Check) => Steps<Findings>,
): Steps<Findings[]> {
  const results: Findings[] = [];
  for (const part of parts) {
    results.push(yield* tried(part));
    // Where the value is large, so is what each of them looks at.
    yield;
  }
  return results;
}

/** Until one is valid. */
function failuresOf(parts: readonly Check[], tried: (part: Check) => Findings): Findings[] {
  const failures: Findings[] = [];
  for (const part of parts) {
    const result = tried(part);
    failures.push(result);
    if (result.size === 0) break;
  }
  return failures;
}

function furthest(failures: readonly Findings[]): Findings | undefined {
  return failures.reduce<Findings | undefined>(
    (best, next) => (best === undefined || next.matches > best.matches ? next : best),
    undefined,
  );
}

function judgeAny(failures: readonly Findings[], findings: Findings): void {
  if (failures.at(-1)?.size === 0) return;
  findings.add(unmetJunctor("must validate at least one schema (anyOf)"));
  const best = furthest(failures);
  if (best !== undefined) findings.append(best);
}

function judgeOne(results: readonly Findings[], findings: Findings): void {
  const failures = results.filter(({ size }) => size > 0);
  const valid = results.length - failures.length;
  if (valid === 1) return;
  const found = valid === 0 ? "Found none valid" : `Found ${valid} valid alternatives`;
  findings.add(unmetJunctor(`must validate one and only one schema (oneOf). ${found}`));
  const best = valid === 0 ? furthest(failures) : undefined;
  if (best !== undefined) findings.append(best);
}

function judgeNot(result: Findings, findings: Findings): void {
  if (result.size === 0) findings.add(unmetJunctor("must not validate the schema (not)"));
}

function judgeAll(results: readonly Findings[], findings: Findings): void {
  const failures = results.filter(({ size }) => size > 0);
  for (const failure of failures) findings.append(failure);
  if (failures.length === 0) return;
  const none = failures.length === results.length ? ". None validated" : "";
  findings.add(unmetJunctor(`must validate all the schemas (allOf)${none}`));
}
