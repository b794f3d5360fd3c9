/** The flags --oidc-*, each broken once, and what becomes of good ones. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type AuthenticationOptions, checkAuthentication } from "./flags.js";
import { fileOf, problemOf, withFile, withFlags } from "./testing/options.js";
import { ALLOWED_ALGORITHMS } from "./token.js";

const ISSUER = { oidcIssuerUrl: "https://issuer.example", oidcClientId: "keelson" };

describe("flags --oidc-*", () => {
  const bad: readonly (readonly [string, AuthenticationOptions, string])[] = [
    [
      "S2-OIDC-01: an issuer without TLS",
      withFlags({ ...ISSUER, oidcIssuerUrl: "http://issuer.example" }),
      '--oidc-issuer-url: Invalid value: "http://issuer.example": URL scheme must be https',
    ],
    [
      "S2-OIDC-01: an issuer with a query",
      withFlags({ ...ISSUER, oidcIssuerUrl: "https://issuer.example?a=b" }),
      '--oidc-issuer-url: Invalid value: "https://issuer.example?a=b": URL must not contain a query',
    ],
    [
      "S2-OIDC-02: an issuer without client id",
      withFlags({ oidcIssuerUrl: "https://issuer.example" }),
      "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set",
    ],
    [
      "S2-OIDC-02: a client id without issuer",
      withFlags({ oidcClientId: "keelson" }),
      "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set",
    ],
    [
      "S2-OIDC-02: any other flag without issuer",
      withFlags({ oidcGroupsPrefix: "x:" }),
      "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set",
    ],
    [
      "S2-OIDC-03: no username claim",
      withFlags({ ...ISSUER, oidcUsernameClaim: "" }),
      "--oidc-username-claim: Required value: claim or expression is required",
    ],
    [
      "S2-OIDC-08: a required claim without value",
      withFlags({ ...ISSUER, oidcRequiredClaim: ["hd"] }),
      '--oidc-required-claim: malformed pair, expect claim=value: "hd"',
    ],
    [
      "S2-OIDC-09: a file without certificates",
      withFlags({ ...ISSUER, oidcCaFile: "/ca.pem" }, { oidcAuthority: "nothing" }),
      '--oidc-ca-file: Invalid value: "<omitted>": data does not contain any valid RSA or ECDSA certificates',
    ],
    [
      "S2-AUTHC-03: the issuer of service accounts",
      withFlags({ ...ISSUER, oidcIssuerUrl: "https://accounts.cluster" }),
      '--oidc-issuer-url: Invalid value: "https://accounts.cluster": URL must not overlap with disallowed issuers: [https://accounts.cluster]',
    ],
    [
      "S2-AUTHC-19: flags and file",
      withFile(fileOf({}), { given: new Set(["authenticationConfig", "oidcUsernameClaim"]) }),
      "authentication-config file and oidc-* flags are mutually exclusive",
    ],
  ];
  for (const [title, options, problem] of bad) {
    test(`${title} is refused at the start`, () => assert.equal(problemOf(options), problem));
  }

  test("S2-OIDC-11: nine algorithms are allowed, shared secrets and none are not", () => {
    assert.equal(ALLOWED_ALGORITHMS.length, 9);
    for (const algorithm of ALLOWED_ALGORITHMS) {
      const checked = checkAuthentication(withFlags({ ...ISSUER, oidcSigningAlgs: [algorithm] }));
      assert.deepEqual(checked.algorithms, [algorithm]);
    }
    for (const algorithm of ["HS256", "HS384", "HS512", "none", "EdDSA", "rs256", ""]) {
      assert.match(
        problemOf(withFlags({ ...ISSUER, oidcSigningAlgs: ["RS256", algorithm] })),
        new RegExp(`^--oidc-signing-algs: unsupported signing alg: "${algorithm}"`),
      );
    }
  });

  test("S2-OIDC-10: RS256 is the default", () => {
    assert.deepEqual(checkAuthentication(withFlags(ISSUER)).algorithms, ["RS256"]);
  });

  test("S2-OIDC-03..08: flags become one authenticator of the file's structure", () => {
    const options = withFlags({
      ...ISSUER,
      oidcGroupsClaim: "roles",
      oidcGroupsPrefix: "oidc:",
      oidcRequiredClaim: ["hd=example.org", "team=a=b", "hd=example.com"],
    });
    assert.deepEqual(checkAuthentication(options).authenticators[0]?.configuration, {
      issuer: {
        url: "https://issuer.example",
        discoveryURL: "",
        certificateAuthority: "",
        audiences: ["keelson"],
        audienceMatchPolicy: "",
        egressSelectorType: "",
      },
      claimValidationRules: [
        { claim: "hd", requiredValue: "example.com", expression: "", message: "" },
        { claim: "team", requiredValue: "a=b", expression: "", message: "" },
      ],
      claimMappings: {
        username: { claim: "sub", prefix: "https://issuer.example#", expression: "" },
        groups: { claim: "roles", prefix: "oidc:", expression: "" },
        uid: { claim: "", expression: "" },
        extra: [],
      },
      userValidationRules: [],
    });
  });

  test("S2-OIDC-04, S2-OIDC-05: what the prefix of user names is", () => {
    const prefixOf = (oidcUsernameClaim: string, oidcUsernamePrefix: string) =>
      checkAuthentication(withFlags({ ...ISSUER, oidcUsernameClaim, oidcUsernamePrefix }))
        .authenticators[0]?.configuration.claimMappings.username.prefix;
    assert.equal(prefixOf("sub", ""), "https://issuer.example#");
    assert.equal(prefixOf("name", ""), "https://issuer.example#");
    assert.equal(prefixOf("email", ""), "");
    assert.equal(prefixOf("email", "oidc:"), "oidc:");
    assert.equal(prefixOf("sub", "oidc:"), "oidc:");
    assert.equal(prefixOf("sub", "-"), "");
  });

  test("without flags and file nothing is configured, and the flag decides on anonymous access", () => {
    for (const anonymousAuth of [true, false]) {
      const { authenticators, anonymous, hash } = checkAuthentication(withFlags({ anonymousAuth }));
      assert.deepEqual({ authenticators, hash }, { authenticators: [], hash: "" });
      assert.deepEqual(anonymous, { enabled: anonymousAuth, conditions: [] });
    }
  });
});
