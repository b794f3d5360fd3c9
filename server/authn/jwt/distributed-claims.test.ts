import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { after, before, beforeEach, describe, test } from "node:test";
import { type Claims, TestIssuer } from "../../../e2e/harness/oidc-issuer.js";
import { TestAuthority } from "../../../e2e/harness/test-authority.js";
import { systemClock } from "../../../storage/base/clock.js";
import { silentLogger } from "../../../storage/base/logger.js";
import { ManualClock } from "../../../storage/base/testing/manual-clock.js";
import { StatusError } from "../../api/status.js";
import { checkAuthentication } from "./flags.js";
import { JwtAuthenticator } from "./jwt-authenticator.js";
import { fileOfJwt, jwt } from "./testing/options.js";

describe("groups at another address", () => {
  let issuer: TestIssuer;
  /** Not configured; its server is signed by the same authority. */
  let stranger: TestIssuer;
  let authority: TestAuthority;
  let authenticator: JwtAuthenticator;
  before(async () => {
    authority = await TestAuthority.create("issuers-ca");
    const leaf = { commonName: "issuer", usage: "server", hosts: ["127.0.0.1"] } as const;
    const open = async () =>
      TestIssuer.open({ algorithm: "ES256", identity: await authority.issue(leaf) });
    issuer = await open();
    stranger = await open();
  });
  after(async () => {
    await issuer[Symbol.asyncDispose]();
    await stranger[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    authenticator = create();
  });

  function create(others: object = {}, clock = systemClock): JwtAuthenticator {
    const claimMappings = {
      username: { claim: "sub", prefix: "" },
      groups: { claim: "groups", prefix: "g:" },
      ...others,
    };
    const trusted = { url: issuer.url, certificateAuthority: authority.certificate };
    const checked = checkAuthentication(fileOfJwt(jwt(trusted, { claimMappings })));
    return new JwtAuthenticator({ checked, hostRoots: [], clock, logger: silentLogger });
  }

  /** The groups that the token's owner has, or "401". */
  async function groupsOf(token: string, by = authenticator) {
    try {
      return (await by.authenticateToken(token, new AbortController()))?.groups;
    } catch (error) {
      assert.ok(error instanceof StatusError && error.code === 401, String(error));
      return "401";
    }
  }

  /** Serves the token at the issuer's `path`. */
  function serve(path: string, token: string): void {
    issuer.overrides.set(path, (_request: IncomingMessage, response: ServerResponse) =>
      response.end(token),
    );
  }

  const pointing = (
    endpoint: unknown = `${issuer.url}/groups`,
    more: object = {},
    claims: Claims = {},
  ) =>
    issuer.sign({
      _claim_names: { groups: "src1" },
      _claim_sources: { src1: { endpoint, ...more } },
      ...claims,
    });

  test("S2-OIDC-06: they are fetched and verified like the token itself", async () => {
    serve("/groups", await issuer.sign({ groups: ["a", "b"] }));
    assert.deepEqual(await groupsOf(await pointing()), ["g:a", "g:b"]);
    serve("/groups", await stranger.sign({ groups: "a" }));
    assert.deepEqual(await groupsOf(await pointing()), ["g:a"]);
  });

  test("the address is shown the token that is meant for it", async () => {
    let shown: string | undefined;
    const answer = await issuer.sign({ groups: [] });
    issuer.overrides.set("/groups", (request, response) => {
      shown = request.headers.authorization;
      response.end(answer);
    });
    assert.deepEqual(await groupsOf(await pointing(undefined, { access_token: "secret" })), []);
    assert.equal(shown, "Bearer secret");
    assert.deepEqual(await groupsOf(await pointing()), []);
    assert.equal(shown, undefined);
  });

  test("S2-OIDC-13: what is wrong with the other token refuses both", async () => {
    const past = Math.floor(Date.now() / 1000) - 10;
    const others: Readonly<Record<string, string>> = {
      "another audience": await issuer.sign({ groups: ["a"], aud: "another" }),
      expired: await issuer.sign({ groups: ["a"], exp: past }),
      "without the claim": await issuer.sign({}),
      forged: `${await issuer.sign({ groups: ["a"] })}x`,
      "of an issuer that is not there": await stranger.sign({ iss: "https://127.0.0.1:1" }),
      "of an issuer without TLS": await stranger.sign({ iss: "http://127.0.0.1:1" }),
      "of an issuer that is none": await stranger.sign({ iss: "nobody" }),
      "no token": "groups",
      empty: "",
    };
    for (const [what, token] of Object.entries(others)) {
      serve("/groups", token);
      assert.equal(await groupsOf(await pointing()), "401", what);
    }
  });

  test("no address, or one that does not answer, refuses the token", async () => {
    const nowhere = `${issuer.url}/nowhere`;
    const http = issuer.url.replace("https", "http");
    for (const endpoint of [undefined, null, "", "x", 7, nowhere, http, "https://127.0.0.1:1"]) {
      const token = await issuer.sign({
        _claim_names: { groups: "src1" },
        _claim_sources: { src1: { endpoint } },
      });
      assert.equal(await groupsOf(token), "401", String(endpoint));
    }
    for (const claims of [{ _claim_names: { groups: "src1" } }, { _claim_names: { groups: 1 } }]) {
      assert.equal(await groupsOf(await issuer.sign(claims)), "401");
    }
  });

  test("what stands in the token, or is not asked for, is not fetched", async () => {
    serve("/groups", "never");
    assert.deepEqual(await groupsOf(await pointing(undefined, {}, { groups: ["own"] })), ["g:own"]);
    const photo = { _claim_names: { photo: "src1" } };
    assert.deepEqual(await groupsOf(await pointing(undefined, {}, photo)), []);
    for (const odd of [null, 7, "groups", ["groups"]]) {
      assert.deepEqual(await groupsOf(await issuer.sign({ _claim_names: odd })), []);
    }
  });

  test("S2-AUTHC-17: expressions see the token only", async () => {
    serve("/groups", await issuer.sign({ groups: ["a"] }));
    const groups = { expression: "claims.?groups.orValue(['none'])" };
    assert.deepEqual(await groupsOf(await pointing(), create({ groups })), ["none"]);
  });

  test("the user is known as long as both tokens are valid", async () => {
    const clock = new ManualClock(Date.now());
    const soon = Math.floor(Date.now() / 1000) + 60;
    const by = create({}, clock);
    serve("/groups", await issuer.sign({ groups: ["a"], exp: soon }));
    const token = await pointing();
    assert.deepEqual(await groupsOf(token, by), ["g:a"]);
    serve("/groups", await issuer.sign({ groups: ["b"] }));
    assert.deepEqual(await groupsOf(token, by), ["g:a"]);
    clock.advance(61_000);
    assert.deepEqual(await groupsOf(token, by), ["g:b"]);
  });
});
