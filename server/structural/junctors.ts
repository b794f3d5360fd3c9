/**
 * allOf, anyOf, oneOf and not: their schemas are validated separately. If all alternatives fail,
 * the errors of the best one are reported beside the junctor's own message.
 */
import type { JsonValue } from "../api/meta.js";
import type { JsonSchema } from "./json-schema.js";
import { type Check, Findings, unmetJunctor } from "./value-findings.js";

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
  return (value, findings) => {
    findings.matches++;
    if (any.length > 0) checkAny(any, value, findings);
    if (one.length > 0) checkOne(one, value, findings);
    if (all.length > 0) checkAll(all, value, findings);
    if (none !== undefined && tried(none, value).size === 0) {
      findings.add(unmetJunctor("must not validate the schema (not)"));
    }
  };
}

function tried(check: Check, value: JsonValue): Findings {
  const findings = new Findings();
  check(value, findings);
  return findings;
}

function furthest(failures: readonly Findings[]): Findings | undefined {
  return failures.reduce<Findings | undefined>(
    (best, next) => (best === undefined || next.matches > best.matches ? next : best),
    undefined,
  );
}

function checkAny(checks: readonly Check[], value: JsonValue, findings: Findings): void {
  const failures: Findings[] = [];
  for (const check of checks) {
    const result = tried(check, value);
    if (result.size === 0) return;
    failures.push(result);
  }
  findings.add(unmetJunctor("must validate at least one schema (anyOf)"));
  const best = furthest(failures);
  if (best !== undefined) findings.append(best);
}

function checkOne(checks: readonly Check[], value: JsonValue, findings: Findings): void {
  const results = checks.map((check) => tried(check, value));
  const failures = results.filter(({ size }) => size > 0);
  const valid = results.length - failures.length;
  if (valid === 1) return;
  const found = valid === 0 ? "Found none valid" : `Found ${valid} valid alternatives`;
  findings.add(unmetJunctor(`must validate one and only one schema (oneOf). ${found}`));
  const best = valid === 0 ? furthest(failures) : undefined;
  if (best !== undefined) findings.append(best);
}

function checkAll(checks: readonly Check[], value: JsonValue, findings: Findings): void {
  const results = checks.map((check) => tried(check, value));
  const failures = results.filter(({ size }) => size > 0);
  for (const failure of failures) findings.append(failure);
  if (failures.length === 0) return;
  const none = failures.length === results.length ? ". None validated" : "";
  findings.add(unmetJunctor(`must validate all the schemas (allOf)${none}`));
}
