/** The keys of an issuer and its certificate: which are believed, how they change, what breaks them. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { answerJson, makeSelfSigned, TestIssuer } from "../../../e2e/harness/oidc-issuer.js";
import { TestAuthority } from "../../../e2e/harness/test-authority.js";
import { ManualClock } from "../../../storage/base/testing/manual-clock.js";
import { byFile, byFlags, create, login, nameOf, trusted } from "./testing/logins.js";
import { jwt } from "./testing/options.js";

describe("an issuer's keys", () => {
  test("S2-OIDC-14: a new key is fetched when a token names it, and a withdrawn one is forgotten", async () => {
    await using issuer = await TestIssuer.open();
    const authenticator = create({ checked: byFlags(issuer) });
    const old = await issuer.sign();
    assert.equal(await nameOf(authenticator, old), "jane");
    await issuer.rotate();
    assert.equal(await nameOf(authenticator, await issuer.sign({ sub: "joe" })), "joe");
    assert.equal(issuer.asked.keys, 2);
    assert.equal(await login(authenticator, old), "401", "cached results fall with their key");
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
