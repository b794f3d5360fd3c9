/** A registry whose writes are judged by user-defined rules only. */

import type { AdmissionPlugin, RuleFinding } from "../../admission/admission.js";
import { AdmissionChain } from "../../admission/chain.js";
import type { AskForPermission } from "../../admission/matching/authorizer-answers.js";
import type { RuleContext, RuleMetrics } from "../../admission/matching/rule-context.js";
import { choosePlugins } from "../../admission/plugins.js";
import { createRules, type RulePlugins } from "../../admission/rule-plugins.js";
import { WebhookCaller } from "../../admission/webhooks/webhook-caller.js";
import { applyMergePatch } from "../../api/merge-patch.js";
import type { ApiObject, JsonObject, JsonValue } from "../../api/meta.js";
import { compileSelector } from "../../api/selectors.js";
import { resolveService } from "../../outbound/services.js";
import type { Registry, WriteOptions } from "../registry.js";
import { createObject } from "../write/create.js";
import { deleteObject } from "../write/delete.js";
import { deleteCollection } from "../write/delete-collection.js";
import { patchObject, updateObject } from "../write/update.js";
import {
  inputOf,
  noSignal,
  openRegistryHarness,
  type RegistryHarness,
  writeOptions,
} from "./registry-harness.js";

/** The result of one write. */
export interface Written {
  readonly object: ApiObject & { readonly [member: string]: JsonValue };
  readonly warnings: readonly string[];
  readonly annotations: ReadonlyMap<string, string>;
}

export interface RuleHarness extends AsyncDisposable {
  readonly base: RegistryHarness;
  readonly registry: Registry;
  /** Counters by "metric label label". */
  readonly counts: Map<string, number>;
  permissions: AskForPermission;
  /** "group/version/resource" or "resource" of v1 of the core. */
  create(resource: string, value: JsonObject, changes?: Changes): Promise<Written>;
  patch(resource: string, name: string, change: JsonObject, changes?: Changes): Promise<Written>;
  /** PUT of a whole object. */
  replace(resource: string, name: string, value: JsonObject, changes?: Changes): Promise<Written>;
  remove(resource: string, name: string, changes?: Changes): Promise<void>;
  /** Deletes the collection of what has the label. */
  sweep(resource: string, label: string, changes?: Changes): Promise<void>;
}

export interface Changes extends Partial<WriteOptions> {
  /** "default" unless given; "" for none. */
  readonly namespace?: string;
  readonly subresource?: string;
  readonly explain?: (finding: RuleFinding) => void;
  /** The client's signal, which may abort. */
  readonly signal?: AbortSignal;
}

/** The same plugins that a server has, on this registry. */
export function createRulesFor(
  registry: Registry,
  context: Pick<RuleContext, "ask" | "metrics" | "exclusions">,
): RulePlugins {
  const { view, naming, catalog } = registry;
  const whole: RuleContext = {
    ...context,
    view,
    naming,
    catalog,
    nowMs: () => performance.now(),
  };
  const caller = new WebhookCaller({
    naming,
    resolve: (service) => resolveService({ view, naming, usesEndpoints: true }, service),
  });
  return createRules(whole, { mutating: caller, validating: caller });
}

export async function openRuleHarness(
  others: readonly AdmissionPlugin[] = [],
  exclusions: RuleContext["exclusions"] = [],
): Promise<RuleHarness> {
  const base = await openRegistryHarness();
  const counts = new Map<string, number>();
  const { plugins, passingRules } = createRulesFor(base.registry, {
    ask: (...asked) => harness.permissions(...asked),
    metrics: countingRuleMetrics(counts),
    exclusions,
  });
  const chosen = choosePlugins([...others, ...plugins], { enabled: [], disabled: [] });
  const registry: Registry = {
    ...base.registry,
    admission: new AdmissionChain(chosen),
    passingRules,
  };
  const served = (text: string, subresource = "") => {
    const [resource = "", version = "v1", group = ""] = text.split("/").reverse();
    return base.part(group, version, resource, subresource);
  };
  const about = (
    resource: ReturnType<typeof served>,
    { namespace, explain, ...changes }: Changes,
  ) => {
    const annotations = new Map<string, string>();
    const options = {
      ...writeOptions(changes),
      remarks: {
        annotate: (key: string, value: string) => void annotations.set(key, value),
        ...(explain !== undefined && { explain }),
      },
    };
    return {
      resource,
      namespace: resource.isNamespaced ? (namespace ?? "default") : "",
      options,
      annotations,
    };
  };
  const harness: RuleHarness = {
    base,
    registry,
    counts,
    permissions: () => ({ isAllowed: false, reason: "", error: "" }),
    async create(text, value, { signal = noSignal, ...changes } = {}) {
      const { annotations, ...target } = about(served(text), changes);
      const input = inputOf(value);
      const { bytes } = await createObject(registry, { ...target, input }, signal);
      return { object: JSON.parse(bytes.toString()), ...target.options, annotations };
    },
    async patch(text, name, change, { subresource = "", ...changes } = {}) {
      const { annotations, ...target } = about(served(text, subresource), changes);
      const patch = (current: JsonValue) => applyMergePatch(current, change);
      const whole = { ...target, name, subresource, patch };
      const { bytes } = await patchObject(registry, whole, noSignal);
      return { object: JSON.parse(bytes.toString()), ...target.options, annotations };
    },
    async replace(text, name, value, changes = {}) {
      const { annotations, ...target } = about(served(text), changes);
      const whole = { ...target, name, subresource: "", input: inputOf(value) };
      const { bytes } = await updateObject(registry, whole, noSignal);
      return { object: JSON.parse(bytes.toString()), ...target.options, annotations };
    },
    async sweep(text, label, changes = {}) {
      const { annotations: _annotations, options, ...target } = about(served(text), changes);
      const { isDryRun, user, warn, remarks } = options;
      const selector = compileSelector({ namespace: target.namespace, labelSelector: label });
      const whole = { ...target, selector, options: { isDryRun }, user, warn, remarks };
      await deleteCollection(registry, whole, noSignal);
    },
    async remove(text, name, changes = {}) {
      const { annotations: _annotations, options, ...target } = about(served(text), changes);
      const { isDryRun, user, warn, remarks } = options;
      const whole = { ...target, name, options: { isDryRun }, user, warn, remarks };
      await deleteObject(registry, whole, noSignal);
    },
    [Symbol.asyncDispose]: () => base[Symbol.asyncDispose](),
  };
  await harness.create("namespaces", { metadata: { name: "default" } });
  return harness;
}

export function countingRuleMetrics(counts: Map<string, number>): RuleMetrics {
  const add = (...labels: (string | number | boolean)[]) => {
    const key = labels.join(" ");
    counts.set(key, (counts.get(key) ?? 0) + 1);
  };
  return {
    webhookAsked: ({ name, step, code, isRejected }) => add("asked", name, step, code, isRejected),
    webhookRefused: ({ name, step, error, code }) => add("refused", name, step, error, code),
    webhookFailedOpen: (name, step) => add("open", name, step),
    conditionsEvaluated: ({ name, kind }, { matches }) => add("conditions", kind, name, matches),
    policyValidated: ({ policy, binding, enforcement, error }) =>
      add("validated", policy, binding, enforcement, error),
    policyMutated: ({ policy, binding, error }) => add("mutated", policy, binding, error),
  };
}
