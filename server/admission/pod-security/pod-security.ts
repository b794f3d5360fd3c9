/**
 * PodSecurity: pods have to meet the standard that their namespace's labels name. Those that enforce
 * refuse pods; those that warn tell whoever writes pods, or things that make pods, what would not do;
 * those that audit say it in the audit record.
 * A namespace that gets stricter tells which of its pods would not be let in any more.
 */
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import { invalid } from "../../api/status.js";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  type Handles,
  PODS,
  refuse,
  WRITES,
} from "../admission.js";
import { type AdmissionView, eachObject } from "../stored-objects.js";
import { type NamespacePolicy, type ParsedPolicy, parsePolicy } from "./namespace-policy.js";
import type { Container, PodParts, PodSpec } from "./pod-parts.js";
import { NO_SETTINGS, type PodSecuritySettings } from "./settings.js";
import {
  compareLevels,
  describeFindings,
  evaluatePod,
  formatStandard,
  type Standard,
} from "./standards.js";

/** Pods that are checked when a namespace gets stricter; takes some milliseconds. */
const PODS_CHECKED_MAX = 3_000;

/** Subresources of a pod that do not write it, and its status. */
const OTHER_SUBRESOURCES: readonly string[] = [
  "attach",
  "binding",
  "eviction",
  "exec",
  "log",
  "portforward",
  "proxy",
  "status",
];

/** The path of the pod template in workload objects, by "group/resource". */
const TEMPLATES: ReadonlyMap<string, readonly string[]> = new Map([
  ["/podtemplates", ["template"]],
  ["/replicationcontrollers", ["spec", "template"]],
  ["apps/daemonsets", ["spec", "template"]],
  ["apps/deployments", ["spec", "template"]],
  ["apps/replicasets", ["spec", "template"]],
  ["apps/statefulsets", ["spec", "template"]],
  ["batch/cronjobs", ["spec", "jobTemplate", "spec", "template"]],
  ["batch/jobs", ["spec", "template"]],
]);

export class PodSecurity implements AdmissionPlugin {
  readonly name = "PodSecurity";
  readonly #view: AdmissionView;
  readonly #naming: Naming;
  readonly #settings: PodSecuritySettings;

  constructor(view: AdmissionView, naming: Naming, settings = NO_SETTINGS) {
    this.#view = view;
    this.#naming = naming;
    this.#settings = settings;
  }

  readonly handles: Handles = (operation, { group, resource }, subresource) => {
    if (!WRITES.includes(operation)) return false;
    if (group === "" && resource === "pods") return !OTHER_SUBRESOURCES.includes(subresource);
    if (subresource !== "") return false;
    return (group === "" && resource === "namespaces") || TEMPLATES.has(`${group}/${resource}`);
  };

  validate(attributes: AdmissionAttributes): Promise<void> | undefined {
    const { resource, object } = attributes;
    if (object === undefined) return undefined;
    if (resource.resource === "namespaces") return this.#checkNamespace(attributes, object);
    if (resource.resource === "pods") this.#checkPod(attributes, object);
    else this.#checkTemplate(attributes, object);
    return undefined;
  }

  #checkNamespace(attributes: AdmissionAttributes, object: ApiObject): Promise<void> | undefined {
    const { oldObject } = attributes;
    const next = this.#parse(object.metadata.labels);
    const before = oldObject && this.#parse(oldObject.metadata.labels);
    const text = JSON.stringify(next.errors);
    if (next.errors.length > 0 && text !== JSON.stringify(before?.errors)) {
      throw invalid({ group: "", kind: "Namespace" }, object.metadata.name ?? "", next.errors);
    }
    const { enforce } = next.policy;
    if (before === undefined || !isStricter(enforce, before.policy.enforce)) return undefined;
    if (this.#settings.namespaces.has(object.metadata.name ?? "")) return undefined;
    return this.#warnOfPods(attributes, object.metadata.name ?? "", enforce);
  }

  #checkPod(attributes: AdmissionAttributes, pod: ApiObject): void {
    const { namespace, oldObject } = attributes;
    if (this.#isExempt(attributes)) return;
    const { policy, errors } = this.#parsedPolicyOf(namespace);
    const { enforce } = policy;
    if (errors.length === 0 && isPrivileged(policy)) {
      this.#note(attributes, "enforce-policy", formatStandard(enforce));
      return;
    }
    if (oldObject !== undefined && !isSignificant(specOf(pod), specOf(oldObject))) return;
    if (this.#isExemptClass(attributes, specOf(pod))) return;
    const parts = this.#partsOf(pod);
    this.#note(attributes, "enforce-policy", formatStandard(enforce));
    this.#noteViolations(attributes, { policy, errors }, parts);
    const findings = evaluatePod(enforce, parts);
    if (findings.length > 0) {
      const standard = JSON.stringify(formatStandard(enforce));
      throw refuse(attributes, `violates PodSecurity ${standard}: ${describeFindings(findings)}`);
    }
    warnOf(attributes, policy.warn, parts);
  }

  /** The author of a template is warned at once about violations of its pods. */
  #checkTemplate(attributes: AdmissionAttributes, object: ApiObject): void {
    if (this.#isExempt(attributes)) return;
    const { policy, errors } = this.#parsedPolicyOf(attributes.namespace);
    const { audit, warn } = policy;
    if (audit.level === "privileged" && warn.level === "privileged") return;
    const { group, resource } = attributes.resource;
    let template: unknown = object;
    for (const field of TEMPLATES.get(`${group}/${resource}`) ?? []) {
      template = (template as Record<string, unknown> | undefined)?.[field];
    }
    if (template === undefined || template === null) return;
    if (this.#isExemptClass(attributes, specOf(template as ApiObject))) return;
    const parts = this.#partsOf(template);
    this.#noteViolations(attributes, { policy, errors }, parts);
    warnOf(attributes, warn, parts);
  }

  /** Whether the configuration leaves out the namespace or the user, which is noted. */
  #isExempt(attributes: AdmissionAttributes): boolean {
    const { namespaces, usernames } = this.#settings;
    const isNamespace = namespaces.has(attributes.namespace);
    if (!isNamespace && !usernames.has(attributes.user.name)) return false;
    this.#note(attributes, "exempt", isNamespace ? "namespace" : "user");
    return true;
  }

  #isExemptClass(attributes: AdmissionAttributes, spec: PodSpec): boolean {
    const { runtimeClassName } = spec as { readonly runtimeClassName?: string | null };
    if (!this.#settings.runtimeClasses.has(runtimeClassName ?? "")) return false;
    this.#note(attributes, "exempt", "runtimeClass");
    return true;
  }

  /** For the audit record, under kube-apiserver's keys. */
  #note(attributes: AdmissionAttributes, key: string, text: string): void {
    attributes.annotate?.(`pod-security.${this.#naming.labelDomain}/${key}`, text);
  }

