import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import type { UserInfo } from "../../request/user-info.js";
import { checkAuthentication } from "./flags.js";
import { fileOfJwt, jwt } from "./testing/options.js";
import { TokenRefusal } from "./token.js";
import { mapClaims } from "./user-mapping.js";
import type { CompiledJwtAuthenticator } from "./validate-configuration.js";

const SUB = { username: { claim: "sub", prefix: "" } };

function compile(others: object): CompiledJwtAuthenticator {
  const [compiled] = checkAuthentication(fileOfJwt(jwt({}, others))).authenticators;
  assert.ok(compiled);
  return compiled;
}

/** The user, or the reason for refusal. */
function map(others: object, claims: object): UserInfo | string {
  try {
    return mapClaims(compile(others), { sub: "jane", ...claims } as JsonObject);
  } catch (error) {
    assert.ok(error instanceof TokenRefusal, String(error));
    return error.message;
  }
}

function field<K extends keyof UserInfo>(name: K, others: object, claims: object) {
  const user = map(others, claims);
  return typeof user === "string" ? `refused: ${user}` : user[name];
}

const mappings = (claimMappings: object) => ({ claimMappings: { ...SUB, ...claimMappings } });

describe("the name", () => {
  const byClaim = (claim: string, prefix: string) => mappings({ username: { claim, prefix } });
  const byExpression = (expression: string) => mappings({ username: { expression } });
  const cases: readonly (readonly [string, object, object, string])[] = [
    ["S2-AUTHC-10: a claim", byClaim("sub", ""), {}, "jane"],
    ["S2-AUTHC-10: a claim with prefix", byClaim("name", "a:"), { name: "Jane" }, "a:Jane"],
    [
      "S2-AUTHC-10: no such claim",
      byClaim("name", ""),
      {},
      'refused: username: claim "name" is not there',
    ],
    [
      "S2-AUTHC-10: a claim of nothing",
      byClaim("name", ""),
      { name: null },
      'refused: username: claim "name" is no string',
    ],
    [
      "S2-AUTHC-10: an empty claim",
      byClaim("name", "a:"),
      { name: "" },
      'refused: username: claim "name" is empty',
    ],
    [
      "a claim that every object seems to have",
      byClaim("constructor", ""),
      {},
      'refused: username: claim "constructor" is not there',
    ],
    ["S2-OIDC-15: a mail address", byClaim("email", ""), { email: "a@b" }, "a@b"],
    [
      "S2-OIDC-15: a verified one",
      byClaim("email", ""),
      { email: "a@b", email_verified: true },
      "a@b",
    ],
    [
      "S2-OIDC-15: an unverified one",
      byClaim("email", ""),
      { email: "a@b", email_verified: false },
      "refused: email not verified",
    ],
    [
      "S2-OIDC-15: one verified by a text",
      byClaim("email", ""),
      { email: "a@b", email_verified: "true" },
      "refused: email not verified",
    ],
    [
      "S2-OIDC-15: another claim does not care",
      byClaim("sub", ""),
      { email_verified: false },
      "jane",
    ],
    [
      "S2-AUTHC-11: an expression",
      byExpression("claims.sub + ':' + claims.team"),
      { team: "x" },
      "jane:x",
    ],
    [
      "S2-AUTHC-11: an empty result",
      byExpression("claims.name"),
      { name: "" },
      "refused: username: the result is empty",
    ],
    [
      "S2-AUTHC-11: a result that is no string",
      byExpression("claims.name"),
      { name: 7 },
      "refused: username: the result is no string",
    ],
    [
      "S2-AUTHC-17: a nested claim",
      byExpression("claims.a.b[1].c"),
      { a: { b: [0, { c: "d" }] } },
      "d",
    ],
    [
      "S2-AUTHC-17: a claim with dots",
      byExpression("claims['example.org/name']"),
      { "example.org/name": "x" },
      "x",
    ],
    [
      "S2-AUTHC-17: a claim that may be missing",
      byExpression("has(claims.name) ? claims.name : claims.sub"),
      {},
      "jane",
    ],
    [
      "S2-AUTHC-17: an optional claim",
      byExpression("claims.?name.orValue('nobody')"),
      {},
      "nobody",
    ],
    ["S2-AUTHC-17: a number", byExpression("string(claims.n)"), { n: 42 }, "42"],
    [
      "S2-AUTHC-16: a verified mail address",
      byExpression("claims.email_verified ? claims.email : ''"),
      { email: "a@b", email_verified: true },
      "a@b",
    ],
    [
      "S2-AUTHC-16: an unverified one",
      byExpression("claims.email_verified ? claims.email : ''"),
      { email: "a@b", email_verified: false },
      "refused: username: the result is empty",
    ],
  ];
  for (const [title, others, claims, name] of cases) {
    test(title, () => assert.equal(field("name", others, claims), name));
  }

  test("S2-AUTHC-11, S2-AUTHC-18: an expression that fails refuses the token", () => {
    assert.match(String(field("name", byExpression("claims.nothing"), {})), /^refused: username: /);
  });
});

