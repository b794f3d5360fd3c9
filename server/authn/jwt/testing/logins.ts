/** Authenticators that trust issuers of a test, and logins through them as a request has them. */
import assert from "node:assert/strict";
import { systemClock } from "../../../../storage/base/clock.js";
import { silentLogger } from "../../../../storage/base/logger.js";
import { StatusError } from "../../../api/status.js";
import type { UserInfo } from "../../../request/user-info.js";
import { UnionAuthenticator } from "../../authenticator.js";
import { UnknownBearerAuthenticator } from "../../unknown-bearer.js";
import { checkAuthentication, type JwtFlags } from "../flags.js";
import { JwtAuthenticator, type JwtAuthenticatorOptions } from "../jwt-authenticator.js";
import { fileOf, jwt, withFile, withFlags } from "./options.js";

/** As much of an issuer as trusting it takes. */
interface TrustedIssuer {
  readonly url: string;
  /** PEM. */
  readonly authority: string;
}

export function create(options: Partial<JwtAuthenticatorOptions>): JwtAuthenticator {
  return new JwtAuthenticator({
    checked: checkAuthentication(withFlags({})),
    hostRoots: [],
    clock: systemClock,
    logger: silentLogger,
    ...options,
  });
}

/** Configured by flags, with the issuer's own authority. */
export function byFlags(issuer: TrustedIssuer, flags: Partial<JwtFlags> = {}) {
  const all = {
    oidcIssuerUrl: issuer.url,
    oidcClientId: "keelson",
    oidcUsernamePrefix: "-",
    ...flags,
  };
  return checkAuthentication(withFlags(all, { oidcAuthority: issuer.authority }));
}

/** Configured by a file with one authenticator per issuer. */
export function byFile(...authenticators: readonly object[]) {
  return checkAuthentication(withFile(fileOf({ jwt: authenticators })));
}

export function trusted(issuer: TrustedIssuer, more: object = {}, others: object = {}) {
  return jwt({ url: issuer.url, certificateAuthority: issuer.authority, ...more }, others);
}

/** The union's result: "401", or the user. */
export async function login(
  authenticator: JwtAuthenticator,
  token: string,
): Promise<UserInfo | "401"> {
  const union = new UnionAuthenticator([authenticator, new UnknownBearerAuthenticator()]);
  const facts = { headers: { authorization: `Bearer ${token}` }, socket: undefined, path: "/" };
  try {
    return (await union.authenticate(facts, new AbortController())) ?? "401";
  } catch (error) {
    assert.ok(error instanceof StatusError && error.code === 401, String(error));
    assert.equal(error.status.message, "Unauthorized");
    return "401";
  }
}

export async function nameOf(authenticator: JwtAuthenticator, token: string): Promise<string> {
  const user = await login(authenticator, token);
  return user === "401" ? user : user.name;
}

export const nowSeconds = () => Math.floor(Date.now() / 1000);
