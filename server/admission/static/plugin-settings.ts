/**
 * The settings of plugins that are no rules of users: the sections of the file of
 * `--admission-control-config-file`, checked and in the plugins' own terms. A section that cannot be used
 * ends the start.
 */
import type { Naming } from "../../api/naming.js";
import { Problems } from "../../api/problems.js";
import { checkDnsLabel, checkDnsSubdomain } from "../../api/validation-names.js";
import { validateTolerations } from "../../api/validation-tolerations.js";
import {
  type Members,
  membersOf,
  optionalFlag,
  optionalText,
  optionalTexts,
} from "../../client/members.js";
import {
  EVENT_BUCKETS_DEFAULT,
  type EventLimit,
  type EventLimitType,
} from "../event-rate-limit.js";
import type { ImagePolicySettings } from "../image-policy.js";
import type { NodeSelectors } from "../pod-node-selector.js";
import { type PodSecuritySettings, readStandardDefaults } from "../pod-security/settings.js";
import type { TolerationLists } from "../pod-toleration-restriction.js";
import type { LimitedResource } from "../quota/limited-resources.js";
import type { ScopeTerm } from "../quota/quota-object.js";
import type { Toleration } from "../tolerations.js";

export interface ImagePolicyFile extends ImagePolicySettings {
  readonly kubeConfigFile: string;
  readonly retryBackoffMs: number;
}

/** By plugin; a missing one has no section. */
export interface PluginSettings {
  EventRateLimit?: readonly EventLimit[];
  ImagePolicyWebhook?: ImagePolicyFile;
  PodNodeSelector?: NodeSelectors;
  PodSecurity?: PodSecuritySettings;
  PodTolerationRestriction?: TolerationLists;
  ResourceQuota?: readonly LimitedResource[];
}

export type SettingsPlugin = keyof PluginSettings;

export const SETTINGS_PLUGINS: readonly SettingsPlugin[] = [
  "EventRateLimit",
  "ImagePolicyWebhook",
  "PodNodeSelector",
  "PodSecurity",
  "PodTolerationRestriction",
  "ResourceQuota",
];

/** Reads one section into `settings`. @throws {Error} */
export function readSettings(
  plugin: SettingsPlugin,
  members: Members,
  where: string,
  settings: PluginSettings,
  { groupDomain }: Naming,
): void {
  const typed = (group: string, versions: readonly string[], kind: string) => {
    const apiVersions = versions.map((version) => `${group}.${groupDomain}/${version}`);
    refuseOtherType(members, apiVersions, kind);
  };
  switch (plugin) {
    case "EventRateLimit":
      typed("eventratelimit.admission", ["v1alpha1"], "Configuration");
      settings.EventRateLimit = readEventLimits(members, where);
      return;
    case "ImagePolicyWebhook":
      settings.ImagePolicyWebhook = readImagePolicy(members, where);
      return;
    case "PodNodeSelector":
      settings.PodNodeSelector = readNodeSelectors(members, where);
      return;
    case "PodSecurity":
      typed(
        "pod-security.admission.config",
        ["v1", "v1beta1", "v1alpha1"],
        "PodSecurityConfiguration",
      );
      settings.PodSecurity = readPodSecurity(members, where);
      return;
    case "PodTolerationRestriction":
      typed("podtolerationrestriction.admission", ["v1alpha1"], "Configuration");
      settings.PodTolerationRestriction = {
        defaults: readTolerations(members, "default", where),
        allowed: readTolerations(members, "whitelist", where),
      };
      return;
    case "ResourceQuota":
      // The form of before v1 has a group and a kind of its own.
      if (members.kind === "Configuration") {
        typed("resourcequota.admission", ["v1beta1", "v1alpha1"], "Configuration");
      } else typed("apiserver.config", ["v1"], "ResourceQuotaConfiguration");
      settings.ResourceQuota = readLimitedResources(members, where);
      return;
  }
}

const LIMIT_TYPES: readonly EventLimitType[] = ["Server", "Namespace", "User", "SourceAndObject"];