describe("groups, uid and extra", () => {
  const claim = mappings({ groups: { claim: "groups", prefix: "g:" } });
  const expression = mappings({ groups: { expression: "claims.roles" } });
  const wrong = 'refused: groups: claim "groups" is no list of strings';
  const cases: readonly (readonly [string, object, object, unknown])[] = [
    ["S2-AUTHC-12, S2-OIDC-06, S2-OIDC-07: a list", claim, { groups: ["a", "b"] }, ["g:a", "g:b"]],
    ["S2-AUTHC-12, S2-OIDC-06: one string", claim, { groups: "a" }, ["g:a"]],
    ["S2-OIDC-06: no groups", claim, {}, []],
    ["S2-OIDC-06: groups of nothing", claim, { groups: null }, []],
    ["S2-OIDC-06: an empty list", claim, { groups: [] }, []],
    ["S2-OIDC-06: a number", claim, { groups: 7 }, wrong],
    ["S2-OIDC-06: a list of numbers", claim, { groups: ["a", 7] }, wrong],
    ["S2-OIDC-06: a map", claim, { groups: { a: true } }, wrong],
    ["S2-AUTHC-12: a list by expression", expression, { roles: ["a", "", "b"] }, ["a", "b"]],
    ["S2-AUTHC-12: a string by expression", expression, { roles: "a" }, ["a"]],
    ["S2-AUTHC-12: an empty string by expression", expression, { roles: "" }, []],
    ["S2-AUTHC-12: nothing by expression", expression, { roles: null }, []],
    [
      "S2-AUTHC-12: a number by expression",
      expression,
      { roles: 7 },
      "refused: groups: the result is neither a string nor a list of strings",
    ],
    [
      "S2-AUTHC-12: a computed list",
      mappings({ groups: { expression: "claims.roles.split(',').map(r, 'x:' + r)" } }),
      { roles: "a,b" },
      ["x:a", "x:b"],
    ],
    [
      "S2-AUTHC-12: two claims as one list",
      mappings({ groups: { expression: "[string(claims.sub), 'b'] + claims.roles" } }),
      { roles: ["c"] },
      ["jane", "b", "c"],
    ],
  ];
  for (const [title, others, claims, groups] of cases) {
    test(title, () => assert.deepEqual(field("groups", others, claims), groups));
  }

  test("S2-AUTHC-13: a uid by claim or expression", () => {
    const byClaim = mappings({ uid: { claim: "oid" } });
    assert.equal(field("uid", byClaim, { oid: "1-2" }), "1-2");
    assert.equal(field("uid", byClaim, {}), 'refused: uid: claim "oid" is not there');
    const byExpression = mappings({ uid: { expression: "claims.oid" } });
    assert.equal(field("uid", byExpression, { oid: "1-2" }), "1-2");
    assert.equal(field("uid", byExpression, { oid: 1 }), "refused: uid: the result is no string");
    assert.equal(field("uid", mappings({}), { oid: "1-2" }), "");
  });

  test("the claim jti names the token, if it is a text", () => {
    const key = "authentication.kubernetes.io/credential-id";
    const extra = [{ key: "example.org/a", valueExpression: "'x'" }];
    const extraFor = (jti: JsonValue) =>
      mapClaims(compile(mappings({ extra })), { sub: "jane", jti }, key).extra;
    assert.deepEqual(extraFor("7"), { [key]: ["JTI=7"], "example.org/a": ["x"] });
    for (const jti of ["", 7, null]) assert.deepEqual(extraFor(jti), { "example.org/a": ["x"] });
  });

  test("S2-AUTHC-14: extra values by expression; empty ones are left out", () => {
    const others = mappings({
      extra: [
        { key: "example.org/a", valueExpression: "claims.a" },
        { key: "example.org/list", valueExpression: "['x', string(claims.sub)]" },
        { key: "example.org/empty", valueExpression: "''" },
      ],
    });
    assert.deepEqual(field("extra", others, { a: "1" }), {
      "example.org/a": ["1"],
      "example.org/list": ["x", "jane"],
    });
    assert.match(String(field("extra", others, {})), /^refused: extra example.org\/a: /);
    assert.equal(
      field("extra", others, { a: true }),
      "refused: extra example.org/a: the result is neither a string nor a list of strings",
    );
  });
});

