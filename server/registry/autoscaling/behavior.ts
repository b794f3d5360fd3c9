/**
 * The scaling behaviour as autoscaling/v1's annotation has it: members begin with a capital letter, all of them are
 * written, and their case does not count when they are read.
 */
import { isRecord } from "../../../storage/base/is-record.js";

type Members = Readonly<Record<string, unknown>>;

const DIRECTIONS = ["scaleUp", "scaleDown"] as const;
const RULES = ["stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance"] as const;
const POLICY = ["type", "value", "periodSeconds"] as const;

export function behaviorToText(behavior: Members): string {
  const directions = DIRECTIONS.map((name) => {
    const rules = behavior[name];
    if (!isRecord(rules)) return [capital(name), null];
    const { policies } = rules;
    const shown = Array.isArray(policies)
      ? policies.filter(isRecord).map((policy) => capitals(policy, POLICY))
      : null;
    return [capital(name), capitals({ ...rules, policies: shown }, RULES)];
  });
  return JSON.stringify(Object.fromEntries(directions));
}

/** @returns undefined when it says nothing */
export function behaviorFromValue(value: unknown): Members | undefined {
  const found = membersOf(value, DIRECTIONS);
  const directions = Object.entries(found).map(([name, rules]) => {
    const read: Record<string, unknown> = membersOf(rules, RULES);
    const { policies } = read;
    // The older version has no defaults for what an annotation leaves out.
    read.policies = Array.isArray(policies)
      ? policies.map((policy) => membersOf(policy, POLICY))
      : [];
    return [name, read];
  });
  return directions.length === 0 ? undefined : Object.fromEntries(directions);
}

function capital(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function capitals(members: Members, names: readonly string[]): Members {
  return Object.fromEntries(names.map((name) => [capital(name), members[name] ?? null]));
}

/** The known members that have a value, by their names. */
function membersOf(value: unknown, names: readonly string[]): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  if (!isRecord(value)) return found;
  for (const [key, member] of Object.entries(value)) {
    const lower = key.toLowerCase();
    const name = names.find((known) => known.toLowerCase() === lower);
    if (name !== undefined && member !== null) found[name] = member;
  }
  return found;
}
