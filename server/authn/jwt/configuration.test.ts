/** The rules of the file, each violated once: the server refuses to start with a one-line error. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createNaming } from "../../api/naming.js";
import { type AuthenticationOptions, anonymousWarning, checkAuthentication } from "./flags.js";
import { fileOf, fileOfJwt, jwt, problemOf, withFile, withFlags } from "./testing/options.js";
import { ALLOWED_ALGORITHMS } from "./token.js";

const INVALID = '--authentication-config "/etc/auth.yaml": invalid authentication configuration: ';
const UNREADABLE = 'failed to load authentication configuration from file "/etc/auth.yaml": ';

/** The file's problem, without the prefix. */
function fileProblemOf(options: AuthenticationOptions): string {
  const problem = problemOf(options);
  return problem.startsWith(INVALID) ? problem.slice(INVALID.length) : problem;
}

const mapping = (claimMappings: object) =>
  jwt({}, { claimMappings: { username: { claim: "sub", prefix: "" }, ...claimMappings } });
const rules = (...claimValidationRules: object[]) => jwt({}, { claimValidationRules });
const userRules = (...userValidationRules: object[]) => jwt({}, { userValidationRules });
const extra = (key: string, valueExpression = "'x'") =>
  mapping({ extra: [{ key, valueExpression }] });

describe("the file's form", () => {
  const bad: readonly (readonly [string, string, string])[] = [
    ["an empty file", "", "empty config data"],
    ["no object", "- a", "the document is not an object"],
    ["no kind", "apiVersion: apiserver.config.k8s.io/v1", "Object 'Kind' is missing"],
    ["no version", "kind: AuthenticationConfiguration", "Object 'apiVersion' is missing"],
    [
      "an unknown field",
      fileOf({ jwt: [{ issuer: { uri: "x" } }] }),
      'strict decoding error: unknown field "jwt[0].issuer.uri"',
    ],
    [
      "an unknown field at the top",
      fileOf({ issuers: [] }),
      'strict decoding error: unknown field "issuers"',
    ],
    [
      "a repeated field",
      `apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt: []\njwt: []\n`,
      'strict decoding error: duplicate field "jwt"',
    ],
    ["a list that is none", fileOf({ jwt: {} }), "jwt: expected list, got object"],
    [
      "a text that is a number",
      fileOf({ jwt: [{ issuer: { url: 1 } }] }),
      "jwt[0].issuer.url: expected string, got number",
    ],
    ["a hole in a list", fileOf({ jwt: [null] }), "jwt[0]: expected object, got null"],
    [
      "a condition that is a text",
      fileOf({ anonymous: { enabled: true, conditions: ["/livez"] } }),
      "anonymous.conditions[0]: expected object, got string",
    ],
    [
      "a switch that is a text",
      fileOf({ anonymous: { enabled: "yes" } }),
      "anonymous.enabled: expected boolean, got string",
    ],
  ];
  for (const [title, text, problem] of bad) {
    test(`S2-AUTHC-01: ${title} is refused at the start`, () => {
      assert.equal(problemOf(withFile(text)), UNREADABLE + problem);
    });
  }

  test("S2-AUTHC-01: what is no YAML is refused in one line", () => {
    assert.match(problemOf(withFile("a: [")), /^failed to load authentication configuration/);
  });

  test("S2-AUTHC-01: three versions are read, in YAML and JSON, no other and no other kind", () => {
    for (const version of ["v1", "v1beta1", "v1alpha1"]) {
      const text = fileOf({ jwt: [jwt()] }, version);
      assert.equal(checkAuthentication(withFile(text)).authenticators.length, 1);
    }
    const yaml = `
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer: {url: https://issuer.example, audiences: [keelson]}
  claimMappings:
    username: {claim: sub, prefix: ""}
    groups: null
`;
    assert.equal(checkAuthentication(withFile(yaml)).authenticators.length, 1);
    assert.match(problemOf(withFile(fileOf({}, "v2"))), /no kind "AuthenticationConfiguration" is/);
    assert.match(
      problemOf(withFile(fileOf({}).replace("Authentication", "Authorization"))),
      /no kind "AuthorizationConfiguration" is registered for version "apiserver.config.k8s.io\/v1"/,
    );
  });

  test("S2-AUTHC-01: another vendor has its own group", () => {
    const naming = createNaming("acme");
    const text = fileOf({ jwt: [jwt()] }).replace("k8s.io", "acme.io");
    assert.equal(checkAuthentication(withFile(text, { naming })).authenticators.length, 1);
    assert.match(problemOf(withFile(fileOf({}), { naming })), /no kind/);
  });

  test("all nine algorithms may sign when the issuers are in the file", () => {
    assert.deepEqual(checkAuthentication(fileOfJwt(jwt())).algorithms, ALLOWED_ALGORITHMS);
  });
});

