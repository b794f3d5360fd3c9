/**
 * Wiring of the rules that users bring: webhooks and policies, which read the view, ask the authorizer
 * on behalf of expressions, and count in upstream's measures.
 */
import type { AskForPermission } from "../admission/matching/authorizer-answers.js";
import type { RuleContext, RuleMetrics } from "../admission/matching/rule-context.js";
import { createRules, type RulePlugins } from "../admission/rule-plugins.js";
import type { RulePlugin } from "../admission/static/admission-configuration.js";
import { WebhookCaller } from "../admission/webhooks/webhook-caller.js";
import type { Authorizer, Verdict } from "../authz/authorizer.js";
import { resolveService } from "../client/service-address.js";
import type { Config } from "../config/config.js";
import type { ExcludedResource } from "../config/policy-exclusions.js";
import type { Metrics } from "../http/metrics.js";
import type { CatalogSource } from "../kinds/live-catalog.js";
import { parseQuery } from "../request/query.js";
import { createUser } from "../request/user-info.js";
import type { AdmissionFiles } from "./admission-files.js";
import type { Authorization } from "./authorization.js";
import type { Views } from "./storage.js";

export interface RuleParts {
  readonly config: Config;
  readonly catalog: CatalogSource;
  readonly views: Pick<Views, "view">;
  readonly authorization: Pick<Authorization, "authorizer">;
  readonly metrics: Metrics;
  readonly files: Pick<AdmissionFiles, "manifests" | "credentials">;
  readonly exclusions: readonly ExcludedResource[];
}

export function createRulePlugins(parts: RuleParts): RulePlugins {
  const { config, catalog, views, authorization, metrics, files, exclusions } = parts;
  const { naming } = config;
  const { view } = views;
  const context: RuleContext = {
    view,
    naming,
    catalog,
    ask: asksFor(authorization.authorizer),
    nowMs: () => performance.now(),
    metrics: createRuleMetrics(metrics),
    exclusions,
    ...(files.manifests !== undefined && { manifests: files.manifests }),
  };
  const usesEndpoints = config.enableAggregatorRouting;
  const callerOf = (plugin: RulePlugin) =>
    new WebhookCaller({
      naming,
      resolve: (service) => resolveService({ view, naming, usesEndpoints }, service),
      credentialsFor: files.credentials.get(plugin),
    });
  return createRules(context, {
    mutating: callerOf("MutatingAdmissionWebhook"),
    validating: callerOf("ValidatingAdmissionWebhook"),
  });
}

function asksFor(authorizer: Authorizer): AskForPermission {
  return (requester, question, signal) => {
    const { serviceAccount: account, path = "", verb, fieldSelector, labelSelector } = question;
    const user = account === undefined ? requester : accountUser(account);
    const isResourceRequest = question.path === undefined;
    const { group, resource, subresource, namespace, name } = question;
    const selectors = new URLSearchParams({
      ...(fieldSelector !== "" && { fieldSelector }),
      ...(labelSelector !== "" && { labelSelector }),
    });
    const info = {
      isResourceRequest,
      verb,
      path,
      group,
      version: "*",
      namespace,
      resource,
      subresource,
      name,
      ...(selectors.size > 0 && { query: parseQuery(selectors.toString()) }),
    };
    const verdict = authorizer.authorize({ user, info }, { signal });
    return verdict instanceof Promise ? verdict.then(toAnswer) : toAnswer(verdict);
  };
}

function accountUser({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  return createUser({
    name: `system:serviceaccount:${namespace}:${name}`,
    groups: [
      "system:serviceaccounts",
      `system:serviceaccounts:${namespace}`,
      "system:authenticated",
    ],
  });
}

function toAnswer({ decision, reason, error }: Verdict) {
  const text = error instanceof Error ? error.message : error === undefined ? "" : String(error);
  return { isAllowed: decision === "allow", reason, error: text };
}

const SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 2.5] as const;
const CODE_MAX = 600;

function createRuleMetrics(metrics: Metrics): RuleMetrics {
  const asked = metrics.counter({
    name: "apiserver_admission_webhook_request_total",
    help: "Calls of admission webhooks, by name, type, operation, code and whether they refused.",
    labelNames: ["name", "type", "operation", "code", "rejected"],
  });
  const durations = metrics.histogram({
    name: "apiserver_admission_webhook_admission_duration_seconds",
    help: "Time of calls of admission webhooks, by name, type, operation and whether they refused.",
    labelNames: ["name", "type", "operation", "rejected"],
    buckets: [...SECONDS, 10, 25],
  });
  const refused = metrics.counter({
    name: "apiserver_admission_webhook_rejection_count",
    help: "Writes refused by or because of admission webhooks.",
    labelNames: ["name", "type", "operation", "error_type", "rejection_code"],
  });
  const failedOpen = metrics.counter({
    name: "apiserver_admission_webhook_fail_open_count",
    help: "Calls of admission webhooks that failed and were ignored.",
    labelNames: ["name", "type"],
  });
  const conditionLabels = ["name", "kind", "type", "operation"] as const;
  const conditionErrors = metrics.counter({
    name: "apiserver_admission_match_condition_evaluation_errors_total",
    help: "Match conditions that could not be evaluated.",
    labelNames: conditionLabels,
  });
  const conditionExclusions = metrics.counter({
    name: "apiserver_admission_match_condition_exclusions_total",
    help: "Rules that a match condition left out.",
    labelNames: conditionLabels,
  });
  const conditionSeconds = metrics.histogram({
    name: "apiserver_admission_match_condition_evaluation_seconds",
    help: "Time in match conditions.",
    labelNames: conditionLabels,
    buckets: SECONDS,
  });
  const checks = {
    validating: policyMetrics(metrics, "validating"),
    mutating: policyMetrics(metrics, "mutating"),
  };
  return {
    webhookAsked({ name, step, operation, isRejected, code, seconds }) {
      const shown = String(Math.min(code, CODE_MAX));
      asked.add(1, name, step, operation, shown, String(isRejected));
      durations.cell(name, step, operation, String(isRejected)).observe(seconds);
    },
    webhookRefused({ name, step, operation, error, code }) {
      refused.add(1, name, step, operation, error, String(Math.min(code, CODE_MAX)));
    },
    webhookFailedOpen: (name, step) => failedOpen.add(1, name, step),
    conditionsEvaluated({ name, kind, step, operation }, { matches }, seconds) {
      conditionSeconds.cell(name, kind, step, operation).observe(seconds);
      if (matches === "unknown") conditionErrors.add(1, name, kind, step, operation);
      if (matches === false) conditionExclusions.add(1, name, kind, step, operation);
    },
    policyChecked({ kind, policy, binding, enforcement, error, seconds }) {
      const { count, latency } = checks[kind];
      count.add(1, policy, binding, error, enforcement);
      latency.cell(policy, binding, error, enforcement).observe(seconds);
    },
  };
}

function policyMetrics(metrics: Metrics, kind: "validating" | "mutating") {
  const labelNames = ["policy", "policy_binding", "error_type", "enforcement_action"];
  return {
    count: metrics.counter({
      name: `apiserver_${kind}_admission_policy_check_total`,
      help: `Checks by ${kind} admission policies, by policy, binding, error and action.`,
      labelNames,
    }),
    latency: metrics.histogram({
      name: `apiserver_${kind}_admission_policy_check_duration_seconds`,
      help: `Time of checks by ${kind} admission policies.`,
      labelNames,
      buckets: [0.0000005, 0.001, 0.01, 0.1, 1],
    }),
  };
}
