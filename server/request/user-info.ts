/**
 * The authenticated user of a request. Values are plain and frozen; impersonation makes a new one.
 */

export interface UserInfo {
  readonly name: string;
  /** "" when the authenticator knows none. */
  readonly uid: string;
  readonly groups: readonly string[];
  /** Further attributes by key, such as the id of the credential; opaque to this server. */
  readonly extra: Readonly<Record<string, readonly string[]>>;
  /** Those of the requested audiences that the credential is valid for; absent = it names none. */
  readonly audiences?: readonly string[];
}

/** Members have all permissions (S2-AZ-17). */
export const MASTERS_GROUP = "system:masters";
/** Every authenticated user is a member (S2-REQ-04). */
export const AUTHENTICATED_GROUP = "system:authenticated";
export const UNAUTHENTICATED_GROUP = "system:unauthenticated";
export const ANONYMOUS_USER = "system:anonymous";

/** A frozen user; omitted fields are empty. */
export function createUser(user: Pick<UserInfo, "name"> & Partial<UserInfo>): UserInfo {
  return Object.freeze({
    name: user.name,
    uid: user.uid ?? "",
    groups: Object.freeze([...(user.groups ?? [])]),
    extra: Object.freeze({ ...user.extra }),
    ...(user.audiences === undefined ? {} : { audiences: Object.freeze([...user.audiences]) }),
  });
}

/** The user of writes without a request: the server's own control loops and clean-ups. */
export const SERVER_USER = createUser({ name: "system:apiserver", groups: [MASTERS_GROUP] });
