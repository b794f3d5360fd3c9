/**
 * AuditPolicy: which requests are recorded, at which level and stages (`audit.k8s.io/v1`). Rules are
 * tried in order; the first that matches decides, and a request that none matches is not recorded.
 *
 *   None             nothing
 *   Metadata         who, what, when, from where, and what became of it
 *   Request          and the object that was sent
 *   RequestResponse  and the object that was answered
 */
import type { Naming } from "../api/naming.js";
import {
  type Members,
  membersOf,
  optionalFlag,
  optionalText,
  optionalTexts,
} from "../client/members.js";
import { parseYaml, YamlSyntaxError } from "../codec/yaml.js";
import { JsonSyntaxError } from "../schema/json-parser.js";

export const AUDIT_LEVELS = ["None", "Metadata", "Request", "RequestResponse"] as const;
export type AuditLevel = (typeof AUDIT_LEVELS)[number];

export const AUDIT_STAGES = [
  "RequestReceived",
  "ResponseStarted",
  "ResponseComplete",
  "Panic",
] as const;
export type AuditStage = (typeof AUDIT_STAGES)[number];

export interface AuditedResources {
  /** "" = the core group, "*" = every group. */
  readonly group: string;
  /** "pods", "pods/log", "pods/*", "*\/scale" or "*"; none = all of the group. */
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

export interface AuditRule {
  readonly level: AuditLevel;
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly AuditedResources[];
  /** "" stands for resources without a namespace. */
  readonly namespaces: readonly string[];
  /** Exact, "*", or a prefix that ends in "*". */
  readonly nonResourceURLs: readonly string[];
  readonly omitStages: ReadonlySet<AuditStage>;
  readonly omitManagedFields: boolean;
}

export interface AuditPolicy {
  readonly rules: readonly AuditRule[];
  /** Fields that are unknown or given twice, which do not count; as kube-apiserver, they are no reason to stop. */
  readonly remarks?: readonly string[];
}

/** The policy cannot be used. The message is one line. */
export class AuditPolicyError extends Error {
  override readonly name = "AuditPolicyError";
}

const POLICY_MEMBERS = [
  "apiVersion",
  "kind",
  "metadata",
  "rules",
  "omitStages",
  "omitManagedFields",
];
const RULE_MEMBERS = [
  "level",
  "users",
  "userGroups",
  "verbs",
  "resources",
  "namespaces",
  "nonResourceURLs",
  "omitStages",
  "omitManagedFields",
];

/**
 * In force where `--audit-log-path` is given without a policy: every request once it is over, and
 * watches when they begin.
 */
export const RECORD_ALL: AuditPolicy = Object.freeze({
  rules: [
    {
      level: "Metadata" as const,
      users: [],
      userGroups: [],
      verbs: [],
      resources: [],
      namespaces: [],
      nonResourceURLs: [],
      omitStages: new Set<AuditStage>(["RequestReceived"]),
      omitManagedFields: false,
    },
  ],
});

/** @throws {AuditPolicyError} with all that is wrong */
export function parseAuditPolicy(text: string, { groupDomain }: Naming): AuditPolicy {
  const problems: string[] = [];
  const remarks: string[] = [];
  try {
    const { value, duplicateFields } = parseYaml(text);
    const root = membersOf(value, "");
    const wanted = `audit.${groupDomain}/v1`;
    if (root.kind !== "Policy" || root.apiVersion !== wanted) {
      throw new Error(`expected kind "Policy" of apiVersion "${wanted}"`);
    }
    for (const path of duplicateFields) remarks.push(`duplicate field "${path}"`);
    noteUnknown(root, "", POLICY_MEMBERS, remarks);
    const omitStages = stagesOf(root, "omitStages", problems);
    const omitsManagedFields = optionalFlag(root, "omitManagedFields");
    const rules = listOf(root, "rules", "").map((item, index) =>
      parseRule(item, `rules[${index}]`, { omitStages, omitsManagedFields }, { problems, remarks }),
    );
    if (rules.length === 0) problems.push("rules: at least one is needed");
    if (problems.length > 0) throw new Error(problems.join("; "));
    return Object.freeze({ rules, ...(remarks.length > 0 && { remarks }) });
  } catch (error) {
    const isSyntax = error instanceof YamlSyntaxError || error instanceof JsonSyntaxError;
    const message = (error as Error).message;
    throw new AuditPolicyError(isSyntax ? (message.split("\n", 1)[0] ?? "") : message, {
      cause: error,
    });
  }
}

interface Findings {
  /** Why the policy cannot be used. */
  readonly problems: string[];
  readonly remarks: string[];
}

interface PolicyDefaults {
  readonly omitStages: readonly AuditStage[];
  readonly omitsManagedFields: boolean;
}

function parseRule(
  value: unknown,
  where: string,
  defaults: PolicyDefaults,
  { problems, remarks }: Findings,
): AuditRule {
  const rule = membersOf(value, where);
  noteUnknown(rule, where, RULE_MEMBERS, remarks);
  const level = optionalText(rule, "level", where) as AuditLevel | undefined;
  if (level === undefined || !AUDIT_LEVELS.includes(level)) {
    problems.push(
      `${where}.level: ${JSON.stringify(level ?? "")} is none of ${AUDIT_LEVELS.join(", ")}`,
    );
  }
  const resources = listOf(rule, "resources", where).map((item, index) =>
    parseResources(item, `${where}.resources[${index}]`, { problems, remarks }),
  );
  const namespaces = optionalTexts(rule, "namespaces", where);
  const nonResourceURLs = optionalTexts(rule, "nonResourceURLs", where);
  if (nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0)) {
    problems.push(
      `${where}.nonResourceURLs: rules cannot apply to both regular resources and non-resource URLs`,
    );
  }
  for (const [index, url] of nonResourceURLs.entries()) {
    const path = `${where}.nonResourceURLs[${index}]`;
    if (url === "*") continue;
    if (!url.startsWith("/"))
      problems.push(`${path}: non-resource URL rules must begin with a '/' character`);
    if (url.slice(0, -1).includes("*")) {
      problems.push(
        `${path}: non-resource URL wildcards '*' must be the final character of the rule`,
      );
    }
  }
  return {
    level: level ?? "None",
    users: optionalTexts(rule, "users", where),
    userGroups: optionalTexts(rule, "userGroups", where),
    verbs: optionalTexts(rule, "verbs", where),
    resources,
    namespaces,
    nonResourceURLs,
    omitStages: new Set([...defaults.omitStages, ...stagesOf(rule, "omitStages", problems, where)]),
    omitManagedFields:
      rule.omitManagedFields === undefined || rule.omitManagedFields === null
        ? defaults.omitsManagedFields
        : optionalFlag(rule, "omitManagedFields", where),
  };
}

