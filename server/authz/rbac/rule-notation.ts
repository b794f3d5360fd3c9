/**
 * The notation of the tables of default roles. Words are separated by blanks. "core" is the unnamed
 * group, a group ending in "~" is below this vendor's domain ("storage~"), and a name beginning with
 * "@/" below its label domain.
 */
import type { Naming } from "../../api/naming.js";
import type { PolicyRule } from "./policy-rule.js";

export interface RuleFact {
  readonly verbs: string;
  readonly groups?: string;
  readonly resources?: string;
  readonly names?: string;
  readonly paths?: string;
}

export interface RoleFact {
  readonly name: string;
  readonly rules: readonly RuleFact[];
  /** The role aggregates those that are part of this ("admin", "edit", "view"). */
  readonly aggregates?: string;
  /** The aggregated role that includes this one. */
  readonly isPartOf?: string;
}

/** A service account is in the system's namespace. */
export interface SubjectFact {
  readonly kind: "User" | "Group" | "ServiceAccount";
  readonly name: string;
}

export function rule(verbs: string, groups: string, resources: string, names?: string): RuleFact {
  return { verbs, groups, resources, ...(names !== undefined && { names }) };
}

/** A rule about non-resource paths. */
export function onPaths(verbs: string, paths: string): RuleFact {
  return { verbs, paths };
}

export function toPolicyRule(
  { verbs, groups, resources, names, paths }: RuleFact,
  naming: Naming,
): PolicyRule {
  const toGroup = (word: string) => (word === "core" ? "" : spell(word, naming));
  return {
    verbs: wordsOf(verbs),
    ...(groups !== undefined && { apiGroups: wordsOf(groups).map(toGroup) }),
    ...(resources !== undefined && { resources: wordsOf(resources) }),
    ...(names !== undefined && {
      resourceNames: wordsOf(names).map((name) => spell(name, naming)),
    }),
    ...(paths !== undefined && { nonResourceURLs: wordsOf(paths) }),
  };
}

/** A word in this vendor's spelling. */
export function spell(word: string, { groupDomain, labelDomain }: Naming): string {
  return word.replace("~", `.${groupDomain}`).replace(/^@\//, `${labelDomain}/`);
}

function wordsOf(text: string): string[] {
  return text.split(" ");
}
