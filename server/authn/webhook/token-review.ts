/**
 * TokenReview requests to a webhook and their answers, in v1 and v1beta1 (S2-TR-04..09), which differ
 * only in the version.
 */
import type { Naming } from "../../api/naming.js";
import { type Review, ReviewError } from "../../client/review-client.js";
import { createUser, type UserInfo } from "../../request/user-info.js";
import { withAuthenticatedGroup } from "../authenticator.js";

export type TokenReviewVersion = "v1" | "v1beta1";

export interface TokenReviewStatus {
  /** undefined: not authenticated. */
  readonly user: UserInfo | undefined;
  /** The token's audiences; undefined = the webhook did not check audiences. */
  readonly audiences: readonly string[] | undefined;
  /** Why the token was not authenticated; "" = no reason given. */
  readonly error: string;
}

/** The limit of a webhook's error message to the client. */
const ERROR_CHARS_MAX = 1024;

export function toTokenReview(
  token: string,
  audiences: readonly string[],
  version: TokenReviewVersion,
  naming: Naming,
): Review {
  return {
    apiVersion: `authentication.${naming.groupDomain}/${version}`,
    kind: "TokenReview",
    spec: audiences.length === 0 ? { token } : { token, audiences },
    status: { user: {} },
  };
}

/** @throws {ReviewError} the status is not one of a TokenReview */
export function parseTokenReviewStatus(
  status: Readonly<Record<string, unknown>>,
): TokenReviewStatus {
  const { authenticated = false, audiences, error = "" } = status;
  if (typeof authenticated !== "boolean") throw malformed("authenticated is not a boolean");
  if (typeof error !== "string") throw malformed("error is not a string");
  return {
    user: authenticated ? parseUser(status.user) : undefined,
    audiences: textsOf(audiences, "audiences"),
    // The error has no meaning when the token is valid.
    error: authenticated ? "" : error.slice(0, ERROR_CHARS_MAX),
  };
}

function parseUser(value: unknown): UserInfo {
  if (typeof value !== "object" || value === null) throw malformed("user is not an object");
  const { username, uid = "", groups, extra = {} } = value as Record<string, unknown>;
  if (typeof username !== "string" || username === "") throw malformed("user.username is missing");
  if (typeof uid !== "string") throw malformed("user.uid is not a string");
  if (typeof extra !== "object" || extra === null || Array.isArray(extra)) {
    throw malformed("user.extra is not an object");
  }
  // One frozen user per token, because later steps cache by its identity.
  return withAuthenticatedGroup(
    createUser({
      name: username,
      uid,
      groups: textsOf(groups, "user.groups") ?? [],
      extra: Object.fromEntries(
        Object.entries(extra).map(([key, values]) => [
          key,
          textsOf(values, "a value of user.extra") ?? [],
        ]),
      ),
    }),
  );
}

/** undefined for an absent or empty list. */
function textsOf(value: unknown, what: string): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value) || value.some((item) => typeof item !== "string")) {
    throw malformed(`${what} is not a list of strings`);
  }
  return value.length === 0 ? undefined : (value as string[]);
}

function malformed(why: string): ReviewError {
  return new ReviewError("error", `the webhook's answer is malformed: ${why}`);
}