describe("the file's rules", () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => jwt({ url: `https://issuer-${index}.example` }));
  const bad: readonly (readonly [string, AuthenticationOptions, string])[] = [
    [
      "S2-AUTHC-02, S2-LIM-01: 65 authenticators",
      fileOfJwt(...many(65)),
      "jwt: Too many: 65: must have at most 64 items",
    ],
    [
      "S2-AUTHC-03: two of one issuer",
      fileOfJwt(jwt(), jwt()),
      'jwt[1].issuer.url: Duplicate value: "https://issuer.example"',
    ],
    [
      "S2-AUTHC-03: the issuer of service accounts",
      fileOfJwt(jwt({ url: "https://accounts.cluster" })),
      'jwt[0].issuer.url: Invalid value: "https://accounts.cluster": URL must not overlap with disallowed issuers: [https://accounts.cluster]',
    ],
    ["S2-AUTHC-03: no issuer", fileOfJwt(jwt({ url: "" })), "jwt[0].issuer.url: Required value"],
    [
      "S2-AUTHC-03: an issuer without TLS",
      fileOfJwt(jwt({ url: "http://a.example" })),
      'jwt[0].issuer.url: Invalid value: "http://a.example": URL scheme must be https',
    ],
    [
      "S2-AUTHC-03: an issuer with a password",
      fileOfJwt(jwt({ url: "https://a:b@a.example" })),
      'jwt[0].issuer.url: Invalid value: "https://a:b@a.example": URL must not contain a username or password',
    ],
    [
      "S2-AUTHC-03: an issuer with a fragment",
      fileOfJwt(jwt({ url: "https://a.example/#a" })),
      'jwt[0].issuer.url: Invalid value: "https://a.example/#a": URL must not contain a fragment',
    ],
    [
      "S2-AUTHC-04: a discovery URL that is the issuer's",
      fileOfJwt(jwt({ discoveryURL: "https://issuer.example/" })),
      'jwt[0].issuer.discoveryURL: Invalid value: "https://issuer.example/": discoveryURL must be different from URL',
    ],
    [
      "S2-AUTHC-04: a discovery URL without TLS",
      fileOfJwt(jwt({ discoveryURL: "http://d.example" })),
      'jwt[0].issuer.discoveryURL: Invalid value: "http://d.example": URL scheme must be https',
    ],
    [
      "S2-AUTHC-04: two of one discovery URL",
      fileOfJwt(
        jwt({ discoveryURL: "https://d.example" }),
        jwt({ url: "https://b.example", discoveryURL: "https://d.example" }),
      ),
      'jwt[1].issuer.discoveryURL: Duplicate value: "https://d.example"',
    ],
    [
      "S2-AUTHC-05: an authority that is none",
      fileOfJwt(jwt({ certificateAuthority: "secret" })),
      'jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>": data does not contain any valid RSA or ECDSA certificates',
    ],
    [
      "S2-AUTHC-06: no audience",
      fileOfJwt(jwt({ audiences: [] })),
      "jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required",
    ],
    [
      "S2-AUTHC-06: an empty and a repeated audience",
      fileOfJwt(jwt({ audiences: ["", "a", "a"], audienceMatchPolicy: "MatchAny" })),
      '[jwt[0].issuer.audiences[0]: Required value, jwt[0].issuer.audiences[2]: Duplicate value: "a"]',
    ],
    [
      "S2-AUTHC-07: several audiences without policy",
      fileOfJwt(jwt({ audiences: ["a", "b"] })),
      'jwt[0].issuer.audienceMatchPolicy: Invalid value: "": audienceMatchPolicy must be MatchAny for multiple audiences',
    ],
    [
      "S2-AUTHC-07: an unknown policy",
      fileOfJwt(jwt({ audienceMatchPolicy: "MatchAll" })),
      'jwt[0].issuer.audienceMatchPolicy: Invalid value: "MatchAll": audienceMatchPolicy must be empty or MatchAny for single audience',
    ],
    [
      "S2-AUTHC-08: an egress selector while its gate is off",
      withFile(fileOf({ jwt: [jwt({ egressSelectorType: "cluster" })] }), {
        hasEgressSelector: false,
      }),
      'jwt[0].issuer.egressSelectorType: Invalid value: "cluster": egress selector is not supported when StructuredAuthenticationConfigurationEgressSelector feature gate is disabled',
    ],
    [
      "S2-AUTHC-08: an unknown egress selector",
      fileOfJwt(jwt({ egressSelectorType: "etcd" })),
      'jwt[0].issuer.egressSelectorType: Invalid value: "etcd": egress selector must be either controlplane or cluster',
    ],
    [
      "S2-AUTHC-09: a rule with claim and expression",
      fileOfJwt(rules({ claim: "a", expression: "true" })),
      'jwt[0].claimValidationRules[0]: Invalid value: "a": claim and expression can\'t both be set',
    ],
    [
      "S2-AUTHC-09: a rule with neither",
      fileOfJwt(rules({})),
      "jwt[0].claimValidationRules[0]: Required value: claim or expression is required",
    ],
    [
      "S2-AUTHC-09: a claim with a message",
      fileOfJwt(rules({ claim: "a", message: "m" })),
      'jwt[0].claimValidationRules[0].message: Invalid value: "m": may not be specified when claim is set',
    ],
    [
      "S2-AUTHC-09: an expression with a required value",
      fileOfJwt(rules({ expression: "true", requiredValue: "v" })),
      'jwt[0].claimValidationRules[0].requiredValue: Invalid value: "v": may not be specified when expression is set',
    ],
    [
      "S2-AUTHC-09: a repeated claim and a repeated expression",
      fileOfJwt(
        rules({ claim: "a" }, { claim: "a" }, { expression: "true" }, { expression: "true" }),
      ),
      '[jwt[0].claimValidationRules[1].claim: Duplicate value: "a", jwt[0].claimValidationRules[3].expression: Duplicate value: "true"]',
    ],
    [
      "S2-AUTHC-10: a username claim without prefix",
      fileOfJwt(jwt({}, { claimMappings: { username: { claim: "sub" } } })),
      "jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set. It can be set to an empty string to disable prefixing",
    ],
    [
      "S2-AUTHC-10: no username",
      fileOfJwt(jwt({}, { claimMappings: {} })),
      "jwt[0].claimMappings.username: Required value: claim or expression is required",
    ],
    [
      "S2-AUTHC-11: a username by claim and expression",
      fileOfJwt(mapping({ username: { claim: "a", expression: "claims.a" } })),
      'jwt[0].claimMappings.username: Invalid value: "": claim and expression can\'t both be set',
    ],
    [
      "S2-AUTHC-11: a username expression with prefix",
      fileOfJwt(mapping({ username: { prefix: "p", expression: "claims.a" } })),
      'jwt[0].claimMappings.username.prefix: Invalid value: "p": may not be specified when expression is set',
    ],
    [
      "S2-AUTHC-12: a groups claim without prefix",
      fileOfJwt(mapping({ groups: { claim: "groups" } })),
      "jwt[0].claimMappings.groups.prefix: Required value: prefix is required when claim is set. It can be set to an empty string to disable prefixing",
    ],
    [
      "S2-AUTHC-12: groups by claim and expression",
      fileOfJwt(mapping({ groups: { claim: "a", prefix: "", expression: "claims.a" } })),
      'jwt[0].claimMappings.groups: Invalid value: "": claim and expression can\'t both be set',
    ],
    [
      "S2-AUTHC-13: a uid by claim and expression",
      fileOfJwt(mapping({ uid: { claim: "a", expression: "claims.a" } })),
      'jwt[0].claimMappings.uid: Invalid value: "": claim and expression can\'t both be set',
    ],
    [
      "S2-AUTHC-14: an extra key without domain",
      fileOfJwt(extra("foo")),
      'jwt[0].claimMappings.extra[0].key: Invalid value: "foo": must be a domain-prefixed path (such as "acme.io/foo")',
    ],
    [
      "S2-AUTHC-14: an extra key without name",
      fileOfJwt(extra("")),
      "jwt[0].claimMappings.extra[0].key: Required value",
    ],
    [
      "S2-AUTHC-14: an extra key in capitals",
      fileOfJwt(extra("example.org/Foo")),
      'jwt[0].claimMappings.extra[0].key: Invalid value: "example.org/Foo": must be lowercase',
    ],
    [
      "S2-AUTHC-14: a reserved extra key",
      fileOfJwt(extra("a.kubernetes.io/foo")),
      'jwt[0].claimMappings.extra[0].key: Invalid value: "a.kubernetes.io/foo": k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use',
    ],
    [
      "S2-AUTHC-14: the other reserved extra key",
      fileOfJwt(extra("k8s.io/foo")),
      'jwt[0].claimMappings.extra[0].key: Invalid value: "k8s.io/foo": k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use',
    ],
    [
      "S2-AUTHC-14: a repeated extra key",
      fileOfJwt(
        mapping({
          extra: [
            { key: "example.org/a", valueExpression: "'x'" },
            { key: "example.org/a", valueExpression: "'y'" },
          ],
        }),
      ),
      'jwt[0].claimMappings.extra[1].key: Duplicate value: "example.org/a"',
    ],
    [
      "S2-AUTHC-14: an extra key without value",
      fileOfJwt(extra("example.org/a", "")),
      "jwt[0].claimMappings.extra[0].valueExpression: Required value",
    ],
    [
      "S2-AUTHC-15: a user rule without expression",
      fileOfJwt(userRules({ message: "m" })),
      "jwt[0].userValidationRules[0].expression: Required value",
    ],
    [
      "S2-AUTHC-15: a repeated user rule",
      fileOfJwt(userRules({ expression: "true" }, { expression: "true" })),
      'jwt[0].userValidationRules[1].expression: Duplicate value: "true"',
    ],
    [
      "S2-AUTHC-16: a mail address that nobody verifies",
      fileOfJwt(jwt({}, { claimMappings: { username: { expression: "claims.email" } } })),
      'jwt[0].claimMappings.username.expression: Invalid value: "claims.email": claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression',
    ],
    [
      "S2-AUTHC-20: conditions for nobody",
      withFile(fileOf({ anonymous: { enabled: false, conditions: [{ path: "/livez" }] } })),
      'anonymous.conditions: Invalid value: [{"path":"/livez"}]: enabled should be set to true when conditions are defined',
    ],
    [
      "S2-AUTHC-21: anonymous in the file and as a flag",
      withFile(fileOf({ anonymous: { enabled: true } }), {
        given: new Set(["authenticationConfig", "anonymousAuth"]),
      }),
      "anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file",
    ],
  ];
  for (const [title, options, problem] of bad) {
    test(`${title} is refused at the start`, () => assert.equal(fileProblemOf(options), problem));
  }

  const uncompilable: readonly (readonly [string, object, string])[] = [
    [
      "S2-AUTHC-09: a rule that is no CEL",
      rules({ expression: "claims.(" }),
      "claimValidationRules[0].expression",
    ],
    [
      "S2-AUTHC-09: a rule that is no condition",
      rules({ expression: "'a'" }),
      "claimValidationRules[0].expression",
    ],
    [
      "S2-AUTHC-17: a rule over something else",
      rules({ expression: "user.name == 'a'" }),
      "claimValidationRules[0].expression",
    ],
    [
      "S2-AUTHC-11: a username of a number",
      mapping({ username: { expression: "1" } }),
      "claimMappings.username.expression",
    ],
    [
      "S2-AUTHC-12: groups of a number",
      mapping({ groups: { expression: "1" } }),
      "claimMappings.groups.expression",
    ],
    [
      "S2-AUTHC-13: a uid of a list",
      mapping({ uid: { expression: "['a']" } }),
      "claimMappings.uid.expression",
    ],
    [
      "S2-AUTHC-14: an extra value of an unknown name",
      extra("example.org/a", "foo"),
      "claimMappings.extra[0].valueExpression",
    ],
    [
      "S2-AUTHC-15: a user rule over claims",
      userRules({ expression: "claims.a == 'b'" }),
      "userValidationRules[0].expression",
    ],
    [
      "S2-AUTHC-15: a user rule over an unknown field",
      userRules({ expression: "user.name == 'b'" }),
      "userValidationRules[0].expression",
    ],
  ];
  for (const [title, authenticator, field] of uncompilable) {
    test(`${title} is refused at the start`, () => {
      const problem = fileProblemOf(fileOfJwt(authenticator));
      assert.ok(problem.startsWith(`jwt[0].${field}: Invalid value: `), problem);
      assert.match(problem, /: compilation failed: /);
    });
  }

  const good: readonly (readonly [string, object | readonly object[]])[] = [
    ["S2-AUTHC-02, S2-LIM-01: 64 authenticators", many(64)],
    ["S2-AUTHC-02: no authenticator at all", []],
    ["S2-AUTHC-04: a discovery URL of its own", jwt({ discoveryURL: "https://d.example/x" })],
    [
      "S2-AUTHC-07: several audiences",
      jwt({ audiences: ["a", "b"], audienceMatchPolicy: "MatchAny" }),
    ],
    ["S2-AUTHC-07: one audience with policy", jwt({ audienceMatchPolicy: "MatchAny" })],
    [
      "S2-AUTHC-08: both egress selectors",
      [
        jwt({ egressSelectorType: "controlplane" }),
        jwt({ url: "https://b.example", egressSelectorType: "cluster" }),
      ],
    ],
    ["S2-AUTHC-09: a claim without value", rules({ claim: "a" })],
    ["S2-AUTHC-13: a uid by expression", mapping({ uid: { expression: "claims.sub" } })],
    ["S2-AUTHC-14: an extra key with a path", extra("example.org/foo/bar")],
    [
      "S2-AUTHC-16: a verified mail address in the username",
      mapping({
        username: { expression: "claims.email_verified ? claims.email : ''" },
      }),
    ],
    [
      "S2-AUTHC-16: a mail address verified by a rule",
      jwt(
        {},
        {
          claimMappings: { username: { expression: "claims.email" } },
          claimValidationRules: [{ expression: "claims.email_verified == true" }],
        },
      ),
    ],
    [
      "S2-AUTHC-16: a mail address verified beside",
      mapping({
        username: { expression: "'mail:' + claims.email" },
        extra: [{ key: "example.org/a", valueExpression: "string(claims.email_verified)" }],
      }),
    ],
    ["S2-AUTHC-16: a mail address by claim", mapping({ username: { claim: "email", prefix: "" } })],
    [
      "S2-AUTHC-15: rules over all of the user",
      userRules(
        { expression: "!user.username.startsWith('system:')", message: "reserved" },
        { expression: "user.groups.all(group, group != 'a') && user.uid != 'x'" },
        { expression: "!has(user.extra) || !('a' in user.extra)" },
      ),
    ],
  ];
  for (const [title, authenticators] of good) {
    test(`${title} is accepted`, () => {
      const list = Array.isArray(authenticators) ? authenticators : [authenticators];
      assert.equal(fileProblemOf(fileOfJwt(...list)), "none");
    });
  }

  test("S2-AUTHC-20: what the file says of anonymous access is in force", () => {
    const anonymous = { enabled: true, conditions: [{ path: "/livez" }, { path: "/readyz" }] };
    assert.deepEqual(checkAuthentication(withFile(fileOf({ anonymous }))).anonymous, anonymous);
    assert.deepEqual(checkAuthentication(withFile(fileOf({ anonymous: {} }))).anonymous, {
      enabled: false,
      conditions: [],
    });
    const given = withFile(fileOf({}), {
      given: new Set(["authenticationConfig", "anonymousAuth"]),
    });
    assert.deepEqual(checkAuthentication(given).anonymous, { enabled: true, conditions: [] });
  });

  test("S2-ANON-01: where AlwaysAllow is one of the authorizers, only a file opens anonymous access", () => {
    const lines = (options: AuthenticationOptions) => {
      const checked = checkAuthentication(options);
      return [checked.anonymous.enabled, anonymousWarning(options, checked)];
    };
    const refused = "anonymous requests are refused, as AlwaysAllow is one of the authorizers";
    const isOpenToAll = true;
    assert.deepEqual(lines(withFlags({})), [true, undefined]);
    assert.deepEqual(lines(withFlags({}, { isOpenToAll })), [false, refused]);
    assert.deepEqual(lines(withFile(fileOf({}), { isOpenToAll })), [false, refused]);
    assert.deepEqual(lines(withFlags({ anonymousAuth: true }, { isOpenToAll })), [false, refused]);
    assert.deepEqual(lines(withFlags({ anonymousAuth: false }, { isOpenToAll })), [
      false,
      undefined,
    ]);
    const onPurpose = { enabled: true, conditions: [{ path: "/livez" }] };
    const [isOpen, warning] = lines(withFile(fileOf({ anonymous: onPurpose }), { isOpenToAll }));
    assert.equal(isOpen, true);
    assert.match(String(warning), /everybody may do everything at \/livez$/);
  });

  test("S2-AUTHC-22: the hash tells configurations apart", () => {
    const hash = checkAuthentication(fileOfJwt(jwt())).hash;
    assert.match(hash, /^sha256:[0-9a-f]{64}$/);
    assert.notEqual(checkAuthentication(fileOfJwt()).hash, hash);
  });
});
