/**
 * Wiring of user-defined rules: webhooks and policies, which read the view, call the authorizer for
 * expressions, and count in kube-apiserver's metrics.
 */
import type { AskForPermission } from "../admission/matching/authorizer-answers.js";
import type { RuleContext } from "../admission/matching/rule-context.js";
import { createRules, type RulePlugins } from "../admission/rule-plugins.js";
import type { RulePlugin } from "../admission/static/admission-configuration.js";
import { WebhookCaller } from "../admission/webhooks/webhook-caller.js";
import type { AuthorizationResult, Authorizer } from "../authz/authorizer.js";
import type { Config } from "../config/config.js";
import type { ExcludedResource } from "../config/policy-exclusions.js";
import type { CatalogSource } from "../kinds/live-catalog.js";
import type { Metrics } from "../metrics/metrics.js";
import { resolveService } from "../outbound/services.js";
import { parseQuery } from "../request/query.js";
import { createUser } from "../request/user-info.js";
import type { AdmissionFiles } from "./admission-files.js";
import { createRuleMetrics } from "./admission-metrics.js";
import type { Authorization } from "./authorization.js";
import type { OutgoingPlaces } from "./outgoing-places.js";
import type { Views } from "./storage.js";

export interface RuleParts {
  readonly config: Config;
  readonly catalog: CatalogSource;
  readonly views: Pick<Views, "view">;
  readonly authorization: Pick<Authorization, "authorizer">;
  readonly metrics: Metrics;
  readonly outgoing: OutgoingPlaces;
  readonly files: Pick<AdmissionFiles, "manifests" | "credentials">;
  readonly exclusions: readonly ExcludedResource[];
}

export function createRulePlugins(parts: RuleParts): RulePlugins {
  const { config, catalog, views, authorization, metrics, outgoing, files, exclusions } = parts;
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
  const callerOf = (plugin: RulePlugin) => {
    const caller = new WebhookCaller({
      naming,
      resolve: (service) => resolveService({ view, naming, usesEndpoints }, service),
      credentialsFor: files.credentials.get(plugin),
    });
    outgoing.add("webhook", caller);
    return caller;
  };
  return createRules(context, {
    mutating: callerOf("MutatingAdmissionWebhook"),
    validating: callerOf("ValidatingAdmissionWebhook"),
  });
}

/** The server's authorizer, as expressions and plugins ask it. */
export function asksFor(authorizer: Authorizer): AskForPermission {
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
    const result = authorizer.authorize({ user, info }, { signal });
    return result instanceof Promise ? result.then(toAnswer) : toAnswer(result);
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

function toAnswer({ decision, reason, error }: AuthorizationResult) {
  const text = error instanceof Error ? error.message : error === undefined ? "" : String(error);
  return { isAllowed: decision === "allow", reason, error: text };
}
