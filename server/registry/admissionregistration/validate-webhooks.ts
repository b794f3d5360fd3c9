/** Rules for webhook configurations: clients, matching rules and conditions. */

import type { Steps } from "../../../storage/base/steps.js";
import { CONDITIONS_COST_MAX } from "../../admission/matching/conditions.js";
import { CONDITION_ENVIRONMENT } from "../../admission/matching/request-environment.js";
import {
  duplicateValue,
  invalidValue,
  invalidValues,
  requiredValue,
  tooManyItems,
} from "../../api/field-errors.js";
import { goQuote } from "../../api/go-text.js";
import type { ApiObject } from "../../api/meta.js";
import type { FieldError } from "../../api/status.js";
import { checkDns1035Label, checkDnsSubdomain } from "../../api/validation-names.js";
import {
  type LabelSelector,
  validateLabelKey,
  validateLabelSelector,
} from "../../api/validation-selectors.js";
import {
  type Maybe,
  repeats,
  validateChoice,
  validateServicePort,
  type Whole,
} from "../../api/validation-values.js";
import type { CelEnvironment } from "../../cel/environment.js";
import type { WebhookClientConfig } from "../../client/webhook-places.js";
import { type Rules, validated } from "../generic/validated.js";
import { withoutOldProblems } from "./old-problems.js";
import {
  expressionByExpression,
  validateExpression,
  validateTotalCost,
} from "./validate-expression.js";

interface Configuration extends ApiObject {
  webhooks?: Maybe<readonly Webhook[]>;
}

interface Webhook {
  readonly name: string;
  readonly clientConfig?: Maybe<WebhookClientConfig>;
  readonly rules?: Maybe<readonly Rule[]>;
  readonly namespaceSelector?: Maybe<LabelSelector>;
  readonly objectSelector?: Maybe<LabelSelector>;
  readonly sideEffects?: Maybe<string>;
  readonly timeoutSeconds?: Maybe<Whole>;
  readonly admissionReviewVersions?: Maybe<readonly string[]>;
  readonly matchConditions?: Maybe<
    readonly { readonly name: string; readonly expression: string }[]
  >;
}

interface Rule {
  readonly operations?: Maybe<readonly string[]>;
  readonly apiGroups?: Maybe<readonly string[]>;
  readonly apiVersions?: Maybe<readonly string[]>;
  readonly resources?: Maybe<readonly string[]>;
}

const REVIEW_VERSIONS = ["v1", "v1beta1"];
const NO_SIDE_EFFECTS = ["None", "NoneOnDryRun"];
const TIMEOUT_SECONDS_MAX = 30;
const CONDITIONS_MAX = 64;

const webhookRules: Rules<Configuration> = {
  object: expressionByExpression(function* ({ webhooks = [] }: Configuration, errors) {
    const names = new Set<string>();
    for (const [index, hook] of (webhooks ?? []).entries()) {
      const field = `webhooks[${index}]`;
      yield* validateWebhook(hook, field, errors);
      if (hook.name !== "" && names.has(hook.name)) {
        errors.push(duplicateValue(`${field}.name`, hook.name));
      }
      names.add(hook.name);
    }
  }),
};

function* validateWebhook(hook: Webhook, field: string, errors: FieldError[]): Steps<void> {
  validateHookName(hook.name, `${field}.name`, errors);
  hook.rules?.forEach((rule, index) => {
    validateRule(rule, `${field}.rules[${index}]`, errors);
  });
  const { sideEffects, timeoutSeconds } = hook;
  const effects = `${field}.sideEffects`;
  if (sideEffects === undefined || sideEffects === null) {
    errors.push(requiredValue(effects, `must specify one of ${NO_SIDE_EFFECTS.join(", ")}`));
  } else validateChoice(sideEffects, effects, NO_SIDE_EFFECTS, errors);
  const timeout = timeoutSeconds ?? undefined;
  if (timeout !== undefined && (timeout < 1 || timeout > TIMEOUT_SECONDS_MAX)) {
    const why = `the timeout value must be between 1 and ${TIMEOUT_SECONDS_MAX} seconds`;
    errors.push(invalidValue(`${field}.timeoutSeconds`, timeout, why));
  }
  validateLabelSelector(hook.namespaceSelector, `${field}.namespaceSelector`, errors);
  validateLabelSelector(hook.objectSelector, `${field}.objectSelector`, errors);
  validateClientConfig(hook.clientConfig ?? {}, `${field}.clientConfig`, errors);
  const conditions = hook.matchConditions ?? [];
  yield* validateConditions(conditions, `${field}.matchConditions`, CONDITION_ENVIRONMENT, errors);
  validateReviewVersions(hook, `${field}.admissionReviewVersions`, errors);
}

