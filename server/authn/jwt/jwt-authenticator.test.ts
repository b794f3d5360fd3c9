/** Tokens of a real issuer over TLS: accepted and refused tokens, and changes of keys and configuration. */
import assert from "node:assert/strict";
import { createHmac, type webcrypto } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { exportSPKI, importJWK } from "jose";
import {
  answerJson,
  type Claims,
  makeSelfSigned,
  TestIssuer,
} from "../../../e2e/harness/oidc-issuer.js";
import { TestAuthority } from "../../../e2e/harness/test-authority.js";
import { systemClock } from "../../../storage/base/clock.js";
import { type Logger, silentLogger } from "../../../storage/base/logger.js";
import { ManualClock } from "../../../storage/base/testing/manual-clock.js";
import { StatusError } from "../../api/status.js";
import type { UserInfo } from "../../request/user-info.js";
import { UnionAuthenticator } from "../authenticator.js";
import { UnknownBearerAuthenticator } from "../unknown-bearer.js";
import { checkAuthentication, type JwtFlags } from "./flags.js";
import { JwtAuthenticator, type JwtAuthenticatorOptions } from "./jwt-authenticator.js";
import { fileOf, jwt, withFile, withFlags } from "./testing/options.js";
import { TOKEN_CHARS_MAX } from "./token.js";

const WAIT = { signal: new AbortController().signal };

function create(options: Partial<JwtAuthenticatorOptions>): JwtAuthenticator {
  return new JwtAuthenticator({
    checked: checkAuthentication(withFlags({})),
    hostRoots: [],
    clock: systemClock,
    logger: silentLogger,
    ...options,
  });
}

/** Configured by flags, with the issuer's own authority. */
function byFlags(issuer: TestIssuer, flags: Partial<JwtFlags> = {}) {
  const all = {
    oidcIssuerUrl: issuer.url,
    oidcClientId: "keelson",
    oidcUsernamePrefix: "-",
    ...flags,
  };
  return checkAuthentication(withFlags(all, { oidcAuthority: issuer.authority }));
}

/** Configured by a file with one authenticator per issuer. */
function byFile(...authenticators: readonly object[]) {
  return checkAuthentication(withFile(fileOf({ jwt: authenticators })));
}

function trusted(issuer: TestIssuer, more: object = {}, others: object = {}) {
  return jwt({ url: issuer.url, certificateAuthority: issuer.authority, ...more }, others);
}

