/**
 * Checks the validations of a policy against the types of the kinds that it matches. Admission sees untyped
 * objects; this finds nonexistent fields before a write does. It only warns, as kube-apiserver: it skips rules
 * with "*", subresources, and all expressions other than validations and their messages.
 */

import { ShortTurns } from "../../storage/base/short-turns.js";
import type { ResourceRule } from "../admission/matching/resource-rules.js";
import { PolicyEnvironments, type PolicySpec } from "../admission/policies/policy.js";
import { parseGroupVersion } from "../api/names.js";
import type { CelEnvironment, CelType } from "../cel/environment.js";
import { CelCompileError } from "../cel/errors.js";
import type { GroupVersionKind, KnownType, PublishedTypes } from "./published-types.js";

/** An entry of `status.typeChecking.expressionWarnings`. */
export interface ExpressionWarning {
  readonly fieldRef: string;
  readonly warning: string;
}

/** Kinds checked per rule; kube-apiserver's limit. */
const KINDS_MAX = 10;
/** The limit of all warnings, which must fit into the object. */
const WARNINGS_LENGTH_MAX = 256 * 1024;

/** Runs in short turns: each expression is compiled for each kind, in up to five milliseconds. */
export async function checkPolicyTypes(
  spec: PolicySpec,
  published: PublishedTypes,
): Promise<ExpressionWarning[]> {
  const turns = new ShortTurns();
  const checks = await environmentsOf(spec, published, turns);
  const warnings: ExpressionWarning[] = [];
  let left = WARNINGS_LENGTH_MAX;
  const look = async (fieldRef: string, expression: string): Promise<void> => {
    const findings: string[] = [];
    for (const { kind, environment } of checks) {
      await turns.yieldIfLong();
      const problem = problemOf(expression, environment);
      if (problem !== undefined) findings.push(`${formatKind(kind)}: ${problem}\n`);
    }
    if (findings.length === 0) return;
    const warning = findings.join("\n");
    left -= warning.length;
    if (left >= 0) warnings.push({ fieldRef, warning });
  };
  for (const [index, { expression, messageExpression }] of (spec.validations ?? []).entries()) {
    const field = `spec.validations[${index}]`;
    await look(`${field}.expression`, expression);
    if (messageExpression) await look(`${field}.messageExpression`, messageExpression);
  }
  return warnings;
}

interface KindCheck {
  readonly kind: GroupVersionKind;
  readonly environment: CelEnvironment;
}

/** A missing parameter kind has no fields, so expressions about it get warnings. */
async function environmentsOf(
  spec: PolicySpec,
  published: PublishedTypes,
  turns: ShortTurns,
): Promise<KindCheck[]> {
  const params = paramsType(spec, published);
  const checks: KindCheck[] = [];
  for (const kind of kindsOf(spec, published)) {
    await turns.yieldIfLong();
    const known = published.typeOf(kind);
    if (known === undefined) continue;
    const variables: Record<string, CelType> = { object: known.self, oldObject: known.self };
    if (params !== undefined) variables.params = params.self;
    const types = new Map(
      [...known.types, ...(params?.types ?? [])].map((type) => [type.name, type]),
    );
    const declarations = { variables, types: [...types.values()] };
    const environments = new PolicyEnvironments(spec, declarations);
    for (const variable of environments.variables) {
      variable.program();
      await turns.yieldIfLong();
    }
    checks.push({ kind, environment: environments.whole });
  }
  return checks;
}

function paramsType({ paramKind }: PolicySpec, published: PublishedTypes): KnownType | undefined {
  const groupVersion = parseGroupVersion(paramKind?.apiVersion ?? "");
  if (!paramKind || groupVersion === undefined) return undefined;
  return published.typeOf({ ...groupVersion, kind: paramKind.kind });
}

/** The kinds that the rules name, sorted. A rule that reaches the limit is the last one. */
function kindsOf({ matchConstraints }: PolicySpec, published: PublishedTypes): GroupVersionKind[] {
  const kinds = new Map<string, GroupVersionKind>();
  for (const rule of matchConstraints?.resourceRules ?? []) {
    const named = kindsOfRule(rule, published);
    for (const kind of named) kinds.set(formatKind(kind), kind);
    if (named.length === KINDS_MAX) break;
  }
  return [...kinds.values()].sort(compareKinds);
}

function kindsOfRule(rule: ResourceRule, published: PublishedTypes): GroupVersionKind[] {
  const groups = rule.apiGroups ?? [];
  const versions = rule.apiVersions ?? [];
  if ([...groups, ...versions].some((name) => name.includes("*"))) return [];
  const resources = (rule.resources ?? []).filter((name) => !/[*/]/.test(name)).toSorted();
  const found: GroupVersionKind[] = [];
  for (const group of groups.toSorted()) {
    for (const version of versions.toSorted()) {
      for (const resource of resources) {
        found.push(...published.kindsFor(group, version, resource));
        if (found.length >= KINDS_MAX) return found.slice(0, KINDS_MAX);
      }
    }
  }
  return found;
}

function problemOf(expression: string, environment: CelEnvironment): string | undefined {
  try {
    environment.compile(expression, ["dyn"]);
    return undefined;
  } catch (error) {
    if (error instanceof CelCompileError) return error.message;
    throw error;
  }
}

function formatKind({ group, version, kind }: GroupVersionKind): string {
  return `${group}/${version}, Kind=${kind}`;
}

function compareKinds(one: GroupVersionKind, other: GroupVersionKind): number {
  for (const part of ["group", "version", "kind"] as const) {
    if (one[part] !== other[part]) return one[part] < other[part] ? -1 : 1;
  }
  return 0;
}
