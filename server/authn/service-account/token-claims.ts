/**
 * The claims of a service account token. A *bound* token is short-lived and names the objects that bound
 * its life: its account, and possibly a pod, a Secret or a node. A *legacy* token is stored in a Secret
 * and does not expire. Both map to the same user (S2-SA-04, S2-SA-05).
 */
import type { Naming } from "../../api/naming.js";
import { createUser, type UserInfo } from "../../request/user-info.js";
import { withAuthenticatedGroup } from "../authenticator.js";

/** An object that a token names; uid "" = unknown when the token was issued. */
export interface ObjectClaim {
  readonly name: string;
  readonly uid: string;
}

export interface AccountClaim extends ObjectClaim {
  readonly namespace: string;
}

/** The objects that a bound token lives with, besides its account. */
export interface Binding {
  readonly pod?: ObjectClaim;
  readonly secret?: ObjectClaim;
  /** The pod's node or, without a pod, the node that the token is bound to. */
  readonly node?: ObjectClaim;
}

export interface BoundClaims extends Binding {
  readonly account: AccountClaim;
  readonly audiences: readonly string[];
  /** Seconds since 1970, as all times of a token. */
  readonly issuedAt: number;
  readonly notBefore: number;
  readonly expiresAt: number;
  /** When the client should renew the token, if its expiry was extended. */
  readonly warnAfter?: number;
  readonly id: string;
}

export interface LegacyClaims {
  readonly account: AccountClaim;
  readonly secretName: string;
  /** Empty in tokens that we issue. */
  readonly audiences: readonly string[];
}

const USER_PREFIX = "system:serviceaccount:";
const ALL_ACCOUNTS_GROUP = "system:serviceaccounts";

/** The user name of a service account. */
function accountUserName(namespace: string, name: string): string {
  return `${USER_PREFIX}${namespace}:${name}`;
}

/** `iss` of legacy tokens. */
export function legacyIssuer(naming: Naming): string {
  return `${naming.vendor}/serviceaccount`;
}

export function encodeBoundClaims(
  naming: Naming,
  issuer: string,
  claims: BoundClaims,
): Record<string, unknown> {
  const { account, audiences, pod, secret, node, warnAfter } = claims;
  return {
    aud: [...audiences],
    exp: claims.expiresAt,
    iat: claims.issuedAt,
    iss: issuer,
    jti: claims.id,
    [naming.labelDomain]: {
      namespace: account.namespace,
      ...(node === undefined ? {} : { node: encodeObject(node) }),
      ...(pod === undefined ? {} : { pod: encodeObject(pod) }),
      ...(secret === undefined ? {} : { secret: encodeObject(secret) }),
      serviceaccount: encodeObject(account),
      ...(warnAfter === undefined ? {} : { warnafter: warnAfter }),
    },
    nbf: claims.notBefore,
    sub: accountUserName(account.namespace, account.name),
  };
}

function encodeObject({ name, uid }: ObjectClaim): Record<string, string> {
  return uid === "" ? { name } : { name, uid };
}

/** undefined if the claims are not those of a bound token or contradict each other. */
export function decodeBoundClaims(
  naming: Naming,
  claims: Readonly<Record<string, unknown>>,
): BoundClaims | undefined {
  const own = membersOf(claims[naming.labelDomain]);
  const account = decodeObject(own?.serviceaccount);
  const namespace = textOf(own?.namespace);
  const audiences = decodeAudiences(claims.aud);
  const { exp, iat = 0, nbf = 0, jti = "" } = claims;
  if (account === undefined || namespace === "" || audiences === undefined) return undefined;
  if (account.uid === "") return undefined;
  if (claims.sub !== accountUserName(namespace, account.name)) return undefined;
  // No API server issues a bound token without expiry.
  if (!isTime(exp) || !isTime(iat) || !isTime(nbf) || typeof jti !== "string") return undefined;
  const [pod, secret, node] = [own?.pod, own?.secret, own?.node].map(decodeObject);
  // Unreadable bindings are refused, because ignoring them would unbind the token.
  if (own?.pod !== undefined && pod === undefined) return undefined;
  if (own?.secret !== undefined && secret === undefined) return undefined;
  if (own?.node !== undefined && node === undefined) return undefined;
  const { warnafter: warnAfter = 0 } = own ?? {};
  if (!isTime(warnAfter)) return undefined;
  return {
    account: { ...account, namespace },
    audiences,
    issuedAt: iat,
    notBefore: nbf,
    expiresAt: exp,
    id: jti,
    ...(pod === undefined ? {} : { pod }),
    ...(secret === undefined ? {} : { secret }),
    ...(node === undefined ? {} : { node }),
    ...(warnAfter === 0 ? {} : { warnAfter }),
  };
}

