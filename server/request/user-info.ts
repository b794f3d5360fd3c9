/**
 * Who makes a request, as the authenticators found out. Plain frozen values; whoever changes an
 * identity (impersonation) makes a new one.
 */

export interface UserInfo {
  readonly name: string;
  /** "" when the authenticator knows none. */
  readonly uid: string;
  readonly groups: readonly string[];
  /** Further facts by key, such as the id of the credential; opaque to this server. */
  readonly extra: Readonly<Record<string, readonly string[]>>;
  /** Of the audiences asked for, those that the credential is for; absent = it names none. */
  readonly audiences?: readonly string[];
}

/** Members may do everything (S2-AZ-17). */
export const MASTERS_GROUP = "system:masters";
/** Every user whom an authenticator accepted is a member (S2-REQ-04). */
export const AUTHENTICATED_GROUP = "system:authenticated";
export const UNAUTHENTICATED_GROUP = "system:unauthenticated";
export const ANONYMOUS_USER = "system:anonymous";

/** A frozen user; what is left out is empty. */
export function createUser(user: Pick<UserInfo, "name"> & Partial<UserInfo>): UserInfo {
  return Object.freeze({
    name: user.name,
    uid: user.uid ?? "",
    groups: Object.freeze([...(user.groups ?? [])]),
    extra: Object.freeze({ ...user.extra }),
    ...(user.audiences === undefined ? {} : { audiences: Object.freeze([...user.audiences]) }),
  });
}

/** Who writes when no request asked for it: the server itself, in its control loops and clean-ups. */
export const SERVER_USER = createUser({ name: "system:apiserver", groups: [MASTERS_GROUP] });
