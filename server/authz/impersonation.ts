/**
 * Impersonation: may this user act as another one, and as which user exactly? There are two ways.
 *
 * *Unconstrained* (the verb `impersonate`): a user who may impersonate another may do everything that the
 * other may. Each claimed attribute is authorized separately:
 *
 *   users NAME, groups NAME                     no group (core)
 *   serviceaccounts NAME, in its namespace      no group (core)
 *   uids UID, userextras/KEY VALUE              group authentication
 *
 * *Constrained* (behind its gate; enhancement 5284): two permissions, both required. `impersonate:<mode>`
 * on the same resources, all in the group authentication, names the users that may be impersonated;
 * `impersonate-on:<mode>:<verb>` on the request's own resource names the actions. The modes:
 *
 *   associated-node   a service account as the node that its token is bound to
 *   arbitrary-node    any node        serviceaccount   a service account
 *   user-info         everybody else, with groups, uid and extra
 *
 * Constrained modes are tried first, because they grant less; the unconstrained one is unchanged.
 */
import { sortTexts } from "../../storage/base/compare-texts.js";
import type { Naming } from "../api/naming.js";
import { StatusError } from "../api/status.js";
import { checkDnsSubdomain } from "../api/validation-names.js";
import type { LazySignal } from "../request/lazy-signal.js";
import { parseServiceAccountUser, serviceAccountGroups } from "../request/service-account-name.js";
import {
  ANONYMOUS_USER,
  AUTHENTICATED_GROUP,
  createUser,
  MASTERS_GROUP,
  UNAUTHENTICATED_GROUP,
  type UserInfo,
} from "../request/user-info.js";
import type {
  AuthorizationAttributes,
  AuthorizationResult,
  AuthorizedRequest,
  Authorizer,
} from "./authorizer.js";
import { denial } from "./denial.js";
import type { ImpersonationMetrics } from "./impersonation-metrics.js";

/** The verb of those who may do everything that the other may. */
const UNCONSTRAINED = "impersonate";
const NODE_PREFIX = "system:node:";
const NODES_GROUP = "system:nodes";
/** From this number of groups or extra values on, one question for all of them comes first. */
const MANY = 4;
/** The path of a key such as "acme.com/project": the characters of RFC 3986, without a query. */
const KEY_PATH = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

export interface ImpersonationOptions {
  readonly authorizer: Authorizer;
  readonly naming: Naming;
  /** The gate ConstrainedImpersonation. */
  readonly isConstrained: boolean;
  /** Absent = nobody counts. */
  readonly metrics?: ImpersonationMetrics;
}

export interface Impersonated {
  readonly user: UserInfo;
  /** The verb that a constrained impersonation was allowed by, for audit. */
  readonly constraint: string;
}

/** A way to impersonate. */
interface Mode {
  /** "impersonate" or "impersonate:<mode>". */
  readonly verb: string;
  /** Of "impersonate-on:<mode>:<verb>"; undefined = unconstrained. */
  readonly name: string | undefined;
  /** The user in questions: the requestor, or the relevant part of it. */
  readonly asker: UserInfo;
  /** Replaces the user's name if the mode asks for all users at once. */
  readonly anyName?: string;
}

export class Impersonation {
  readonly #authorizer: Authorizer;
  readonly #metrics: ImpersonationMetrics | undefined;
  readonly #isConstrained: boolean;
  readonly #authenticationGroup: string;
  readonly #nodeNameKey: string;
  readonly #associatedKeysKey: string;

  constructor({ authorizer, naming, isConstrained, metrics }: ImpersonationOptions) {
    this.#authorizer = authorizer;
    this.#metrics = metrics;
    this.#isConstrained = isConstrained;
    this.#authenticationGroup = `authentication.${naming.groupDomain}`;
    this.#nodeNameKey = `authentication.${naming.labelDomain}/node-name`;
    this.#associatedKeysKey = `authentication.${naming.labelDomain}/associated-node-keys`;
  }

  /**
   * Returns the user that the requestor acts as.
   * @param wanted as the client requested: only its explicit groups
   * @throws {StatusError} 403 if it is not allowed
   */
  async check(
    attributes: AuthorizationAttributes,
    wanted: UserInfo,
    signal: LazySignal,
  ): Promise<Impersonated> {
    const startedMs = performance.now();
    try {
      const impersonated = await this.#resolve(attributes, wanted, signal);
      const mode = modeNameOf(impersonated.constraint || UNCONSTRAINED);
      this.#metrics?.attempted(mode, "allowed", startedMs);
      return impersonated;
    } catch (error) {
      this.#metrics?.attempted("", "denied", startedMs);
      throw error;
    }
  }

