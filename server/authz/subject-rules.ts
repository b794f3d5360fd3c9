/**
 * A user's permissions as a list: the answer of a SelfSubjectRulesReview. An authorizer with rules can
 * list them; one that asks a service, or depends on stored objects, cannot, and the list is marked
 * incomplete. A list is for display, never for decisions.
 */
import type { UserInfo } from "../request/user-info.js";

export interface ResourceRules {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
}

export interface PathRules {
  readonly verbs: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

export interface SubjectRules {
  readonly resourceRules: readonly ResourceRules[];
  readonly nonResourceRules: readonly PathRules[];
  /** Whether the list may lack permissions. */
  readonly incomplete: boolean;
  readonly evaluationError?: string;
}

/** An authorizer that can list permissions, or report that it cannot. */
export interface RulesSource {
  rulesFor(
    user: UserInfo,
    namespace: string,
    signal: AbortSignal,
  ): SubjectRules | Promise<SubjectRules>;
}

export const NO_RULES: SubjectRules = Object.freeze({
  resourceRules: [],
  nonResourceRules: [],
  incomplete: false,
});

/** The list of an authorizer without rules, for example "webhook". */
export function unlistable(authorizer: string): RulesSource {
  const rules: SubjectRules = Object.freeze({
    ...NO_RULES,
    incomplete: true,
    evaluationError: `${authorizer} authorizer does not support user rule resolution`,
  });
  return { rulesFor: () => rules };
}

/** Combines the lists of several authorizers, in their order. */
export function combineRules(sources: readonly RulesSource[]): {
  rulesFor(user: UserInfo, namespace: string, signal: AbortSignal): Promise<SubjectRules>;
} {
  return {
    async rulesFor(user, namespace, signal) {
      const lists: SubjectRules[] = [];
      for (const source of sources) lists.push(await source.rulesFor(user, namespace, signal));
      const errors = lists.flatMap(({ evaluationError = "" }) =>
        evaluationError === "" ? [] : [evaluationError],
      );
      const text = errors.length > 1 ? `[${errors.join(", ")}]` : errors[0];
      return {
        resourceRules: lists.flatMap(({ resourceRules }) => resourceRules),
        nonResourceRules: lists.flatMap(({ nonResourceRules }) => nonResourceRules),
        incomplete: lists.some(({ incomplete }) => incomplete),
        ...(text === undefined ? {} : { evaluationError: text }),
      };
    },
  };
}