  #noteViolations(
    attributes: AdmissionAttributes,
    { policy: { audit }, errors }: ParsedPolicy,
    parts: PodParts,
  ): void {
    if (errors.length > 0) {
      const text = errors.map(({ field, message }) => `${field}: ${message}`).join(", ");
      this.#note(attributes, "error", `failed to parse policy: ${text}`);
    }
    const text = describeViolations(audit, parts);
    if (text !== undefined) this.#note(attributes, "audit-violations", text);
  }

  /** In turns: there may be thousands of pods, and each may be large. */
  async #warnOfPods(
    { warn }: AdmissionAttributes,
    namespace: string,
    enforce: Standard,
  ): Promise<void> {
    const { tree } = this.#view.partition("core/pods").snapshot();
    const count = tree.count(namespace, "");
    let checked = 0;
    /** By violation. */
    const bad = new Map<string, { readonly first: string; others: number }>();
    for await (const pod of eachObject(this.#view, PODS, namespace)) {
      if (checked === PODS_CHECKED_MAX) break;
      checked++;
      const findings = evaluatePod(enforce, this.#partsOf(pod));
      if (findings.length === 0) continue;
      const reasons = findings.map(({ reason }) => reason).join(", ");
      const known = bad.get(reasons);
      if (known === undefined) bad.set(reasons, { first: pod.metadata.name ?? "", others: 0 });
      else known.others++;
    }
    if (checked === PODS_CHECKED_MAX && checked < count) {
      warn(
        `new PodSecurity enforce level only checked against the first ${checked} of ${count} existing pods`,
      );
    }
    if (bad.size === 0) return;
    const standard = JSON.stringify(formatStandard(enforce));
    warn(
      `existing pods in namespace ${JSON.stringify(namespace)} violate the new PodSecurity enforce level ${standard}`,
    );
    const lines = [...bad].map(([reasons, { first, others }]) => {
      const more = others === 1 ? " (and 1 other pod)" : ` (and ${others} other pods)`;
      return `${first}${others === 0 ? "" : more}: ${reasons}`;
    });
    for (const line of lines.sort()) warn(line);
  }

  #parsedPolicyOf(namespace: string): ParsedPolicy {
    return this.#parse(this.#view.partition("core/namespaces").get(namespace)?.labels ?? {});
  }

  #parse(labels: Readonly<Record<string, string>> = {}): ParsedPolicy {
    return parsePolicy(labels, this.#naming.labelDomain, this.#settings.defaults);
  }

  /** Of a pod or a pod template. */
  #partsOf({
    metadata,
    spec,
  }: {
    readonly metadata?: ApiObject["metadata"];
    readonly spec?: unknown;
  }): PodParts {
    const { labelDomain } = this.#naming;
    const annotations = metadata?.annotations ?? {};
    return { spec: (spec ?? {}) as PodSpec, annotations, labelDomain };
  }
}

function warnOf({ warn }: AdmissionAttributes, standard: Standard, parts: PodParts): void {
  const text = describeViolations(standard, parts);
  if (text !== undefined) warn(text);
}

/** Undefined where there are none. */
function describeViolations(standard: Standard, parts: PodParts): string | undefined {
  if (standard.level === "privileged") return undefined;
  const findings = evaluatePod(standard, parts);
  if (findings.length === 0) return undefined;
  const text = JSON.stringify(formatStandard(standard));
  return `would violate PodSecurity ${text}: ${describeFindings(findings)}`;
}

function isPrivileged({ enforce, audit, warn }: NamespacePolicy): boolean {
  return [enforce, audit, warn].every(({ level }) => level === "privileged");
}

function specOf({ spec }: ApiObject): PodSpec {
  return (spec ?? {}) as PodSpec;
}

/** Whether pods that passed before may fail now. */
function isStricter(next: Standard, before: Standard): boolean {
  if (next.level === "privileged") return false;
  return next.minor !== before.minor || compareLevels(next.level, before.level) > 0;
}

/** Whether an update changes fields that the standards check; for running pods only images. */
function isSignificant(next: PodSpec, before: PodSpec): boolean {
  const fields = ["containers", "initContainers", "ephemeralContainers"] as const;
  return fields.some((field) => {
    const known = new Map((before[field] ?? []).map(({ name, image }) => [name, image]));
    const containers: readonly Container[] = next[field] ?? [];
    return (
      containers.length !== (before[field] ?? []).length ||
      containers.some(({ name, image }) => known.get(name) !== image)
    );
  });
}