export function encodeLegacyClaims(
  naming: Naming,
  { account, secretName }: Omit<LegacyClaims, "audiences">,
): Record<string, unknown> {
  const names = legacyNames(naming);
  return {
    iss: legacyIssuer(naming),
    [names.namespace]: account.namespace,
    [names.secretName]: secretName,
    [names.accountName]: account.name,
    [names.accountUid]: account.uid,
    sub: accountUserName(account.namespace, account.name),
  };
}

/** undefined if a claim is missing or the claims contradict each other. */
export function decodeLegacyClaims(
  naming: Naming,
  claims: Readonly<Record<string, unknown>>,
): LegacyClaims | undefined {
  const names = legacyNames(naming);
  const namespace = textOf(claims[names.namespace]);
  const secretName = textOf(claims[names.secretName]);
  const name = textOf(claims[names.accountName]);
  const uid = textOf(claims[names.accountUid]);
  const audiences = decodeAudiences(claims.aud);
  if ([namespace, secretName, name, uid].includes("") || audiences === undefined) return undefined;
  if (claims.sub !== accountUserName(namespace, name)) return undefined;
  return { account: { namespace, name, uid }, secretName, audiences };
}

function legacyNames({ labelDomain }: Naming) {
  const prefix = `${labelDomain}/serviceaccount`;
  return {
    namespace: `${prefix}/namespace`,
    secretName: `${prefix}/secret.name`,
    accountName: `${prefix}/service-account.name`,
    accountUid: `${prefix}/service-account.uid`,
  };
}

/** The user of a token; a legacy one has only the account. */
export function userOfClaims(
  naming: Naming,
  { account, pod, node, id = "" }: Pick<BoundClaims, "account" | "pod" | "node"> & { id?: string },
): UserInfo {
  const key = (name: string) => `authentication.${naming.labelDomain}/${name}`;
  const extra: Record<string, readonly string[]> = {};
  if (id !== "") extra[key("credential-id")] = [`JTI=${id}`];
  if (node !== undefined) {
    extra[key("node-name")] = [node.name];
    if (node.uid !== "") extra[key("node-uid")] = [node.uid];
  }
  if (pod !== undefined) {
    extra[key("pod-name")] = [pod.name];
    extra[key("pod-uid")] = [pod.uid];
  }
  return withAuthenticatedGroup(
    createUser({
      name: accountUserName(account.namespace, account.name),
      uid: account.uid,
      groups: [ALL_ACCOUNTS_GROUP, `${ALL_ACCOUNTS_GROUP}:${account.namespace}`],
      extra,
    }),
  );
}

function decodeObject(value: unknown): ObjectClaim | undefined {
  const members = membersOf(value);
  const { name = "", uid = "" } = members ?? {};
  if (typeof name !== "string" || typeof uid !== "string") return undefined;
  return name === "" ? undefined : { name, uid };
}

/** A single audience may be a plain string (RFC 7519 section 4.1.3). */
function decodeAudiences(value: unknown): readonly string[] | undefined {
  if (value === undefined) return [];
  const audiences: readonly unknown[] = Array.isArray(value) ? value : [value];
  return audiences.every((item) => typeof item === "string") ? audiences : undefined;
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return value as Readonly<Record<string, unknown>>;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