  async #resolve(
    { user: requestor, info }: AuthorizationAttributes,
    wanted: UserInfo,
    signal: LazySignal,
  ): Promise<Impersonated> {
    const mode = this.#isConstrained ? this.#modeOf(requestor, wanted) : undefined;
    let partly: unknown;
    for (const constrained of mode ?? []) {
      const outcome = await this.#tryConstrained(constrained, info, wanted, signal);
      if ("user" in outcome) return outcome;
      partly ??= outcome.error;
    }
    const unconstrained = { verb: UNCONSTRAINED, name: undefined, asker: requestor };
    try {
      return { user: await this.#become(unconstrained, wanted, signal), constraint: "" };
    } catch (error) {
      // A user with one half of a constrained mode's permissions is told the other half.
      throw partly ?? error;
    }
  }

  /** The constrained modes that apply, the narrowest first. */
  #modeOf(requestor: UserInfo, wanted: UserInfo): Mode[] {
    const mode = (name: string, asker = requestor): Mode => ({
      verb: `impersonate:${name}`,
      name,
      asker,
    });
    const isNameOnly =
      wanted.uid === "" && wanted.groups.length === 0 && Object.keys(wanted.extra).length === 0;
    const node = nodeNameOf(wanted.name);
    if (node !== undefined) {
      if (!isNameOnly) return [];
      const arbitrary = mode("arbitrary-node");
      const [bound, ...others] = requestor.extra[this.#nodeNameKey] ?? [];
      const isAssociated =
        bound === node &&
        others.length === 0 &&
        parseServiceAccountUser(requestor.name) !== undefined;
      if (!isAssociated) return [arbitrary];
      // The permission covers the account on every node: the node and the token's binding to it were checked here.
      const keys = sortTexts(Object.keys(requestor.extra));
      const asker = createUser({ ...requestor, extra: { [this.#associatedKeysKey]: keys } });
      return [{ ...mode("associated-node", asker), anyName: "*" }, arbitrary];
    }
    if (parseServiceAccountUser(wanted.name) !== undefined) {
      return isNameOnly ? [mode("serviceaccount")] : [];
    }
    return [mode("user-info")];
  }

  /** @returns the resulting user, or the refusal of the missing half */
  async #tryConstrained(
    mode: Mode,
    info: AuthorizedRequest,
    wanted: UserInfo,
    signal: LazySignal,
  ): Promise<Impersonated | { readonly error: unknown }> {
    const action = { ...info, verb: `impersonate-on:${mode.name}:${info.verb}` };
    const actionError = await refusalOf(() =>
      this.#insist({ user: mode.asker, info: action }, signal),
    );
    try {
      const user = await this.#become(mode, wanted, signal);
      return actionError === undefined ? { user, constraint: mode.verb } : { error: actionError };
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return { error: actionError === undefined ? error : undefined };
    }
  }

  /** Authorizes each part of the wanted identity and completes it. @throws {StatusError} 403 */
  async #become(mode: Mode, wanted: UserInfo, signal: LazySignal): Promise<UserInfo> {
    const groups = await this.#checkName(mode, wanted, signal);
    if (wanted.uid !== "") {
      await this.#insist(this.#attributes(mode, "uids", wanted.uid), signal);
    }
    await this.#checkGroups(mode, wanted.groups, signal);
    await this.#checkExtra(mode, wanted.extra, signal);
    return createUser({ ...wanted, groups: completeGroups(wanted.name, groups) });
  }

  /** @returns the groups implied by the kind of user, or the requested ones */
  async #checkName(mode: Mode, wanted: UserInfo, signal: LazySignal): Promise<readonly string[]> {
    let what = this.#attributes(mode, "users", wanted.name);
    let { groups } = wanted;
    const account = parseServiceAccountUser(wanted.name);
    const node = mode.name === undefined ? undefined : nodeNameOf(wanted.name);
    if (account !== undefined) {
      const { namespace, name } = account;
      what = this.#attributes(mode, "serviceaccounts", name, { namespace });
      if (groups.length === 0) groups = serviceAccountGroups(namespace);
    } else if (node !== undefined) {
      what = this.#attributes(mode, "nodes", mode.anyName ?? node);
      groups = [NODES_GROUP];
    }
    await this.#insist(what, signal);
    return groups;
  }

  async #checkGroups(mode: Mode, groups: readonly string[], signal: LazySignal): Promise<void> {
    const attributes = (name: string) => this.#attributes(mode, "groups", name);
    if (mode.name !== undefined) {
      if (groups.includes("")) {
        throw denial(attributes(""), "impersonating the empty string group is not allowed");
      }
      if (groups.includes(MASTERS_GROUP)) {
        const why = `impersonating the ${MASTERS_GROUP} group is not allowed`;
        throw denial(attributes(MASTERS_GROUP), why);
      }
      if (groups.length >= MANY && (await this.#allows(attributes("*"), signal))) return;
    }
    for (const group of groups) await this.#insist(attributes(group), signal);
  }

  async #checkExtra(mode: Mode, extra: UserInfo["extra"], signal: LazySignal): Promise<void> {
    const attributes = (subresource: string, name: string) =>
      this.#attributes(mode, "userextras", name, { subresource });
    const pairs = Object.entries(extra).flatMap(([key, values]) =>
      values.map((value) => [key, value] as const),
    );
    if (mode.name !== undefined) {
      for (const [key, value] of pairs) {
        const why = problemOfExtra(key, value);
        if (why !== undefined) throw denial(attributes("", ""), why);
      }
      if (pairs.length >= MANY && (await this.#allows(attributes("*", "*"), signal))) return;
    }
    for (const [key, value] of pairs) await this.#insist(attributes(key, value), signal);
  }

  #attributes(
    { verb, name: mode, asker }: Mode,
    resource: string,
    name: string,
    place: { readonly namespace?: string; readonly subresource?: string } = {},
  ): AuthorizationAttributes {
    const isOfAuthentication =
      mode !== undefined || resource === "uids" || resource === "userextras";
    return {
      user: asker,
      info: {
        isResourceRequest: true,
        verb,
        path: "",
        group: isOfAuthentication ? this.#authenticationGroup : "",
        version: "v1",
        namespace: "",
        resource,
        subresource: "",
        name,
        ...place,
      },
    };
  }

  async #allows(attributes: AuthorizationAttributes, signal: LazySignal): Promise<boolean> {
    return (await this.#authorize(attributes, signal)).decision === "allow";
  }

  async #insist(attributes: AuthorizationAttributes, signal: LazySignal): Promise<void> {
    const { decision, reason } = await this.#authorize(attributes, signal);
    if (decision !== "allow") throw denial(attributes, reason);
  }

  async #authorize(
    attributes: AuthorizationAttributes,
    signal: LazySignal,
  ): Promise<AuthorizationResult> {
    const startedMs = performance.now();
    const result = await this.#authorizer.authorize(attributes, signal);
    const decision = result.decision === "allow" ? "allowed" : "denied";
    this.#metrics?.asked(modeNameOf(attributes.info.verb), decision, startedMs);
    return result;
  }
}

