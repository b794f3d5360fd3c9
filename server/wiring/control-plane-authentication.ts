/**
 * Wiring of authentication in a control plane below the root: who its users are the root's authenticators say, but for
 * the root's own service accounts and bootstrap tokens; it has its own. Nobody is anonymous there.
 *
 * The root's users are strangers as long as no binding names them: being somebody in the root is no reason to see what
 * every user of a control plane may see, such as the names of its kinds.
 */
import {
  type Authenticator,
  UnionAuthenticator,
  withAuthenticatedGroup,
} from "../authn/authenticator.js";
import { createIssuerDiscovery } from "../authn/service-account/issuer-discovery.js";
import { LegacyTokenUses } from "../authn/service-account/legacy-token-uses.js";
import { UnknownBearerAuthenticator } from "../authn/unknown-bearer.js";
import {
  AUTHENTICATED_GROUP,
  createUser,
  MASTERS_GROUP,
  type UserInfo,
} from "../request/user-info.js";
import {
  type Authentication,
  type AuthenticationParts,
  registryAuthenticators,
} from "./authentication.js";
import type { Authorization } from "./authorization.js";

/** Of each: there are many of them, and each keeps room for so many. */
const VERIFIED_TOKENS_MAX = 500;
/** Users and groups of the system itself, whom default bindings name. */
const SYSTEM = "system:";

export interface InheritedAuthentication
  extends Omit<AuthenticationParts, "security" | "isOpenToAll">,
    Pick<Authorization, "bindings"> {
  readonly root: Pick<Authentication, "common" | "isIdentityHeader">;
  /** Whether the root's administrators are administrators here, and its components components. */
  readonly hasRootAccess: boolean;
}

export function inheritAuthentication(parts: InheritedAuthentication): Authentication {
  const { root, hasRootAccess, tokenKeys } = parts;
  const legacyTokenUses = new LegacyTokenUses(parts.config.naming, parts.clock);
  const own = registryAuthenticators({
    ...parts,
    legacyTokenUses,
    verifiedTokensMax: VERIFIED_TOKENS_MAX,
  });
  /** Users whom the root's authenticators have vouched for. */
  const guests = new WeakSet<UserInfo>();
  const { before, after } = root.common;
  const entering = (member: Authenticator) => admitting(member, guests, hasRootAccess);
  const members = [
    ...before.map(entering),
    ...own,
    ...after.map(entering),
    new UnknownBearerAuthenticator(),
  ];
  return {
    common: root.common,
    authenticator: new UnionAuthenticator(members),
    isStranger: (user) => guests.has(user) && !isNamed(user, parts.bindings, hasRootAccess),
    isIdentityHeader: root.isIdentityHeader,
    documents: createIssuerDiscovery({ ...tokenKeys, serverAddress: parts.serverAddress }),
    legacyTokenUses,
    spawn() {},
    async [Symbol.asyncDispose]() {},
  };
}

/** Whom a binding names, by name or by a group that not everybody is in. */
function isNamed(
  { name, groups }: UserInfo,
  bindings: Authorization["bindings"],
  hasRootAccess: boolean,
): boolean {
  const isMeant = (subject: string) => hasRootAccess || !subject.startsWith(SYSTEM);
  if (isMeant(name) && bindings.namesUser(name)) return true;
  // No binding is needed for what they may do.
  if (groups.includes(MASTERS_GROUP)) return true;
  return groups.some(
    (group) => group !== AUTHENTICATED_GROUP && isMeant(group) && bindings.namesGroup(group),
  );
}

/** Notes who comes from the root, and with what they come in. */
function admitting(
  member: Authenticator,
  guests: WeakSet<UserInfo>,
  hasRootAccess: boolean,
): Authenticator {
  const admit = (found: UserInfo | undefined) => {
    if (found === undefined) return undefined;
    const user = withAuthenticatedGroup(hasRootAccess ? found : withoutMasters(found));
    guests.add(user);
    return user;
  };
  return {
    name: member.name,
    authenticate(facts, signal) {
      const found = member.authenticate(facts, signal);
      return found instanceof Promise ? found.then(admit) : admit(found);
    },
  };
}

function withoutMasters(user: UserInfo): UserInfo {
  if (!user.groups.includes(MASTERS_GROUP)) return user;
  return createUser({ ...user, groups: user.groups.filter((group) => group !== MASTERS_GROUP) });
}
