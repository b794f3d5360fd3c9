/** Fixtures for tests of JSON web tokens: default flags, and shorthands. */
import assert from "node:assert/strict";
import { createNaming } from "../../../api/naming.js";
import { type AuthenticationOptions, checkAuthentication, type JwtFlags } from "../flags.js";

const NAMING = createNaming("kubernetes");

const DEFAULT_FLAGS: JwtFlags = {
  oidcIssuerUrl: "",
  oidcClientId: "",
  oidcUsernameClaim: "sub",
  oidcUsernamePrefix: "",
  oidcGroupsClaim: "",
  oidcGroupsPrefix: "",
  oidcRequiredClaim: [],
  oidcCaFile: "",
  oidcSigningAlgs: ["RS256"],
  authenticationConfig: "",
  anonymousAuth: true,
};

export function withFlags(
  flags: Partial<JwtFlags>,
  others: Partial<AuthenticationOptions> = {},
): AuthenticationOptions {
  return {
    flags: { ...DEFAULT_FLAGS, ...flags },
    naming: NAMING,
    given: new Set(Object.keys(flags)),
    serviceAccountIssuers: ["https://accounts.cluster"],
    isOpenToAll: false,
    hasEgressSelector: true,
    oidcAuthority: "",
    configurationText: "",
    ...others,
  };
}

/** Options with the text as the --authentication-config file. */
export function withFile(
  configurationText: string,
  others: Partial<AuthenticationOptions> = {},
): AuthenticationOptions {
  return withFlags({ authenticationConfig: "/etc/auth.yaml" }, { configurationText, ...others });
}

/** A file with these members beside kind and version. */
export function fileOf(members: object, version = "v1"): string {
  const apiVersion = `apiserver.config.${NAMING.groupDomain}/${version}`;
  return JSON.stringify({ apiVersion, kind: "AuthenticationConfiguration", ...members });
}

/** A file with one authenticator. */
export function fileOfJwt(...jwt: readonly object[]): AuthenticationOptions {
  return withFile(fileOf({ jwt }));
}

/** The members of one good authenticator, to be changed by the test. */
export function jwt(issuer: object = {}, others: object = {}): Record<string, unknown> {
  return {
    issuer: { url: "https://issuer.example", audiences: ["keelson"], ...issuer },
    claimMappings: { username: { claim: "sub", prefix: "" } },
    ...others,
  };
}

/** The line that the server refuses to start with; "none" when it starts. */
export function problemOf(options: AuthenticationOptions): string {
  try {
    checkAuthentication(options);
    return "none";
  } catch (error) {
    assert.ok(error instanceof RangeError, String(error));
    assert.ok(!error.message.includes("\n"), "one line");
    return error.message;
  }
}