/** "user-info" of "impersonate:user-info" and "impersonate-on:user-info:list". */
function modeNameOf(verb: string): string {
  return verb.split(":")[1] ?? "legacy";
}

/** The refusal that `run` throws; undefined if it succeeds. */
async function refusalOf(run: () => Promise<void>): Promise<StatusError | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    if (isRefusal(error)) return error;
    throw error;
  }
}

function isRefusal(error: unknown): error is StatusError {
  return error instanceof StatusError && error.code === 403;
}

/** Every user is authenticated, except the anonymous user and on request (S2-IMP-10). */
function completeGroups(name: string, groups: readonly string[]): readonly string[] {
  const isUnauthenticated = name === ANONYMOUS_USER || groups.includes(UNAUTHENTICATED_GROUP);
  const group = isUnauthenticated ? UNAUTHENTICATED_GROUP : AUTHENTICATED_GROUP;
  return groups.includes(group) ? groups : [...groups, group];
}

function nodeNameOf(user: string): string | undefined {
  if (!user.startsWith(NODE_PREFIX)) return undefined;
  const name = user.slice(NODE_PREFIX.length);
  return checkDnsSubdomain(name).length === 0 ? name : undefined;
}

/** Why an extra entry is invalid; unconstrained impersonation does not check this. */
function problemOfExtra(key: string, value: string): string | undefined {
  if (key === "") return "impersonating the empty string key in extra is not allowed";
  const slash = key.indexOf("/");
  const isPath =
    slash > 0 &&
    checkDnsSubdomain(key.slice(0, slash)).length === 0 &&
    KEY_PATH.test(key.slice(slash + 1));
  if (!isPath) {
    return `impersonating an invalid key in extra is not allowed: extra.key: Invalid value: ${JSON.stringify(key)}: must be a domain-prefixed path (such as "acme.io/foo")`;
  }
  if (key !== key.toLowerCase()) {
    return `impersonating a non-lowercase key in extra is not allowed: ${JSON.stringify(key)}`;
  }
  return value === "" ? "impersonating the empty string value in extra is not allowed" : undefined;
}
