/**
 * Maps verified claims to a user: first the mappings, then the rules (S2-AUTHC-09..18). A token that
 * violates the configuration is refused.
 */
import type { JsonObject, JsonValue } from "../../api/meta.js";
import { CelEvaluationError, type CelProgram } from "../../cel/environment.js";
import { createUser, type UserInfo } from "../../request/user-info.js";
import { TokenRefusal } from "./token.js";
import type { CompiledJwtAuthenticator, CompiledRule } from "./validate-configuration.js";

/**
 * @param credentialIdKey of the extra value that names the token by its claim `jti`; absent = none does
 * @throws {TokenRefusal}
 */
export function mapClaims(
  authenticator: CompiledJwtAuthenticator,
  claims: JsonObject,
  credentialIdKey?: string,
): UserInfo {
  const bindings = { claims };
  const user = createUser({
    name: usernameOf(authenticator, claims, bindings),
    groups: groupsOf(authenticator, claims, bindings),
    uid: uidOf(authenticator, claims, bindings),
    extra: { ...credentialOf(claims, credentialIdKey), ...extraOf(authenticator, bindings) },
  });
  requireClaims(authenticator, claims);
  for (const rule of authenticator.claimRules) check("claim validation", rule, bindings);
  if (authenticator.userRules.length > 0) {
    const userBindings = { user: toCelUser(user) };
    for (const rule of authenticator.userRules) check("user validation", rule, userBindings);
  }
  return user;
}

type Bindings = Readonly<Record<string, unknown>>;

function usernameOf(
  { configuration, username }: CompiledJwtAuthenticator,
  claims: JsonObject,
  bindings: Bindings,
): string {
  if (username !== undefined) {
    const name = evaluate("username", username, bindings);
    if (typeof name !== "string") throw new TokenRefusal("username: the result is no string");
    if (name === "") throw new TokenRefusal("username: the result is empty");
    return name;
  }
  const { claim, prefix = "" } = configuration.claimMappings.username;
  const name = stringClaim("username", claims, claim);
  // The prefix alone would be a name that all such tokens share.
  if (name === "") throw new TokenRefusal(`username: claim ${JSON.stringify(claim)} is empty`);
  if (claim === "email") requireVerifiedEmail(claims);
  return prefix + name;
}

/** OpenID Connect Core 5.1: an unverified address is merely what a user has entered. */
function requireVerifiedEmail(claims: JsonObject): void {
  const isVerified = claimOf(claims, "email_verified");
  if (isVerified === undefined) return;
  if (isVerified !== true) throw new TokenRefusal("email not verified");
}

function groupsOf(
  { configuration, groups }: CompiledJwtAuthenticator,
  claims: JsonObject,
  bindings: Bindings,
): readonly string[] {
  if (groups !== undefined) return toStrings("groups", evaluate("groups", groups, bindings));
  const { claim, prefix = "" } = configuration.claimMappings.groups;
  if (claim === "") return [];
  const value = claimOf(claims, claim);
  if (value === undefined || value === null) return [];
  // Some issuers write a single role as a string (S2-OIDC-06).
  const list = typeof value === "string" ? [value] : value;
  if (!Array.isArray(list) || !list.every((group) => typeof group === "string")) {
    throw new TokenRefusal(`groups: claim ${JSON.stringify(claim)} is no list of strings`);
  }
  return list.map((group) => prefix + String(group));
}

function uidOf(
  { configuration, uid }: CompiledJwtAuthenticator,
  claims: JsonObject,
  bindings: Bindings,
): string {
  if (uid !== undefined) {
    const value = evaluate("uid", uid, bindings);
    if (typeof value !== "string") throw new TokenRefusal("uid: the result is no string");
    return value;
  }
  const { claim } = configuration.claimMappings.uid;
  return claim === "" ? "" : stringClaim("uid", claims, claim);
}

function credentialOf(claims: JsonObject, key: string | undefined) {
  const id = claimOf(claims, "jti");
  if (key === undefined || typeof id !== "string" || id === "") return {};
  return { [key]: [`JTI=${id}`] };
}

function extraOf({ extra }: CompiledJwtAuthenticator, bindings: Bindings) {
  const values: Record<string, readonly string[]> = {};
  for (const { key, program } of extra) {
    const what = `extra ${key}`;
    const list = toStrings(what, evaluate(what, program, bindings));
    if (list.length > 0) values[key] = list;
  }
  return values;
}

/** Checks claims with required values, as strings (S2-OIDC-08). */
function requireClaims({ configuration }: CompiledJwtAuthenticator, claims: JsonObject): void {
  for (const { claim, requiredValue } of configuration.claimValidationRules) {
    if (claim === "") continue;
    if (stringClaim("required claim", claims, claim) !== requiredValue) {
      throw new TokenRefusal(`required claim ${JSON.stringify(claim)} has another value`);
    }
  }
}

function check(what: string, { program, expression, message }: CompiledRule, bindings: Bindings) {
  if (evaluate(what, program, bindings) === true) return;
  throw new TokenRefusal(`${what} failed: ${message === "" ? expression : message}`);
}

/** All fields are set, so that a rule need not check for a user's groups before reading them. */
function toCelUser({ name, uid, groups, extra }: UserInfo): Record<string, unknown> {
  return { username: name, uid, groups, extra };
}

function evaluate(what: string, program: CelProgram, bindings: Bindings): unknown {
  try {
    return program.evaluate(bindings);
  } catch (error) {
    if (!(error instanceof CelEvaluationError)) throw error;
    throw new TokenRefusal(`${what}: ${error.message}`);
  }
}

/** A string, a list of strings, or null; empty strings are dropped. */
function toStrings(what: string, value: unknown): readonly string[] {
  if (value === null || value === undefined || value === "") return [];
  if (typeof value === "string") return [value];
  if (!Array.isArray(value) || !value.every((item) => typeof item === "string")) {
    throw new TokenRefusal(`${what}: the result is neither a string nor a list of strings`);
  }
  return (value as string[]).filter((item) => item !== "");
}

function stringClaim(what: string, claims: JsonObject, claim: string): string {
  const value = claimOf(claims, claim);
  if (value === undefined) {
    throw new TokenRefusal(`${what}: claim ${JSON.stringify(claim)} is not there`);
  }
  if (typeof value !== "string") {
    throw new TokenRefusal(`${what}: claim ${JSON.stringify(claim)} is no string`);
  }
  return value;
}

function claimOf(claims: JsonObject, claim: string): JsonValue | undefined {
  return Object.hasOwn(claims, claim) ? claims[claim] : undefined;
}
