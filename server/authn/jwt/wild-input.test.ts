/** Random tokens and configuration files have one of the expected outcomes. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { TestIssuer } from "../../../e2e/harness/oidc-issuer.js";
import { systemClock } from "../../../storage/base/clock.js";
import { silentLogger } from "../../../storage/base/logger.js";
import { StatusError } from "../../api/status.js";
import { checkAuthentication } from "./flags.js";
import { JwtAuthenticator } from "./jwt-authenticator.js";
import { fileOf, fileOfJwt, jwt, withFile } from "./testing/options.js";
import { untrustedIssuerOf } from "./token.js";

describe("tokens", () => {
  let issuer: TestIssuer;
  let authenticator: JwtAuthenticator;
  before(async () => {
    issuer = await TestIssuer.open({ algorithm: "ES256" });
    authenticator = new JwtAuthenticator({
      checked: checkAuthentication(
        fileOfJwt(
          jwt(
            { url: issuer.url, certificateAuthority: issuer.authority },
            {
              claimMappings: {
                username: { claim: "sub", prefix: "" },
                groups: { claim: "groups", prefix: "" },
                uid: { expression: "claims.?uid.orValue('')" },
                extra: [{ key: "example.org/a", valueExpression: "claims.?a.orValue('')" }],
              },
            },
          ),
        ),
      ),
      hostRoots: [],
      clock: systemClock,
      logger: silentLogger,
    });
  });
  after(() => issuer[Symbol.asyncDispose]());

  /** A user's name, "left to others" or "401"; any other outcome fails the test. */
  async function end(token: string): Promise<string> {
    try {
      const user = await authenticator.authenticateToken(token, new AbortController());
      return user?.name ?? "left to others";
    } catch (error) {
      assert.ok(error instanceof StatusError && error.code === 401, String(error));
      return "401";
    }
  }

  const part = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.json().map((text) => Buffer.from(text).toString("base64url")),
    fc.constantFrom("", ".", "e30", "eyJhbGciOiJub25lIn0"),
  );

  test("no text is anybody's token by chance", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 5 }), async (parts) => {
        assert.equal(await end(parts.join(".")), "left to others");
        assert.equal(untrustedIssuerOf(parts.join("")), undefined);
      }),
      { numRuns: 300 },
    );
  });

  test("S2-OIDC-13: whatever header and signature stand around its claims, they are refused", async () => {
    const payload = (await issuer.sign()).split(".")[1];
    const header = fc.record(
      {
        alg: fc.oneof(fc.constantFrom("ES256", "none", "HS256", "RS256"), fc.jsonValue()),
        kid: fc.oneof(fc.constant(issuer.key.kid), fc.jsonValue()),
        jwk: fc.constant(issuer.key.publicJwk),
        crit: fc.jsonValue(),
        b64: fc.boolean(),
        zip: fc.constant("DEF"),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(header, part, async (fields, signature) => {
        const first = Buffer.from(JSON.stringify(fields)).toString("base64url");
        const answer = await end(`${first}.${payload}.${signature.replaceAll(".", "")}`);
        assert.equal(answer, "401");
      }),
      { numRuns: 300 },
    );
  });

  test("S2-AUTHC-18: signed claims of any kind make a user or a 401", async () => {
    const names = ["sub", "groups", "uid", "a", "nbf", "email", "_claim_names", "__proto__"];
    const claims = fc.dictionary(fc.constantFrom(...names), fc.jsonValue(), {
      noNullPrototype: true,
    });
    await fc.assert(
      fc.asyncProperty(claims, async (some) => {
        const answer = await end(await issuer.sign(some));
        const { sub = "jane" } = some as { sub?: unknown };
        assert.ok(answer === "401" || answer === sub, answer);
      }),
      { numRuns: 200 },
    );
  });
});

describe("the configuration file", () => {
  /** Good, or one line. */
  function end(text: string): void {
    try {
      checkAuthentication(withFile(text));
    } catch (error) {
      assert.ok(error instanceof RangeError, String(error));
      assert.doesNotMatch(error.message, /\n/);
    }
  }

  test("S2-AUTHC-01: any text is a configuration or a line that says why not", () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), end), { numRuns: 500 });
  });

  test("S2-AUTHC-01: any values in its fields are accepted or refused in one line", () => {
    const leaf = fc.oneof(
      fc.constantFrom("", "a", "https://a.example", "claims.a", "claims.email", "true", "MatchAny"),
      fc.constantFrom(null, 1, true, [], {}, "__proto__", "constructor"),
      fc.string(),
    );
    const fields = (...names: string[]) =>
      fc.record(Object.fromEntries(names.map((name) => [name, leaf])), { requiredKeys: [] });
    const some = <T>(arbitrary: fc.Arbitrary<T>) =>
      fc.oneof(leaf, fc.array(arbitrary, { maxLength: 3 }));
    const either = <T>(arbitrary: fc.Arbitrary<T>) => fc.oneof({ weight: 5, arbitrary }, leaf);
    const mapping = either(fields("claim", "prefix", "expression"));
    const members = fc.record(
      {
        jwt: some(
          fc.record(
            {
              issuer: either(fields("url", "discoveryURL", "certificateAuthority", "audiences")),
              claimValidationRules: some(fields("claim", "requiredValue", "expression", "message")),
              claimMappings: either(
                fc.record(
                  {
                    username: mapping,
                    groups: mapping,
                    uid: mapping,
                    extra: some(fields("key", "valueExpression")),
                  },
                  { requiredKeys: [] },
                ),
              ),
              userValidationRules: some(fields("expression", "message", "constructor")),
            },
            { requiredKeys: [] },
          ),
        ),
        anonymous: either(fields("enabled", "conditions")),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(members, (all) => end(fileOf(all))),
      { numRuns: 1_000 },
    );
  });
});
