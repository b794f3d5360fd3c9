/**
 * What a user may do, as a list: the answer of a SelfSubjectRulesReview. An authorizer that keeps
 * rules can list them; one that asks somebody else, or looks at the state of things, can not, and the
 * list says that it is incomplete. A list is for showing, never for deciding.
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
  /** Whether there may be more than is listed. */
  readonly incomplete: boolean;
  readonly evaluationError?: string;
}

/** An authorizer that can list, or say that it can not. */
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

/** The list of an authorizer that keeps none, such as "webhook". */
export function unlistable(authorizer: string): RulesSource {
  const rules: SubjectRules = Object.freeze({
    ...NO_RULES,
    incomplete: true,
    evaluationError: `${authorizer} authorizer does not support user rule resolution`,
  });
  return { rulesFor: () => rules };
}

/** The lists of several authorizers as one, in their order. */
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
