/** PrivilegedGroupsAuthorizer: members of these groups may do everything (S2-AZ-17). */
import {
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Authorizer,
  NO_OPINION,
} from "./authorizer.js";

const ALLOW: AuthorizationResult = Object.freeze({ decision: "allow", reason: "" });

export class PrivilegedGroupsAuthorizer implements Authorizer {
  readonly name = "privileged-groups";
  readonly #groups: ReadonlySet<string>;

  constructor(groups: readonly string[]) {
    this.#groups = new Set(groups);
  }

  authorize({ user }: AuthorizationAttributes): AuthorizationResult {
    for (const group of user.groups) if (this.#groups.has(group)) return ALLOW;
    return NO_OPINION;
  }
}
