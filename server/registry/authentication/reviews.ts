/**
 * The reviews of authentication: who am I (SelfSubjectReview), and whose token is this
 * (TokenReview). The latter asks the same authenticator that requests go through.
 */

import type { Clock } from "../../../storage/base/clock.js";
import type { ApiObject } from "../../api/meta.js";
import { badRequest, StatusError, unauthorized } from "../../api/status.js";
import { formatTime } from "../../api/time.js";
import type { Authenticator } from "../../authn/authenticator.js";
import { bearerTokenOf } from "../../authn/bearer-token.js";
import type { VirtualOperation, VirtualRequest } from "../../kinds/served-resource.js";
import { ANONYMOUS_USER, type UserInfo } from "../../request/user-info.js";

const GROUP = "authentication";

export interface AuthenticationReviewOptions {
  /** The authenticator of requests. */
  readonly authenticator: Authenticator;
  readonly clock: Pick<Clock, "now">;
  /**
   * Audiences of this server, which tokens without audiences are valid for; empty = it has none.
   */
  readonly apiAudiences?: readonly string[];
}

interface TokenReviewSpec {
  readonly token?: string;
  readonly audiences?: readonly string[] | null;
}

/** The group's virtual resources by "group/resource", with groups without their domain. */
export function createAuthenticationReviews(
  options: AuthenticationReviewOptions,
): Readonly<Record<string, VirtualOperation>> {
  return {
    [`${GROUP}/selfsubjectreviews`]: {
      // It has no fields, so nothing of the request is returned.
      create: async ({ object: { apiVersion, kind }, user }) => ({
        kind,
        apiVersion,
        metadata: { creationTimestamp: formatTime(options.clock.now()) },
        status: { userInfo: toUserInfo(user) },
      }),
    },
    [`${GROUP}/tokenreviews`]: {
      create: (request, signal) => reviewToken(options, request, signal),
    },
  };
}

async function reviewToken(
  { authenticator, apiAudiences = [] }: AuthenticationReviewOptions,
  { object }: VirtualRequest,
  signal: AbortSignal,
): Promise<ApiObject> {
  const { token = "", audiences } = (object.spec ?? {}) as TokenReviewSpec;
  if (token === "") throw badRequest("token is required for TokenReview in authentication");
  const hasAudiences = audiences !== undefined && audiences !== null && audiences.length > 0;
  const wanted = hasAudiences ? audiences : apiAudiences;
  try {
    const user = await identify(authenticator, token, wanted, signal);
    if (user === undefined) return refused(object, INVALID);
    // An authenticator without audiences vouches for this server's own (S2-TR-07).
    const valid = user.audiences ?? wanted.filter((audience) => apiAudiences.includes(audience));
    if (wanted.length > 0 && valid.length === 0) return refused(object, INVALID);
    const status = {
      authenticated: true,
      user: toUserInfo(user),
      ...(valid.length === 0 ? {} : { audiences: [...valid] }),
    };
    return { ...object, status };
  } catch (error) {
    // An invalid token is a result here, not an error of the request.
    if (!(error instanceof StatusError) || error.code !== 401) throw error;
    return refused(object, error.message === "Unauthorized" ? INVALID : error.message);
  }
}

const INVALID = "invalid bearer token";

function refused(object: ApiObject, error: string): ApiObject {
  return { ...object, status: { authenticated: false, error } };
}

/** The user of a token, authenticated as in a request that has only this header. */
async function identify(
  authenticator: Authenticator,
  token: string,
  audiences: readonly string[],
  signal: AbortSignal,
): Promise<UserInfo | undefined> {
  // Node shows each byte of a header as one character.
  const sent = Buffer.from(token, "utf8").toString("latin1");
  const headers = { authorization: `Bearer ${sent}` };
  // A token with a space in it would be truncated.
  if (bearerTokenOf(headers) !== sent) throw unauthorized();
  const facts = {
    headers,
    socket: undefined,
    path: "",
    ...(audiences.length === 0 ? {} : { audiences }),
  };
  const user = await authenticator.authenticate(facts, { signal });
  return user?.name === ANONYMOUS_USER ? undefined : user;
}

function toUserInfo({ name, uid, groups, extra }: UserInfo): Record<string, unknown> {
  return {
    username: name,
    ...(uid === "" ? {} : { uid }),
    groups: [...groups],
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}