function validateHookName(name: string, field: string, errors: FieldError[]): void {
  if (name === "") return;
  const messages = checkDnsSubdomain(name);
  errors.push(...invalidValues(field, name, messages));
  if (messages.length > 0 || name.split(".").length >= 3) return;
  const why = "should be a domain with at least three segments separated by dots";
  errors.push(invalidValue(field, name, why));
}

export function validateRule(rule: Rule, field: string, errors: FieldError[]): void {
  const whole = {
    operations: "if '*' is present, must not specify other operations",
    apiGroups: "if '*' is present, must not specify other API groups",
    apiVersions: "if '*' is present, must not specify other API versions",
  };
  for (const member of ["operations", "apiGroups", "apiVersions"] as const) {
    const values = rule[member] ?? [];
    const at = `${field}.${member}`;
    if (values.length === 0) errors.push(requiredValue(at));
    if (values.length > 1 && values.includes("*")) {
      errors.push(invalidValue(at, values, whole[member]));
    }
  }
  rule.apiVersions?.forEach((version, index) => {
    if (version === "") errors.push(requiredValue(`${field}.apiVersions[${index}]`));
  });
  validateResources(rule.resources ?? [], `${field}.resources`, errors);
}

/** Resources with or without a subresource after a slash; a star stands for all of either. */
function validateResources(
  resources: readonly string[],
  field: string,
  errors: FieldError[],
): void {
  if (resources.length === 0) errors.push(requiredValue(field));
  const allParts = new Set<string>();
  const allOwners = new Set<string>();
  let hasPlain = false;
  resources.forEach((text, index) => {
    const at = `${field}[${index}]`;
    if (text === "") {
      errors.push(requiredValue(at));
      return;
    }
    const [owner = "", part] = text.split("/", 2);
    if (part === undefined) {
      // As with kube-apiserver the last one of these decides.
      hasPlain = text !== "*";
      return;
    }
    if (allParts.has(owner)) {
      const why = `if '${owner}/*' is present, must not specify ${text}`;
      errors.push(invalidValue(at, text, why));
    }
    if (allOwners.has(part)) {
      const why = `if '*/${part}' is present, must not specify ${text}`;
      errors.push(invalidValue(at, text, why));
    }
    if (part === "*") allParts.add(owner);
    if (owner === "*") allOwners.add(part);
  });
  if (resources.length > 1 && resources.includes("*/*")) {
    const why = "if '*/*' is present, must not specify other resources";
    errors.push(invalidValue(field, resources, why));
  }
  if (hasPlain && resources.includes("*")) {
    const why = "if '*' is present, must not specify other resources without subresources";
    errors.push(invalidValue(field, resources, why));
  }
}

