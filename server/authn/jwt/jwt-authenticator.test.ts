/** Tokens of a real issuer over TLS: accepted and refused tokens, and changes of keys and configuration. */
import assert from "node:assert/strict";
import { createHmac, type webcrypto } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { exportSPKI, importJWK } from "jose";
import { type Claims, TestIssuer } from "../../../e2e/harness/oidc-issuer.js";
import type { Logger } from "../../../storage/base/logger.js";
import { ManualClock } from "../../../storage/base/testing/manual-clock.js";
import type { JwtAuthenticator } from "./jwt-authenticator.js";
import { byFile, byFlags, create, login, nameOf, nowSeconds, trusted } from "./testing/logins.js";
import { TOKEN_CHARS_MAX } from "./token.js";

const WAIT = { signal: new AbortController().signal };

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

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
    ["S2-OIDC-13: an expiry that no integer of 64 bits holds", { exp: 1e20 }],
    ["S2-OIDC-03: no subject", { sub: undefined }],
    ["S2-OIDC-03: an empty subject", { sub: "" }],
    ["S2-OIDC-03: a subject that is no text", { sub: 7 }],
    ["S2-OIDC-14: an unknown key", {}, { kid: "unknown" }],
    ["S2-OIDC-13: a critical extension", {}, { crit: ["b64"], b64: true }],
    ["S2-OIDC-14: a key within the token that is none", {}, { jwk: {} }],
    ["S2-OIDC-14: a secret key within the token", {}, { jwk: { kty: "oct", k: "AAAA" } }],
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

describe("verified tokens", () => {
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

  test("S2-OIDC-13: a verified token is cached as long as it is valid", async () => {
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
