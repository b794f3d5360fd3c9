/**
 * Wiring of authentication in a control plane below the root: who its users are the root's authenticators say, but for
 * the root's own service accounts and bootstrap tokens; it has its own.
 */
import { type Authenticator, UnionAuthenticator } from "../authn/authenticator.js";
import { createIssuerDiscovery } from "../authn/service-account/issuer-discovery.js";
import { LegacyTokenUses } from "../authn/service-account/legacy-token-uses.js";
import { UnknownBearerAuthenticator } from "../authn/unknown-bearer.js";
import { createUser, MASTERS_GROUP, type UserInfo } from "../request/user-info.js";
import {
  type Authentication,
  type AuthenticationParts,
  registryAuthenticators,
} from "./authentication.js";

/** Of each: there are many of them, and each keeps room for so many. */
const VERIFIED_TOKENS_MAX = 500;

export interface InheritedAuthentication
  extends Omit<AuthenticationParts, "security" | "isOpenToAll"> {
  readonly root: Pick<Authentication, "common" | "isIdentityHeader">;
  /** Whether the root's administrators keep the group that makes them administrators here. */
  readonly hasRootAccess: boolean;
}

export function inheritAuthentication(parts: InheritedAuthentication): Authentication {
  const { root, hasRootAccess, tokenKeys } = parts;
  const legacyTokenUses = new LegacyTokenUses(parts.config.naming, parts.clock);
  const { before, after, anonymous } = root.common;
  const own = registryAuthenticators({
    ...parts,
    legacyTokenUses,
    verifiedTokensMax: VERIFIED_TOKENS_MAX,
  });
  const entering = hasRootAccess ? (member: Authenticator) => member : withoutMasters;
  const members = [
    ...before.map(entering),
    ...own,
    ...after.map(entering),
    new UnknownBearerAuthenticator(),
  ];
  return {
    common: root.common,
    authenticator: new UnionAuthenticator(members, anonymous),
    isIdentityHeader: root.isIdentityHeader,
    documents: createIssuerDiscovery({ ...tokenKeys, serverAddress: parts.serverAddress }),
    legacyTokenUses,
    spawn() {},
    async [Symbol.asyncDispose]() {},
  };
}

function withoutMasters(member: Authenticator): Authenticator {
  const strip = (user: UserInfo | undefined) => {
    if (user === undefined || !user.groups.includes(MASTERS_GROUP)) return user;
    return createUser({ ...user, groups: user.groups.filter((group) => group !== MASTERS_GROUP) });
  };
  return {
    name: member.name,
    authenticate(facts, signal) {
      const found = member.authenticate(facts, signal);
      return found instanceof Promise ? found.then(strip) : strip(found);
    },
  };
}