function readEventLimits(members: Members, where: string): readonly EventLimit[] {
  refuseUnknown(members, ["apiVersion", "kind", "limits"], where);
  const limits = listOf(members, "limits", where);
  if (limits.length === 0) throw new Error(`${where}.limits: Invalid value: must not be empty`);
  return limits.map((entry, index) => {
    const at = `${where}.limits[${index}]`;
    const limit = membersOf(entry, at);
    refuseUnknown(limit, ["type", "qps", "burst", "cacheSize"], at);
    const named = optionalText(limit, "type", at) ?? "";
    const type = LIMIT_TYPES.find((known) => known === named);
    if (type === undefined) {
      const known = LIMIT_TYPES.map((one) => JSON.stringify(one)).join(", ");
      throw new Error(
        `${at}.type: Unsupported value: ${JSON.stringify(named)}: supported values: ${known}`,
      );
    }
    const positive = (name: "qps" | "burst") => {
      const value = numberOf(limit, name, at);
      if (value > 0) return value;
      throw new Error(`${at}.${name}: Invalid value: ${value}: must be positive`);
    };
    const cacheSize = numberOf(limit, "cacheSize", at);
    if (cacheSize < 0) {
      throw new Error(`${at}.cacheSize: Invalid value: ${cacheSize}: must not be negative`);
    }
    const kept = cacheSize === 0 ? EVENT_BUCKETS_DEFAULT : cacheSize;
    return { type, qps: positive("qps"), burst: positive("burst"), cacheSize: kept };
  });
}

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

function readImagePolicy(members: Members, where: string): ImagePolicyFile {
  refuseUnknown(members, ["imagePolicy"], where);
  const at = `${where}.imagePolicy`;
  const policy = membersOf(members.imagePolicy ?? {}, at);
  const known = ["kubeConfigFile", "allowTTL", "denyTTL", "retryBackoff", "defaultAllow"];
  refuseUnknown(policy, known, at);
  /** 0 = the default, -1 = none. */
  const duration = (name: string, unitMs: number, [least, most, preset]: readonly number[]) => {
    const value = numberOf(policy, name, at);
    if (value === -1) return 0;
    if (value === 0) return preset as number;
    const ms = value * unitMs;
    if (ms >= (least as number) && ms <= (most as number)) return ms;
    throw new Error(
      `${at}.${name}: valid value is between ${least} ms and ${most} ms, got ${ms} ms`,
    );
  };
  const kubeConfigFile = optionalText(policy, "kubeConfigFile", at) ?? "";
  if (kubeConfigFile === "") throw new Error(`${at}.kubeConfigFile: Required value`);
  const ttl = [SECOND_MS, 30 * MINUTE_MS] as const;
  return {
    kubeConfigFile,
    allowTtlMs: duration("allowTTL", SECOND_MS, [...ttl, 5 * MINUTE_MS]),
    denyTtlMs: duration("denyTTL", SECOND_MS, [...ttl, 30 * SECOND_MS]),
    retryBackoffMs: duration("retryBackoff", 1, [1, 5 * MINUTE_MS, 500]),
    defaultAllow: optionalFlag(policy, "defaultAllow", at),
  };
}

function readNodeSelectors(members: Members, where: string): NodeSelectors {
  refuseUnknown(members, ["podNodeSelectorPluginConfig"], where);
  const at = `${where}.podNodeSelectorPluginConfig`;
  const selectors = membersOf(members.podNodeSelectorPluginConfig ?? {}, at);
  const names = Object.keys(selectors);
  return new Map(names.map((name) => [name, optionalText(selectors, name, at) ?? ""]));
}

