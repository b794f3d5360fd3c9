/**
 * The reviews of authentication: who am I (SelfSubjectReview), and whose token is this
 * (TokenReview). The latter asks the same authenticator that requests go through.
 */
import type { ApiObject } from "../../api/meta.js";
import { badRequest, StatusError } from "../../api/status.js";
import type { Authenticator } from "../../authn/authenticator.js";
import { ANONYMOUS_USER, type UserInfo } from "../../request/user-info.js";
import type { VirtualRequest, VirtualResource } from "../generic/served-resource.js";

const GROUP = "authentication";

/** The virtual resources of the group, by "group/resource" with groups without their domain. */
export function createAuthenticationReviews(options: {
  readonly authenticator: Authenticator;
}): Readonly<Record<string, VirtualResource>> {
  return {
    [`${GROUP}/selfsubjectreviews`]: {
      create: async ({ object, user }) => ({ ...object, status: { userInfo: toUserInfo(user) } }),
    },
    [`${GROUP}/tokenreviews`]: {
      create: (request, signal) => reviewToken(options.authenticator, request, signal),
    },
  };
}

async function reviewToken(
  authenticator: Authenticator,
  { object }: VirtualRequest,
  signal: AbortSignal,
): Promise<ApiObject> {
  const { token = "" } = (object.spec ?? {}) as { token?: string };
  if (token === "") throw badRequest("token is required for TokenReview in authentication");
  const facts = { headers: { authorization: `Bearer ${token}` }, socket: undefined, path: "" };
  try {
    const user = await authenticator.authenticate(facts, { signal });
    if (user === undefined || user.name === ANONYMOUS_USER) {
      return { ...object, status: { authenticated: false } };
    }
    return { ...object, status: { authenticated: true, user: toUserInfo(user) } };
  } catch (error) {
    // A token that is no good is an answer here, not an error of the request.
    if (!(error instanceof StatusError) || error.code !== 401) throw error;
    const why = error.message === "Unauthorized" ? "invalid bearer token" : error.message;
    return { ...object, status: { authenticated: false, error: why } };
  }
}

function toUserInfo({ name, uid, groups, extra }: UserInfo): Record<string, unknown> {
  return {
    username: name,
    ...(uid === "" ? {} : { uid }),
    groups: [...groups],
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}
