/**
 * --authorization-mode and --authorization-webhook-*, translated into an AuthorizationConfiguration
 * (S2-AZ-07, S2-AZ-08), with kube-apiserver's error messages.
 */
import {
  AUTHORIZER_TYPES,
  type AuthorizationConfiguration,
  AuthorizationConfigurationError,
  WEBHOOK_TYPE,
  type WebhookConfiguration,
} from "./authorization-configuration.js";
import { nameOfMode } from "./validate-configuration.js";

/** The flags, by their Config keys. */
export interface AuthorizationFlags {
  readonly authorizationModes: readonly string[];
  readonly authorizationPolicyFile: string;
  readonly authorizationWebhookConfigFile: string;
  readonly authorizationWebhookVersion: string;
  readonly authorizationWebhookCacheAuthorizedTtlMs: number;
  readonly authorizationWebhookCacheUnauthorizedTtlMs: number;
}

/** Name of the flags' only webhook, in metrics and logs. */
const LEGACY_WEBHOOK_NAME = "default";
/** There are no flags for timeout and policy; these are their fixed values. */
const LEGACY_TIMEOUT_MS = 30_000;

/** @throws {AuthorizationConfigurationError} */
export function toAuthorizationConfiguration(
  flags: AuthorizationFlags,
): AuthorizationConfiguration {
  const { authorizationModes: modes } = flags;
  if (modes.length === 0) throw problem("at least one authorization-mode must be passed");
  for (const mode of modes) {
    if (!AUTHORIZER_TYPES.includes(mode)) {
      throw problem(
        `authorization-mode ${JSON.stringify(mode)} is not a valid mode; known are ${AUTHORIZER_TYPES.join(", ")}`,
      );
    }
  }
  const repeated = modes.find((mode, index) => modes.indexOf(mode) !== index);
  if (repeated !== undefined) {
    const list = `[${modes.map((mode) => JSON.stringify(mode)).join(" ")}]`;
    throw problem(`authorization-mode ${list} has mode specified more than once`);
  }
  checkFile(modes, "ABAC", flags.authorizationPolicyFile, {
    missing: "authorization-mode ABAC's authorization policy file not passed",
    superfluous: "cannot specify --authorization-policy-file without mode ABAC",
  });
  checkFile(modes, WEBHOOK_TYPE, flags.authorizationWebhookConfigFile, {
    missing: "authorization-mode Webhook's authorization config file not passed",
    superfluous: "cannot specify --authorization-webhook-config-file without mode Webhook",
  });
  return {
    authorizers: modes.map((type) =>
      type === WEBHOOK_TYPE
        ? { type, name: LEGACY_WEBHOOK_NAME, webhook: toWebhook(flags) }
        : { type, name: nameOfMode(type) },
    ),
  };
}

function checkFile(
  modes: readonly string[],
  mode: string,
  file: string,
  messages: { readonly missing: string; readonly superfluous: string },
): void {
  if (modes.includes(mode) && file === "") throw problem(messages.missing);
  if (!modes.includes(mode) && file !== "") throw problem(messages.superfluous);
}

function toWebhook(flags: AuthorizationFlags): WebhookConfiguration {
  const authorizedTtlMs = flags.authorizationWebhookCacheAuthorizedTtlMs;
  const unauthorizedTtlMs = flags.authorizationWebhookCacheUnauthorizedTtlMs;
  return {
    authorizedTtlMs,
    cacheAuthorizedRequests: authorizedTtlMs > 0,
    unauthorizedTtlMs,
    cacheUnauthorizedRequests: unauthorizedTtlMs > 0,
    timeoutMs: LEGACY_TIMEOUT_MS,
    subjectAccessReviewVersion: flags.authorizationWebhookVersion,
    matchConditionSubjectAccessReviewVersion: "v1",
    failurePolicy: "NoOpinion",
    connectionInfo: {
      type: "KubeConfigFile",
      kubeConfigFile: flags.authorizationWebhookConfigFile,
    },
    matchConditions: [],
  };
}

function problem(message: string): AuthorizationConfigurationError {
  return new AuthorizationConfigurationError(message);
}