describe("rules", () => {
  test("S2-AUTHC-09, S2-OIDC-08: claims must have their values", () => {
    const others = {
      claimValidationRules: [
        { claim: "hd", requiredValue: "example.org" },
        { claim: "team", requiredValue: "" },
      ],
    };
    assert.equal(field("name", others, { hd: "example.org", team: "" }), "jane");
    const other = 'refused: required claim "hd" has another value';
    assert.equal(field("name", others, { hd: "example.com", team: "" }), other);
    assert.equal(
      field("name", others, { hd: "example.org" }),
      'refused: required claim: claim "team" is not there',
    );
    assert.equal(
      field("name", others, { hd: ["example.org"], team: "" }),
      'refused: required claim: claim "hd" is no string',
    );
  });

  test("S2-AUTHC-09, S2-AUTHC-18: an expression must be true, or its message says why not", () => {
    const others = {
      claimValidationRules: [
        { expression: "claims.exp - claims.nbf <= 86400", message: "at most a day" },
        { expression: "claims.hd == 'example.org'" },
      ],
    };
    const good = { exp: 86_400, nbf: 0, hd: "example.org" };
    assert.equal(field("name", others, good), "jane");
    assert.equal(
      field("name", others, { ...good, exp: 86_401 }),
      "refused: claim validation failed: at most a day",
    );
    assert.equal(
      field("name", others, { ...good, hd: "x" }),
      "refused: claim validation failed: claims.hd == 'example.org'",
    );
    assert.match(String(field("name", others, { exp: 1, nbf: 0 })), /^refused: claim validation: /);
  });

  test("S2-AUTHC-15, S2-RBAC-29, S2-ERR-01: the user must be as the rules want it", () => {
    const others = {
      claimMappings: {
        username: { claim: "sub", prefix: "" },
        groups: { claim: "groups", prefix: "" },
        uid: { expression: "claims.?oid.orValue('')" },
        extra: [{ key: "example.org/a", valueExpression: "claims.?a.orValue('')" }],
      },
      userValidationRules: [
        { expression: "!user.username.startsWith('system:')", message: "reserved name" },
        { expression: "user.groups.all(g, !g.startsWith('system:'))" },
        { expression: "user.uid != 'root'" },
        { expression: "!('b' in user.extra[?'example.org/a'].orValue([]))" },
      ],
    };
    assert.equal(field("name", others, {}), "jane");
    assert.equal(field("name", others, { groups: ["a"], oid: "x", a: "c" }), "jane");
    assert.equal(
      field("name", others, { sub: "system:admin" }),
      "refused: user validation failed: reserved name",
    );
    for (const bad of [{ groups: ["system:masters"] }, { oid: "root" }, { a: "b" }]) {
      assert.match(String(field("name", others, bad)), /^refused: user validation failed: /);
    }
  });

  test("S2-AUTHC-15: what a user does not have is there, empty", () => {
    const userValidationRules = [
      { expression: "has(user.uid) && user.uid == ''" },
      { expression: "has(user.groups) && user.groups == []" },
      { expression: "has(user.extra) && size(user.extra) == 0" },
    ];
    assert.equal(field("name", { userValidationRules }, {}), "jane");
  });

  test("an expression that costs too much refuses the token and ends soon", () => {
    const others = {
      claimValidationRules: [
        { expression: "claims.l.all(a, claims.l.all(b, claims.l.all(c, a + b + c >= 0)))" },
      ],
    };
    const l = Array.from({ length: 1_000 }, (_, index) => index);
    assert.match(String(field("name", others, { l })), /^refused: claim validation: /);
  });
});
