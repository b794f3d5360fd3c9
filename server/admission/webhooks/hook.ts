/** One webhook of a configuration, as admission uses it: parsed once, compiled on first use. */
import type { ApiObject } from "../../api/meta.js";
import type { LabelSelector } from "../../api/validation-selectors.js";
import type { Maybe } from "../../api/validation-values.js";
import type { CelEnvironment } from "../../cel/environment.js";
import type { WebhookClientConfig } from "../../client/webhook-places.js";
import {
  type Condition,
  compileConditions,
  type WrittenCondition,
} from "../matching/conditions.js";
import type { MatchCriteria } from "../matching/criteria-index.js";
import type { ResourceRule } from "../matching/resource-rules.js";

/** The stored form, with defaults. */
interface WrittenHook {
  readonly name: string;
  readonly clientConfig?: Maybe<WebhookClientConfig>;
  readonly rules?: Maybe<readonly ResourceRule[]>;
  readonly failurePolicy?: Maybe<string>;
  readonly matchPolicy?: Maybe<string>;
  readonly namespaceSelector?: Maybe<LabelSelector>;
  readonly objectSelector?: Maybe<LabelSelector>;
  readonly sideEffects?: Maybe<string>;
  readonly timeoutSeconds?: Maybe<number>;
  readonly admissionReviewVersions?: Maybe<readonly string[]>;
  readonly reinvocationPolicy?: Maybe<string>;
  readonly matchConditions?: Maybe<readonly WrittenCondition[]>;
}

export type ReviewVersion = "v1" | "v1beta1";

export interface Hook {
  readonly configuration: string;
  readonly name: string;
  /** Unique among the webhooks of its kind of configuration. */
  readonly id: string;
  readonly clientConfig: WebhookClientConfig;
  readonly ignoresFailures: boolean;
  readonly hasNoSideEffects: boolean;
  readonly timeoutMs: number;
  /** undefined = no supported version. */
  readonly reviewVersion: ReviewVersion | undefined;
  readonly isReinvocable: boolean;
  readonly conditions: readonly Condition[];
  readonly criteria: MatchCriteria;
}

const TIMEOUT_SECONDS_DEFAULT = 10;
const REVIEW_VERSIONS: readonly ReviewVersion[] = ["v1", "v1beta1"];

/** The webhooks of a configuration, in order. @param isStatic whether it comes from a file */
export function readHooks(
  configuration: ApiObject,
  environment: CelEnvironment,
  isStatic: boolean,
): Hook[] {
  const { metadata, webhooks } = configuration as ApiObject & {
    readonly webhooks?: Maybe<readonly WrittenHook[]>;
  };
  const { name: owner = "" } = metadata;
  return (webhooks ?? []).map((hook) => ({
    configuration: owner,
    name: hook.name,
    id: `${isStatic ? "manifest/" : ""}${owner}/${hook.name}`,
    clientConfig: hook.clientConfig ?? {},
    ignoresFailures: hook.failurePolicy === "Ignore",
    hasNoSideEffects: hook.sideEffects === "None" || hook.sideEffects === "NoneOnDryRun",
    timeoutMs: (hook.timeoutSeconds ?? TIMEOUT_SECONDS_DEFAULT) * 1000,
    reviewVersion: (hook.admissionReviewVersions ?? []).find(isReviewVersion),
    isReinvocable: hook.reinvocationPolicy === "IfNeeded",
    conditions: compileConditions(environment, hook.matchConditions ?? []),
    criteria: {
      rules: hook.rules ?? [],
      matchPolicy: hook.matchPolicy,
      namespaceSelector: hook.namespaceSelector,
      objectSelector: hook.objectSelector,
    },
  }));
}

function isReviewVersion(version: string): version is ReviewVersion {
  return (REVIEW_VERSIONS as readonly string[]).includes(version);
}