function parseResources(
  value: unknown,
  where: string,
  { problems, remarks }: Findings,
): AuditedResources {
  const entry = membersOf(value, where);
  noteUnknown(entry, where, ["group", "resources", "resourceNames"], remarks);
  const group = optionalText(entry, "group", where) ?? "";
  const resources = optionalTexts(entry, "resources", where);
  const resourceNames = optionalTexts(entry, "resourceNames", where);
  if (group.includes("/")) problems.push(`${where}.group: group cannot include '/'`);
  if (resourceNames.length > 0 && resources.length === 0) {
    problems.push(`${where}.resourceNames: using resourceNames requires at least one resource`);
  }
  return { group, resources, resourceNames };
}

function noteUnknown(
  members: Members,
  where: string,
  known: readonly string[],
  remarks: string[],
): void {
  for (const name of Object.keys(members)) {
    if (known.includes(name)) continue;
    remarks.push(`unknown field "${where === "" ? name : `${where}.${name}`}"`);
  }
}

function listOf(members: Members, name: string, where: string): readonly unknown[] {
  const value = members[name] ?? [];
  if (!Array.isArray(value)) {
    throw new Error(`${where === "" ? name : `${where}.${name}`}: expected a list`);
  }
  return value;
}

function stagesOf(
  members: Members,
  name: string,
  problems: string[],
  where = "",
): readonly AuditStage[] {
  return optionalTexts(members, name, where).filter((stage): stage is AuditStage => {
    const isKnown = (AUDIT_STAGES as readonly string[]).includes(stage);
    const path = where === "" ? name : `${where}.${name}`;
    if (!isKnown)
      problems.push(`${path}: ${JSON.stringify(stage)} is none of ${AUDIT_STAGES.join(", ")}`);
    return isKnown;
  });
}