/** A webhook's client: a URL or a Service. */
export function validateClientConfig(
  { url, service }: WebhookClientConfig,
  field: string,
  errors: FieldError[],
): void {
  const hasUrl = url !== undefined && url !== null;
  if (hasUrl === Boolean(service)) {
    errors.push(requiredValue(field, "exactly one of url or service is required"));
  } else if (hasUrl) {
    validateUrl(url, `${field}.url`, errors);
  } else if (service) {
    const { name, namespace, path, port } = service;
    const at = `${field}.service`;
    // Clients know each of the two by the other's field: kube-apiserver takes one for the other.
    if (namespace === "") errors.push(requiredValue(`${at}.name`));
    if (name === "") errors.push(requiredValue(`${at}.namespace`));
    validateServicePort(port, `${at}.port`, errors);
    if (path) validateUrlPath(path, `${field}.service.path`, errors);
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for them
const CONTROL = /[\x00-\x1f\x7f]/;
/** What of ASCII a host may not have; its escapes are looked at before. */
const NO_HOST = /[ #/?@\\^`{|}]/;
const URL_FORM = "; desired format: https://host[/path]";

/** Scheme, authority, path, query and fragment (RFC 3986, appendix B). */
const URL_PARTS = /^(?:([a-z][a-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/is;

function validateUrl(text: string, field: string, errors: FieldError[]): void {
  const [, scheme = "", authority = "", path = "", query = "", fragment = ""] =
    URL_PARTS.exec(text) ?? [];
  const userEnd = authority.lastIndexOf("@");
  const host = authority.slice(userEnd + 1);
  const why = CONTROL.test(text)
    ? "net/url: invalid control character in URL"
    : whyNoUrl(host, [authority, path, fragment]);
  if (why !== undefined) {
    const parsed = `parse ${goQuote(text)}: ${why}`;
    errors.push(requiredValue(field, `url must be a valid URL: ${parsed}${URL_FORM}`));
    return;
  }
  const refuse = (value: string, problem: string) =>
    errors.push(invalidValue(field, value, `${problem}${URL_FORM}`));
  if (scheme.toLowerCase() !== "https") {
    refuse(scheme.toLowerCase(), "'https' is the only allowed URL scheme");
  }
  if (host === "") refuse("", "host must be specified");
  const forbid = (what: string, value: string) => {
    if (value === "") return;
    errors.push(invalidValue(field, value, `${what} not permitted in the URL`));
  };
  forbid("user information is", authority.slice(0, Math.max(userEnd, 0)));
  forbid("fragments are", fragment);
  forbid("query parameters are", query);
}

/** What keeps a text from being a URL; a port of any size is none of it. */
function whyNoUrl(host: string, escaped: readonly string[]): string | undefined {
  for (const part of escaped) {
    const wrong = /%(?![0-9a-f]{2}).{0,2}/is.exec(part);
    if (wrong !== null) return `invalid URL escape ${JSON.stringify(wrong[0])}`;
  }
  const odd = NO_HOST.exec(host);
  if (odd !== null) return `invalid character ${JSON.stringify(odd[0])} in host name`;
  if (host.startsWith("[") && !host.includes("]")) return "missing ']' in host";
  const rest = host.slice(host.lastIndexOf("]") + 1);
  const port = rest.includes(":") ? rest.slice(rest.indexOf(":")) : ":";
  return /^:\d*$/.test(port) ? undefined : `invalid port ${JSON.stringify(port)} after host`;
}

function validateUrlPath(path: string, field: string, errors: FieldError[]): void {
  if (path === "/") return;
  const refuse = (why: string) => errors.push(invalidValue(field, path, why));
  if (path === "//") {
    refuse("segment[0] may not be empty");
    return;
  }
  if (!path.startsWith("/")) refuse("must start with a '/'");
  // The first character is taken for the slash, whatever it is.
  const segments = path.slice(1).replace(/\/$/, "").split("/");
  for (const [index, segment] of segments.entries()) {
    const problems = segment === "" ? [] : checkDnsSubdomain(segment);
    if (segment === "") refuse(`segment[${index}] may not be empty`);
    for (const why of problems) refuse(`segment[${index}]: ${why}`);
  }
}

/**
 * Checks the names and number of conditions, and that each compiles within the shared cost budget.
 */
export function* validateConditions(
  conditions: NonNullable<NonNullable<Webhook["matchConditions"]>>,
  field: string,
  environment: CelEnvironment,
  errors: FieldError[],
): Steps<void> {
  if (conditions.length > CONDITIONS_MAX) {
    errors.push(tooManyItems(field, conditions.length, CONDITIONS_MAX));
  }
  const budget = { environment, costMax: CONDITIONS_COST_MAX };
  let cost = 0;
  const names = new Set<string>();
  for (const [index, { name, expression }] of conditions.entries()) {
    yield;
    const at = `${field}[${index}].expression`;
    if ((expression ?? "").trim() === "") errors.push(requiredValue(at));
    else cost += validateExpression(expression.trim(), ["bool"], at, budget, errors);
    if (name === "") {
      errors.push(requiredValue(`${field}[${index}].name`));
      continue;
    }
    validateLabelKey(name, `${field}[${index}].name`, errors);
    if (names.has(name)) errors.push(duplicateValue(`${field}[${index}].name`, name));
    names.add(name);
  }
  validateTotalCost("all match conditions", cost, field, CONDITIONS_COST_MAX, errors);
}

function validateReviewVersions(hook: Webhook, field: string, errors: FieldError[]): void {
  const versions = hook.admissionReviewVersions ?? [];
  if (versions.length === 0) {
    errors.push(requiredValue(field, `must specify one of ${REVIEW_VERSIONS.join(", ")}`));
    return;
  }
  const isRepeated = repeats();
  versions.forEach((version, index) => {
    const at = `${field}[${index}]`;
    if (isRepeated(version)) {
      errors.push(invalidValue(at, version, "duplicate version"));
      return;
    }
    errors.push(...invalidValues(at, version, checkDns1035Label(version)));
  });
  if (versions.some((version) => REVIEW_VERSIONS.includes(version))) return;
  const why = `must include at least one of ${REVIEW_VERSIONS.join(", ")}`;
  errors.push(invalidValue(field, versions, why));
}

export const validatesWebhooks = withoutOldProblems(validated(webhookRules));