function readPodSecurity(members: Members, where: string): PodSecuritySettings {
  refuseUnknown(members, ["apiVersion", "kind", "defaults", "exemptions"], where);
  const at = `${where}.exemptions`;
  const exemptions = membersOf(members.exemptions ?? {}, at);
  refuseUnknown(exemptions, ["usernames", "namespaces", "runtimeClasses"], at);
  const set = (name: string, check = (_: string): readonly string[] => []): ReadonlySet<string> => {
    const texts = optionalTexts(exemptions, name, at);
    const refuse = (text: string, why: string): never => {
      throw new Error(`${at}.${name}: Invalid value: ${JSON.stringify(text)}: ${why}`);
    };
    for (const [index, text] of texts.entries()) {
      const [problem] = check(text);
      if (problem !== undefined) refuse(text, problem);
      if (text === "" || texts.indexOf(text) !== index) refuse(text, "empty or there twice");
    }
    return new Set(texts);
  };
  return {
    defaults: readStandardDefaults(members.defaults ?? {}, `${where}.defaults`),
    usernames: set("usernames"),
    namespaces: set("namespaces", checkDnsLabel),
    runtimeClasses: set("runtimeClasses", checkDnsSubdomain),
  };
}

function readLimitedResources(members: Members, where: string): readonly LimitedResource[] {
  refuseUnknown(members, ["apiVersion", "kind", "limitedResources"], where);
  return listOf(members, "limitedResources", where).map((entry, index) => {
    const at = `${where}.limitedResources[${index}]`;
    const limited = membersOf(entry, at);
    refuseUnknown(limited, ["apiGroup", "resource", "matchContains", "matchScopes"], at);
    const resource = optionalText(limited, "resource", at) ?? "";
    if (resource === "") throw new Error(`${at}.resource: Required value`);
    return {
      apiGroup: optionalText(limited, "apiGroup", at) ?? "",
      resource,
      matchContains: optionalTexts(limited, "matchContains", at),
      matchScopes: listOf(limited, "matchScopes", at).map((term, position) =>
        readScopeTerm(term, `${at}.matchScopes[${position}]`),
      ),
    };
  });
}

function readScopeTerm(value: unknown, where: string): ScopeTerm {
  const term = membersOf(value, where);
  refuseUnknown(term, ["scopeName", "operator", "values"], where);
  return {
    scopeName: optionalText(term, "scopeName", where) ?? "",
    operator: optionalText(term, "operator", where) ?? "",
    values: optionalTexts(term, "values", where),
  };
}

const TOLERATION_FIELDS = ["key", "operator", "value", "effect", "tolerationSeconds"];

function readTolerations(members: Members, name: string, where: string): readonly Toleration[] {
  refuseUnknown(members, ["apiVersion", "kind", "default", "whitelist"], where);
  const tolerations = listOf(members, name, where).map((entry, index) => {
    const at = `${where}.${name}[${index}]`;
    const toleration = membersOf(entry, at);
    refuseUnknown(toleration, TOLERATION_FIELDS, at);
    for (const field of TOLERATION_FIELDS.slice(0, 4)) optionalText(toleration, field, at);
    return toleration as Toleration;
  });
  const problems = new Problems();
  validateTolerations(tolerations, `${where}.${name}`, problems);
  const [first] = problems;
  if (first !== undefined) throw new Error(`${first.field}: ${first.message}`);
  return tolerations;
}

function listOf(members: Members, name: string, where: string): readonly unknown[] {
  const list = members[name] ?? [];
  if (!Array.isArray(list)) throw new Error(`${where}.${name}: expected a list`);
  return list;
}

/** A whole number; 0 if there is none. */
function numberOf(members: Members, name: string, where: string): number {
  const value = members[name] ?? 0;
  if (typeof value !== "number" || !Number.isInteger(value)) {
    throw new Error(`${where}.${name}: expected a whole number`);
  }
  return value;
}

export function refuseOtherType(file: Members, versions: readonly string[], kind: string): void {
  const { apiVersion, kind: found } = file;
  if (found === kind && versions.includes(String(apiVersion))) return;
  const written = `${JSON.stringify(found)} of ${JSON.stringify(apiVersion)}`;
  throw new Error(`expected ${kind} of ${versions.join(" or ")}, not ${written}`);
}

export function refuseUnknown(members: Members, known: readonly string[], where: string): void {
  const unknown = Object.keys(members).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new Error(
      `unknown field ${JSON.stringify(where === "" ? unknown : `${where}.${unknown}`)}`,
    );
  }
}
