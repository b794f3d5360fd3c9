/**
 * SubjectRules: what a user may do in a namespace, as far as authorizers can list it, for reviews
 * (S2-SAR-04). An authorizer that keeps rules is a RulesResolver; one that asks somebody else for each
 * decision says that its list is incomplete.
 */
import type { UserInfo } from "../request/user-info.js";

export interface SubjectRules {
  readonly resourceRules: readonly {
    readonly verbs: readonly string[];
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly resourceNames?: readonly string[];
  }[];
  readonly nonResourceRules: readonly {
    readonly verbs: readonly string[];
    readonly nonResourceURLs: readonly string[];
  }[];
  /** Whether there may be more than is listed. */
  readonly incomplete: boolean;
  readonly evaluationError?: string;
}

/** Lists rules; implemented by authorizers that keep them (RBAC). */
export interface RulesResolver {
  rulesFor(user: UserInfo, namespace: string, signal: AbortSignal): Promise<SubjectRules>;
}

const ALL: SubjectRules = Object.freeze({
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
  incomplete: false,
});

const NONE: SubjectRules = Object.freeze({
  resourceRules: [],
  nonResourceRules: [],
  incomplete: false,
});

/** Of AlwaysAllow. */
export const allowsEverything: RulesResolver = { rulesFor: () => Promise.resolve(ALL) };

/** Of AlwaysDeny. */
export const allowsNothing: RulesResolver = { rulesFor: () => Promise.resolve(NONE) };

/** Members of these groups may do everything; nobody else anything. */
export function allowsGroups(groups: readonly string[]): RulesResolver {
  const privileged = new Set(groups);
  return {
    rulesFor: ({ groups: own }) =>
      Promise.resolve(own.some((group) => privileged.has(group)) ? ALL : NONE),
  };
}

/** Of an authorizer that keeps no list, such as a webhook. @param name "webhook" */
export function cannotList(name: string): RulesResolver {
  const evaluationError = `${name} authorizer does not support user rule resolution`;
  return { rulesFor: () => Promise.resolve({ ...NONE, incomplete: true, evaluationError }) };
}

/** The lists of several authorizers, one after the other. */
export function unionOfRules(members: readonly RulesResolver[]): RulesResolver {
  return {
    async rulesFor(user, namespace, signal) {
      const lists = await Promise.all(
        members.map((member) => member.rulesFor(user, namespace, signal)),
      );
      const errors = lists.flatMap(({ evaluationError }) => evaluationError ?? []);
      return {
        resourceRules: lists.flatMap(({ resourceRules }) => resourceRules),
        nonResourceRules: lists.flatMap(({ nonResourceRules }) => nonResourceRules),
        incomplete: lists.some(({ incomplete }) => incomplete),
        ...(errors.length > 0 && { evaluationError: errors.join(", ") }),
      };
    },
  };
}