/** The union's result: "401", or the user. */
async function login(authenticator: JwtAuthenticator, token: string): Promise<UserInfo | "401"> {
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

async function nameOf(authenticator: JwtAuthenticator, token: string): Promise<string> {
  const user = await login(authenticator, token);
  return user === "401" ? user : user.name;
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const nowSeconds = () => Math.floor(Date.now() / 1000);

describe("tokens of one issuer", () => {
  let issuer: TestIssuer;
  let authenticator: JwtAuthenticator;
  before(async () => {
    issuer = await TestIssuer.open();
    authenticator = create({ checked: byFlags(issuer) });
  });
  after(() => issuer[Symbol.asyncDispose]());

  test("S2-OIDC-01, S2-OIDC-13: a good token makes a user, who is authenticated", async () => {
    assert.deepEqual(await login(authenticator, await issuer.sign()), {
      name: "jane",
      uid: "",
      groups: ["system:authenticated"],
      extra: {},
    });
  });

  const refused: readonly (readonly [string, Claims, Claims?])[] = [
    ["S2-OIDC-02: another audience", { aud: "another" }],
    ["S2-OIDC-02: other audiences", { aud: ["another", "keelson2"] }],
    ["S2-OIDC-02: no audience", { aud: undefined }],
    ["S2-OIDC-02: an audience that is no text", { aud: { keelson: true } }],
    ["S2-OIDC-13: an expired token", { exp: nowSeconds() - 1 }],
    ["S2-OIDC-13: a token that never expires", { exp: undefined }],
    ["S2-OIDC-13: an expiry that is a text", { exp: String(nowSeconds() + 1000) }],
    ["S2-OIDC-13: a token that is not valid yet", { nbf: nowSeconds() + 600 }],
    ["S2-OIDC-13: a beginning that is a text", { nbf: "soon" }],
    ["S2-OIDC-13: another issuer", { iss: "https://another.example" }],
    ["S2-OIDC-13: an issuer with a slash too many", { iss: "/" }],
    ["S2-OIDC-03: no subject", { sub: undefined }],
    ["S2-OIDC-03: an empty subject", { sub: "" }],
    ["S2-OIDC-03: a subject that is no text", { sub: 7 }],
    ["S2-OIDC-14: an unknown key", {}, { kid: "unknown" }],
    ["S2-OIDC-13: a critical extension", {}, { crit: ["b64"], b64: true }],
  ];
  for (const [title, claims, header] of refused) {
    test(`${title} is refused`, async () => {
      const whole = claims.iss === "/" ? { iss: `${issuer.url}/` } : claims;
      assert.equal(await login(authenticator, await issuer.sign(whole, header)), "401");
    });
  }

  test("S2-OIDC-02: one audience among several is enough", async () => {
    const token = await issuer.sign({ aud: ["another", "keelson"] });
    assert.equal(await nameOf(authenticator, token), "jane");
  });

  test("S2-OIDC-13: a clock that is half a minute ahead is tolerated", async () => {
    const token = await issuer.sign({ nbf: nowSeconds() + 30 });
    assert.equal(await nameOf(authenticator, token), "jane");
  });

  test("S2-OIDC-11: a token without signature is refused", async () => {
    const payload = (await issuer.sign()).split(".")[1] as string;
    for (const alg of ["none", "None", "NONE", ""]) {
      assert.equal(await login(authenticator, `${encode({ alg })}.${payload}.`), "401");
      assert.equal(await login(authenticator, `${encode({ alg })}.${payload}.e30`), "401");
    }
  });

  test("S2-OIDC-11: the issuer's public key is no shared secret", async () => {
    const { kid, publicJwk } = issuer.key;
    const payload = (await issuer.sign()).split(".")[1] as string;
    const spki = await exportSPKI((await importJWK(publicJwk, "RS256")) as webcrypto.CryptoKey);
    const secrets = [spki, spki.trimEnd(), JSON.stringify(publicJwk), publicJwk.n ?? ""];
    for (const [index, secret] of secrets.entries()) {
      for (const alg of ["HS256", "HS512"]) {
        const signed = `${encode({ alg, kid })}.${payload}`;
        const hash = `sha${alg.slice(2)}`;
        const signature = createHmac(hash, secret).update(signed).digest("base64url");
        assert.equal(await login(authenticator, `${signed}.${signature}`), "401", String(index));
      }
    }
  });

  test("S2-OIDC-13: one changed character anywhere is one too many", async () => {
    const token = await issuer.sign();
    const parts = token.split(".");
    for (const part of [0, 1, 2]) {
      const text = parts[part] as string;
      const at = Math.floor(text.length / 2);
      const other = text[at] === "A" ? "B" : "A";
      const changed = [...parts];
      changed[part] = text.slice(0, at) + other + text.slice(at + 1);
      assert.equal(await login(authenticator, changed.join(".")), "401", String(part));
    }
  });

  test("S2-OIDC-12, S2-ERR-01: what is no ID token is refused", async () => {
    const token = await issuer.sign();
    const [header, payload] = token.split(".");
    const others = [
      "ya29.an-opaque-access-token",
      "opaque",
      `${header}.${payload}`,
      `${token}.x`,
      `${header}..${payload}.x.y`,
      "..",
      `${header}.${Buffer.from("[]").toString("base64url")}.x`,
      `${header}.${Buffer.from("{").toString("base64url")}.x`,
      await issuer.sign({ aud: "https://api.example", scope: "openid" }, { typ: "at+jwt" }),
    ];
    for (const other of others) assert.equal(await login(authenticator, other), "401", other);
  });

  test("a token beyond the bound is refused without being looked at", async () => {
    const fits = await issuer.sign({ filler: "x".repeat(TOKEN_CHARS_MAX / 2) });
    assert.equal(await nameOf(authenticator, fits), "jane");
    const asked = { ...issuer.asked };
    const oversize = await issuer.sign({ filler: "x".repeat(TOKEN_CHARS_MAX) });
    assert.equal(await login(authenticator, oversize), "401");
    assert.deepEqual(issuer.asked, asked);
  });

  test("S2-OIDC-10: a signature by another algorithm than those of the flag is refused", async () => {
    await using es = await TestIssuer.open({ algorithm: "ES256" });
    const byDefault = create({ checked: byFlags(es) });
    assert.equal(await login(byDefault, await es.sign()), "401");
    const allowed = create({ checked: byFlags(es, { oidcSigningAlgs: ["RS256", "ES256"] }) });
    assert.equal(await nameOf(allowed, await es.sign()), "jane");
  });

  test("S2-OIDC-11: each of the nine algorithms is verified", async () => {
    const algorithms = [
      "RS256",
      "RS384",
      "RS512",
      "ES256",
      "ES384",
      "ES512",
      "PS256",
      "PS384",
      "PS512",
    ];
    await using other = await TestIssuer.open({ algorithm: "ES256" });
    const checked = byFlags(other, { oidcSigningAlgs: algorithms });
    for (const algorithm of algorithms) {
      await other.rotate({ algorithm });
      // A new authenticator each time, because fetches for unknown keys are limited.
      assert.equal(await nameOf(create({ checked }), await other.sign()), "jane", algorithm);
    }
  });

  test("other credentials are not for this authenticator", async () => {
    for (const authorization of [undefined, "Basic abc", "Bearer", "Bearer  "]) {
      const headers = authorization === undefined ? {} : { authorization };
      const facts = { headers, socket: undefined, path: "/" };
      assert.equal(authenticator.authenticate(facts, WAIT), undefined);
    }
    const none = create({});
    assert.equal(none.authenticateToken(await issuer.sign(), WAIT), undefined);
  });

  test("no log line holds a token or a part of one", async () => {
    const lines: string[] = [];
    const write = (fields: object, message: string) =>
      lines.push(JSON.stringify([fields, message]));
    const logger: Logger = {
      debug: write,
      info: write,
      warn: write,
      error: write,
      child: () => logger,
    };
    const token = await issuer.sign({ exp: 1 });
    const clock = new ManualClock(Date.now());
    const logging = create({ checked: byFlags(issuer), logger, clock });
    const forged = `${await issuer.sign()}x`;
    for (const bad of [token, forged, `${token}x`]) {
      clock.advance(1_001);
      assert.equal(await login(logging, bad), "401");
    }
    const said = lines.join("\n");
    assert.match(said, /a token was refused/);
    for (const part of [...token.split("."), ...forged.split(".")]) {
      assert.ok(!said.includes(part.slice(0, 20)) || part.length < 20, said);
    }
  });
});

describe("verdicts", () => {
  test("a token is verified once; then the answer comes at once", async () => {
    await using issuer = await TestIssuer.open({ algorithm: "ES256" });
    const results: string[] = [];
    const metrics = {
      authenticated: (_issuer: string, result: string) => void results.push(result),
      keysFetched: () => {},
      forgotten: () => {},
    };
    const checked = byFlags(issuer, { oidcSigningAlgs: ["ES256"] });
    const authenticator = create({ checked, metrics });
    const token = await issuer.sign();
    const first = [1, 2, 3].map(() => authenticator.authenticateToken(token, WAIT));
    for (const answer of first) assert.equal((await answer)?.name, "jane");
    const again = authenticator.authenticateToken(token, WAIT);
    assert.ok(!(again instanceof Promise));
    assert.equal(again?.name, "jane");
    assert.deepEqual(results, ["success"]);
    assert.deepEqual(issuer.asked, { discovery: 1, keys: 1 });
  });

  test("S2-OIDC-13: a verdict lasts as long as its token", async () => {
    await using issuer = await TestIssuer.open();
    const clock = new ManualClock(Date.now());
    const authenticator = create({ checked: byFlags(issuer), clock });
    const token = await issuer.sign({ exp: nowSeconds() + 100 });
    assert.equal(await nameOf(authenticator, token), "jane");
    clock.advance(98_000);
    assert.equal(await nameOf(authenticator, token), "jane");
    clock.advance(3_000);
    assert.equal(await login(authenticator, token), "401");
  });

  test("a request that is given up does not wait", async () => {
    await using issuer = await TestIssuer.open();
    issuer.overrides.set(issuer.discoveryPath, () => {});
    const authenticator = create({ checked: byFlags(issuer) });
    const controller = new AbortController();
    const answer = authenticator.authenticateToken(await issuer.sign(), controller);
    controller.abort(new Error("gone"));
    await assert.rejects(async () => await answer, /gone/);
  });
});

describe("an issuer's keys", () => {
  test("S2-OIDC-14: a new key is fetched when a token names it, and a withdrawn one is forgotten", async () => {
    await using issuer = await TestIssuer.open();
    const authenticator = create({ checked: byFlags(issuer) });
    const old = await issuer.sign();
    assert.equal(await nameOf(authenticator, old), "jane");
    await issuer.rotate();
    assert.equal(await nameOf(authenticator, await issuer.sign({ sub: "joe" })), "joe");
    assert.equal(issuer.asked.keys, 2);
    assert.equal(await login(authenticator, old), "401", "known verdicts fall with their key");
  });

  test("S2-OIDC-14: while both keys are published both count, also under one name or none", async () => {
    await using issuer = await TestIssuer.open();
    const clock = new ManualClock(Date.now());
    const authenticator = create({ checked: byFlags(issuer), clock });
    const old = issuer.key;
    await issuer.rotate({ withdrawsOld: false });
    assert.equal(await nameOf(authenticator, await issuer.sign({}, {}, old)), "jane");
    assert.equal(
      await nameOf(authenticator, await issuer.sign({}, { kid: undefined }, old)),
      "jane",
    );
    assert.equal(await nameOf(authenticator, await issuer.sign({}, { kid: undefined })), "jane");
    await issuer.rotate({ withdrawsOld: false, kid: old.kid });
    clock.advance(60_000);
    assert.equal(await nameOf(authenticator, await issuer.sign()), "jane");
    assert.equal(await nameOf(authenticator, await issuer.sign({}, {}, old)), "jane");
  });

  test("S2-OIDC-14: a key that was replaced under its name is noticed", async () => {
    await using issuer = await TestIssuer.open();
    const authenticator = create({ checked: byFlags(issuer) });
    const old = await issuer.sign();
    assert.equal(await nameOf(authenticator, old), "jane");
    await issuer.rotate({ kid: issuer.key.kid });
    assert.equal(await nameOf(authenticator, await issuer.sign({ sub: "joe" })), "joe");
    assert.equal(await login(authenticator, old), "401");
  });

  test("tokens with made-up keys do not overrun the issuer", async () => {
    await using issuer = await TestIssuer.open();
    const clock = new ManualClock(Date.now());
    const authenticator = create({ checked: byFlags(issuer), clock });
    assert.equal(await nameOf(authenticator, await issuer.sign()), "jane");
    for (let round = 1; round <= 3; round++) {
      clock.advance(1_000);
      const tokens = await Promise.all(
        Array.from({ length: 20 }, (_, index) => issuer.sign({}, { kid: `made-up-${index}` })),
      );
      const answers = await Promise.all(tokens.map((token) => login(authenticator, token)));
      assert.deepEqual(new Set(answers), new Set(["401"]));
      assert.equal(issuer.asked.keys, 1 + round);
    }
    assert.equal(issuer.asked.discovery, 1);
  });

  test("S2-OIDC-14: made-up tokens do not cost a good token with a new key its success", async () => {
    await using issuer = await TestIssuer.open();
    const clock = new ManualClock(Date.now());
    const authenticator = create({ checked: byFlags(issuer), clock });
    assert.equal(await nameOf(authenticator, await issuer.sign()), "jane");
    for (let n = 1; n <= 4; n++) {
      assert.equal(
        await login(authenticator, await issuer.sign({}, { kid: `made-up-${n}` })),
        "401",
      );
    }
    await issuer.rotate();
    assert.equal(await nameOf(authenticator, await issuer.sign({ sub: "joe" })), "joe");
    // A burst is allowed; after that the token waits for the next fetch.
    await issuer.rotate();
    const answer = nameOf(authenticator, await issuer.sign({ sub: "jim" }));
    await clock.untilAsleep();
    assert.equal(issuer.asked.keys, 6);
    clock.advance(1_000);
    assert.equal(await answer, "jim");
    assert.equal(issuer.asked.keys, 7);
  });

  test("S2-OIDC-14: keys are fetched again and again in the background", async () => {
    await using issuer = await TestIssuer.open();
    const clock = new ManualClock(Date.now());
    const fetched: (string | undefined)[] = [];
    const metrics = {
      authenticated: () => {},
      keysFetched: (_issuer: string, hash: string | undefined) => void fetched.push(hash),
      forgotten: () => {},
    };
    const authenticator = create({ checked: byFlags(issuer), clock, metrics });
    const controller = new AbortController();
    const running = authenticator.run(controller.signal);
    await clock.untilAsleep();
    const old = await issuer.sign();
    assert.equal(await nameOf(authenticator, old), "jane");
    await issuer.rotate();
    clock.advance(300_000);
    await clock.untilAsleep();
    assert.equal(issuer.asked.keys, 2);
    assert.equal(await login(authenticator, old), "401");
    // The issuer is unreachable; its last keys stay.
    await issuer.stop();
    clock.advance(300_000);
    await clock.untilAsleep();
    assert.equal(await nameOf(authenticator, await issuer.sign()), "jane");
    assert.deepEqual(
      fetched.map((hash) => hash?.slice(0, 7)),
      ["sha256:", "sha256:", "sha256:", undefined],
    );
    controller.abort();
    await running;
  });

  test("S2-OIDC-16: an issuer that is down at the start costs its own tokens a 401, and recovers alone", async () => {
    await using issuer = await TestIssuer.open();
    await issuer.stop();
    const clock = new ManualClock(Date.now());
    const authenticator = create({ checked: byFlags(issuer), clock });
    const controller = new AbortController();
    const running = authenticator.run(controller.signal);
    await clock.untilAsleep();
    const token = await issuer.sign();
    assert.equal(await login(authenticator, token), "401");
    await issuer.restart();
    clock.advance(5_000);
    await clock.untilAsleep();
    assert.equal(await nameOf(authenticator, token), "jane");
    controller.abort();
    await running;
  });

  test("requests right after the start wait for the first fetch instead of failing", async () => {
    await using issuer = await TestIssuer.open();
    const authenticator = create({ checked: byFlags(issuer) });
    const controller = new AbortController();
    const running = authenticator.run(controller.signal);
    assert.equal(await nameOf(authenticator, await issuer.sign()), "jane");
    assert.deepEqual(issuer.asked, { discovery: 1, keys: 1 });
    controller.abort();
    await running;
  });

  const broken: readonly (readonly [string, (issuer: TestIssuer) => void])[] = [
    [
      "S2-AUTHC-04: a document of another issuer",
      (issuer) =>
        issuer.overrides.set(issuer.discoveryPath, (_request, response) =>
          answerJson(response, { issuer: "https://another.example", jwks_uri: issuer.keysUrl }),
        ),
    ],
    [
      "S2-OIDC-14: keys without TLS",
      (issuer) =>
        issuer.overrides.set(issuer.discoveryPath, (_request, response) =>
          answerJson(response, {
            issuer: issuer.url,
            jwks_uri: issuer.keysUrl.replace("https", "http"),
          }),
        ),
    ],
    [
      "no document",
      (issuer) =>
        issuer.overrides.set(issuer.discoveryPath, (_request, response) =>
          response.writeHead(404).end(),
        ),
    ],
    [
      "keys that are none",
      (issuer) =>
        issuer.overrides.set(issuer.keysPath, (_request, response) => answerJson(response, [])),
    ],
    [
      "keys that are no JSON",
      (issuer) =>
        issuer.overrides.set(issuer.keysPath, (_request, response) => response.end("<html>")),
    ],
    [
      "more keys than anybody needs",
      (issuer) =>
        issuer.overrides.set(issuer.keysPath, (_request, response) =>
          answerJson(response, { keys: Array.from({ length: 101 }, () => issuer.key.publicJwk) }),
        ),
    ],
  ];
  for (const [title, breakIssuer] of broken) {
    test(`${title}: its tokens are refused`, async () => {
      await using issuer = await TestIssuer.open({ algorithm: "ES256" });
      breakIssuer(issuer);
      const checked = byFlags(issuer, { oidcSigningAlgs: ["ES256"] });
      assert.equal(await login(create({ checked }), await issuer.sign()), "401");
    });
  }

  test("one bad key in the set does not cost the others", async () => {
    await using issuer = await TestIssuer.open({ algorithm: "ES256" });
    const { publicJwk } = issuer.key;
    issuer.overrides.set(issuer.keysPath, (_request, response) =>
      answerJson(response, {
        keys: [null, 7, { kty: "oct", k: "AAAA" }, { kty: "new" }, publicJwk],
      }),
    );
    const checked = byFlags(issuer, { oidcSigningAlgs: ["ES256"] });
    assert.equal(await nameOf(create({ checked }), await issuer.sign()), "jane");
    assert.equal(
      await nameOf(create({ checked }), await issuer.sign({}, { kid: undefined })),
      "jane",
    );
  });

  test("S2-AUTHC-04: the discovery document may stand elsewhere", async () => {
    await using issuer = await TestIssuer.open({ algorithm: "ES256", path: "/realms/a" });
    issuer.overrides.set(issuer.discoveryPath, (_request, response) =>
      response.writeHead(500).end(),
    );
    issuer.overrides.set("/elsewhere", (_request, response) =>
      answerJson(response, { issuer: issuer.url, jwks_uri: issuer.keysUrl }),
    );
    const discoveryURL = issuer.url.replace("/realms/a", "/elsewhere");
    const authenticator = create({ checked: byFile(trusted(issuer, { discoveryURL })) });
    assert.equal(await nameOf(authenticator, await issuer.sign()), "jane");
    assert.equal(issuer.asked.discovery, 0);
  });
});

describe("an issuer's certificate", () => {
  test("S2-OIDC-09, S2-AUTHC-05: by an authority of its own, or by one of the machine's, else not", async () => {
    await using issuer = await TestIssuer.open({ algorithm: "ES256" });
    const token = await issuer.sign();
    const own = byFile(trusted(issuer));
    const machine = byFile(jwt({ url: issuer.url }));
    const stranger = await TestAuthority.create("stranger");
    const strange = byFile(trusted(issuer, { certificateAuthority: stranger.certificate }));
    assert.equal(await nameOf(create({ checked: own }), token), "jane");
    assert.equal(await login(create({ checked: machine }), token), "401");
    const hostRoots = [stranger.certificate, issuer.authority];
    assert.equal(await nameOf(create({ checked: machine, hostRoots }), token), "jane");
    assert.equal(await login(create({ checked: strange, hostRoots }), token), "401");
  });

  test("S2-OIDC-14: whoever vouches for the issuer must be an authority (CA:TRUE)", async () => {
    const root = await TestAuthority.create("root");
    const server = { commonName: "issuer", usage: "server", hosts: ["127.0.0.1"] } as const;
    const below = await root.createIntermediate("below");
    const fake = await root.createIntermediate("fake", { isAuthority: false });
    const cases: readonly (readonly [string, boolean, { cert: string; key: string }, string])[] = [
      ["an authority below the root", true, await below.issue(server), root.certificate],
      ["not an authority, below the root", false, await fake.issue(server), root.certificate],
      ["itself, as an authority", true, await makeSelfSigned(true), ""],
      ["itself, as none", false, await makeSelfSigned(false), ""],
    ];
    for (const [title, isGood, identity, authority] of cases) {
      await using issuer = await TestIssuer.open({ algorithm: "ES256", identity });
      const certificateAuthority = authority === "" ? identity.cert : authority;
      const authenticator = create({ checked: byFile(trusted(issuer, { certificateAuthority })) });
      const token = await issuer.sign();
      assert.equal(await nameOf(authenticator, token), isGood ? "jane" : "401", title);
    }
  });

  test("S2-OIDC-14: it must be for the issuer's host, and of today", async () => {
    const root = await TestAuthority.create("root");
    const hour = 3_600_000;
    const leaves = [
      { hosts: ["issuer.example"] },
      { hosts: ["127.0.0.1"], notAfter: new Date(Date.now() - hour) },
      { hosts: ["127.0.0.1"], notBefore: new Date(Date.now() + hour) },
    ];
    for (const leaf of leaves) {
      const identity = await root.issue({ commonName: "issuer", usage: "server", ...leaf });
      await using issuer = await TestIssuer.open({ algorithm: "ES256", identity });
      const certificateAuthority = root.certificate;
      const authenticator = create({ checked: byFile(trusted(issuer, { certificateAuthority })) });
      assert.equal(await login(authenticator, await issuer.sign()), "401");
    }
  });
});

describe("several issuers", () => {
  test("S2-AUTHC-03, S2-AUTHC-06: each judges its own tokens, by its own audiences", async () => {
    await using first = await TestIssuer.open({ algorithm: "ES256" });
    await using second = await TestIssuer.open({ algorithm: "ES256" });
    const authenticator = create({
      checked: byFile(
        trusted(first, {}, { claimMappings: { username: { claim: "sub", prefix: "first:" } } }),
        trusted(
          second,
          { audiences: ["a", "b"], audienceMatchPolicy: "MatchAny" },
          { claimMappings: { username: { claim: "sub", prefix: "second:" } } },
        ),
      ),
    });
    assert.equal(await nameOf(authenticator, await first.sign()), "first:jane");
    assert.equal(await nameOf(authenticator, await second.sign({ aud: "b" })), "second:jane");
    assert.equal(
      await nameOf(authenticator, await second.sign({ aud: ["c", "a"] })),
      "second:jane",
    );
    assert.equal(await login(authenticator, await second.sign()), "401");
    assert.equal(await login(authenticator, await second.sign({ iss: first.url })), "401");
    assert.equal(
      await login(authenticator, await first.sign({ iss: second.url, aud: "a" })),
      "401",
    );
  });

  test("S2-OIDC-16: one that does not answer costs the others nothing", async () => {
    await using good = await TestIssuer.open({ algorithm: "ES256" });
    await using silent = await TestIssuer.open({ algorithm: "ES256" });
    silent.overrides.set(silent.discoveryPath, () => {});
    const authenticator = create({ checked: byFile(trusted(silent), trusted(good)) });
    const controller = new AbortController();
    const running = authenticator.run(controller.signal);
    assert.equal(await nameOf(authenticator, await good.sign()), "jane");
    controller.abort();
    await running;
  });
});

describe("a changed configuration", () => {
  test("S2-AUTHC-22: it is in force for the next request; issuers that stay keep their keys", async () => {
    await using kept = await TestIssuer.open({ algorithm: "ES256" });
    await using added = await TestIssuer.open({ algorithm: "ES256" });
    const authenticator = create({ checked: byFile(trusted(kept)) });
    const controller = new AbortController();
    const running = authenticator.run(controller.signal);
    const token = await kept.sign({ name: "Jane" });
    assert.equal(await nameOf(authenticator, token), "jane");
    assert.equal(await login(authenticator, await added.sign()), "401");

    const claimMappings = { username: { claim: "name", prefix: "x:" } };
    authenticator.replace(byFile(trusted(kept, {}, { claimMappings }), trusted(added)));
    assert.equal(await nameOf(authenticator, token), "x:Jane");
    assert.equal(await nameOf(authenticator, await added.sign()), "jane");
    assert.deepEqual(kept.asked, { discovery: 1, keys: 1 });

    authenticator.replace(byFile(trusted(added)));
    assert.equal(await login(authenticator, token), "401");
    assert.equal(authenticator.checked.authenticators.length, 1);
    controller.abort();
    await running;
  });
});
