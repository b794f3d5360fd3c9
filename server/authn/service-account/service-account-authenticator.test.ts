/** Tokens of service accounts: their users, and every way to end or forge them. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { createNaming } from "../../api/naming.js";
import { StatusError } from "../../api/status.js";
import type { UserInfo } from "../../request/user-info.js";
import { parseCompactToken, signCompactToken } from "./compact-token.js";
import {
  type AccountFixture,
  makeEcKey,
  makeRsaKey,
  openAccounts,
  WEB_ACCOUNT,
  wish,
} from "./testing/account-fixtures.js";
import { encodeBoundClaims, encodeLegacyClaims } from "./token-claims.js";

const NAMING = createNaming("kubernetes");
const ISSUER = "https://kubernetes.default.svc.cluster.local";

function ask({ authenticator }: AccountFixture, token: string): UserInfo | undefined {
  const headers = { authorization: `Bearer ${token}` };
  return authenticator.authenticate({ headers, socket: undefined, path: "/" });
}

function refuses(accounts: AccountFixture, token: string, reason: string): void {
  assert.throws(
    () => ask(accounts, token),
    (error) =>
      error instanceof StatusError && error.code === 401 && error.message === "Unauthorized",
  );
  assert.equal(accounts.refusals.at(-1), reason);
}

async function issue(accounts: AccountFixture, changes: object = {}): Promise<string> {
  return (await accounts.issuer.issueBound(wish(accounts.issuer, changes))).token;
}

function claimsOf(token: string) {
  const parsed = parseCompactToken(token);
  assert.ok(parsed);
  return parsed.claims as Record<string, unknown>;
}

const text = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

test("S2-SA-04, S2-SA-05, S2-REQ-03: an account is a user of that name, its two groups and its uid", async () => {
  const accounts = openAccounts();
  const { token, credentialId } = await accounts.issuer.issueBound(wish(accounts.issuer));
  for (let round = 0; round < 2; round++) {
    assert.deepEqual(ask(accounts, token), {
      name: "system:serviceaccount:shop:web",
      uid: "u-web",
      groups: ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"],
      extra: { "authentication.kubernetes.io/credential-id": [credentialId] },
    });
  }
});

test("what a token is bound to shows in the user's extra, in the vendor's spelling", async () => {
  const accounts = openAccounts({ vendor: "acme" });
  accounts.view.put("pods", "shop", "p", "u-p");
  const binding = { pod: { name: "p", uid: "u-p" }, node: { name: "n", uid: "u-n" } };
  const { token, credentialId } = await accounts.issuer.issueBound(
    wish(accounts.issuer, { binding }),
  );
  assert.deepEqual(ask(accounts, token)?.extra, {
    "authentication.acme.io/credential-id": [credentialId],
    "authentication.acme.io/node-name": ["n"],
    "authentication.acme.io/node-uid": ["u-n"],
    "authentication.acme.io/pod-name": ["p"],
    "authentication.acme.io/pod-uid": ["u-p"],
  });
  assert.equal(claimsOf(token).iss, "https://acme.default.svc.cluster.local");
});

test("S2-SA-06: the claims are those that existing readers of tokens know", async () => {
  const accounts = openAccounts();
  accounts.view.put("pods", "shop", "p", "u-p");
  const binding = { pod: { name: "p", uid: "u-p" }, node: { name: "n", uid: "" } };
  const token = await issue(accounts, { binding, lifetimeSeconds: 3607 });
  const now = accounts.clock.now() / 1000;
  const { jti, ...claims } = claimsOf(token);
  assert.match(String(jti), /^[0-9a-f-]{36}$/);
  assert.deepEqual(claims, {
    aud: [ISSUER],
    exp: now + 365 * 24 * 3600,
    iat: now,
    iss: ISSUER,
    "kubernetes.io": {
      namespace: "shop",
      node: { name: "n" },
      pod: { name: "p", uid: "u-p" },
      serviceaccount: { name: "web", uid: "u-web" },
      warnafter: now + 3607,
    },
    nbf: now,
    sub: "system:serviceaccount:shop:web",
  });
});

test("S2-SA-06: a token ends with its time, and does not begin before it", async () => {
  const accounts = openAccounts();
  const token = await issue(accounts, { lifetimeSeconds: 600 });
  assert.equal(ask(accounts, token)?.uid, "u-web");
  accounts.clock.advance(599_000);
  assert.equal(ask(accounts, token)?.uid, "u-web");
  accounts.clock.advance(1_000);
  refuses(accounts, token, "expired");

  const later = openAccounts();
  const early = await issue(later);
  later.clock.advance(-29_000);
  assert.equal(ask(later, early)?.uid, "u-web");
  later.clock.advance(-10_000);
  refuses(later, early, "not yet valid");
});

test("S2-SA-03: a token ends at once with its account, also when a new one takes the name", async () => {
  const accounts = openAccounts();
  const token = await issue(accounts);
  assert.equal(ask(accounts, token)?.uid, "u-web");
  accounts.view.delete("serviceaccounts", "shop", "web");
  refuses(accounts, token, "account gone");
  accounts.view.put("serviceaccounts", "shop", "web", "u-other");
  refuses(accounts, token, "account gone");
  accounts.view.put("serviceaccounts", "shop", "web", "u-web");
  assert.equal(ask(accounts, token)?.uid, "u-web");
  accounts.view.putCorrupt("serviceaccounts", "shop", "web");
  refuses(accounts, token, "account gone");
});

for (const [kind, resource, namespace] of [
  ["pod", "pods", "shop"],
  ["secret", "secrets", "shop"],
  ["node", "nodes", ""],
] as const) {
  test(`S2-SA-03: a token that is bound to a ${kind} ends with it, and not with another's change`, async () => {
    const accounts = openAccounts();
    accounts.view.put(resource, namespace, "x", "u-x");
    const token = await issue(accounts, { binding: { [kind]: { name: "x", uid: "u-x" } } });
    assert.equal(ask(accounts, token)?.uid, "u-web");
    accounts.view.put(resource, namespace, "x", "u-x", { status: { phase: "Running" } });
    assert.equal(ask(accounts, token)?.uid, "u-web");
    accounts.view.put(resource, namespace, "x", "u-y");
    refuses(accounts, token, "bound object gone");
    accounts.view.delete(resource, namespace, "x");
    refuses(accounts, token, "bound object gone");
  });
}

test("S2-SA-03: an object that should be gone by now takes its tokens with it a minute later", async () => {
  const accounts = openAccounts();
  const metadata = { deletionTimestamp: "2030-01-01T00:00:30Z" };
  accounts.view.put("pods", "shop", "p", "u-p", { metadata });
  const token = await issue(accounts, { binding: { pod: { name: "p", uid: "u-p" } } });
  assert.equal(ask(accounts, token)?.uid, "u-web");
  accounts.clock.advance(90_000);
  assert.equal(ask(accounts, token)?.uid, "u-web");
  accounts.clock.advance(1_000);
  refuses(accounts, token, "bound object gone");
});

test("a pod's token lives with the pod: its node is only told", async () => {
  const accounts = openAccounts();
  accounts.view.put("pods", "shop", "p", "u-p");
  const binding = { pod: { name: "p", uid: "u-p" }, node: { name: "gone", uid: "u-n" } };
  assert.equal(ask(accounts, await issue(accounts, { binding }))?.uid, "u-web");
});

test("S2-SA-06: a token must be for this API", async () => {
  const accounts = openAccounts({ flags: { apiAudiences: ["api", "other-api"] } });
  refuses(accounts, await issue(accounts, { audiences: ["vault"] }), "audience");
  const token = await issue(accounts, { audiences: ["vault", "other-api"] });
  assert.equal(ask(accounts, token)?.uid, "u-web");
  const review = (audiences: readonly string[]) => {
    const headers = { authorization: `Bearer ${token}` };
    return accounts.authenticator.authenticate({ headers, socket: undefined, path: "", audiences });
  };
  assert.deepEqual(review(["vault", "x"])?.audiences, ["vault"]);
  assert.throws(() => review(["x"]), StatusError);
  // A token without any audience means this API.
  const key = makeEcKey("P-256");
  const own = openAccounts({ signing: key });
  const { aud: _, ...claims } = claimsOf(await issue(own));
  assert.equal(ask(own, await signCompactToken(key, claims))?.uid, "u-web");
});

test("several issuers are accepted, the first one issues; tokens of others are not ours to judge", async () => {
  const key = makeEcKey("P-256");
  const flags = { serviceAccountIssuer: ["https://new.example", "https://old.example"] };
  const accounts = openAccounts({ signing: key, flags });
  const claims = claimsOf(await issue(accounts));
  assert.equal(claims.iss, "https://new.example");
  const of = (iss: string) => signCompactToken(key, { ...claims, iss });
  assert.equal(ask(accounts, await of("https://old.example"))?.uid, "u-web");
  assert.equal(ask(accounts, await of("https://else.example")), undefined);
  assert.equal(ask(accounts, "not-a-jwt"), undefined);
  assert.equal(ask(accounts, "a.b.c"), undefined);
  assert.equal(accounts.refusals.length, 0);
});

test("S2-SA-01: every given key verifies; one that is not given does not", async () => {
  const [rsa, p256, p384, p521] = [makeRsaKey(), ...["P-256", "P-384", "P-521"].map(makeEcKey)];
  assert.ok(rsa && p256 && p384 && p521);
  const accounts = openAccounts({ signing: rsa, others: [p256, p384] });
  const claims = claimsOf(await issue(accounts));
  for (const key of [rsa, p256, p384]) {
    assert.equal(ask(accounts, await signCompactToken(key, claims))?.uid, "u-web", key.algorithm);
  }
  refuses(accounts, await signCompactToken(p521, claims), "signature");
  refuses(accounts, await signCompactToken(makeRsaKey(), claims), "signature");
});

test("S2-SA-01: other keys count from the next request on, also for tokens that were known", async () => {
  const [first, second] = [makeEcKey("P-256"), makeEcKey("P-256")];
  const accounts = openAccounts({ signing: first });
  const token = await issue(accounts);
  assert.equal(ask(accounts, token)?.uid, "u-web");
  accounts.keys.replace(second, [first]);
  const newer = await issue(accounts);
  assert.equal(ask(accounts, token)?.uid, "u-web");
  assert.equal(ask(accounts, newer)?.uid, "u-web");
  accounts.keys.replace(second, []);
  refuses(accounts, token, "signature");
  assert.equal(ask(accounts, newer)?.uid, "u-web");
});

test("S2-SA-06: forged headers do not help: none, a public key as secret, another key's name", async () => {
  const [rsa, ec] = [makeRsaKey(), makeEcKey("P-256")];
  const accounts = openAccounts({ signing: rsa, others: [ec] });
  const good = await issue(accounts);
  const claims = claimsOf(good);
  const [head = "", body = "", signature = ""] = good.split(".");
  const withHead = (header: object, sign: (signed: string) => string = () => signature) => {
    const signed = `${text(header)}.${body}`;
    return `${signed}.${sign(signed)}`;
  };
  const pem = rsa.publicKey.export({ type: "spki", format: "pem" });
  const hmac = (signed: string) => createHmac("sha256", pem).update(signed).digest("base64url");
  for (const token of [
    withHead({ alg: "HS256", kid: rsa.id }, hmac),
    withHead({ alg: "HS256" }, hmac),
    withHead({ alg: "none" }, () => "AA"),
    withHead({ alg: "RS512", kid: rsa.id }),
    withHead({ alg: "RS256", kid: ec.id }),
    `${head}.${text({ ...claims, sub: "system:serviceaccount:shop:admin" })}.${signature}`,
    `${head}.${body}.${Buffer.alloc(256).toString("base64url")}`,
  ]) {
    refuses(accounts, token, "signature");
  }
  // A token without a signature, or with a critical extension, is not ours.
  for (const token of [
    `${head}.${body}.`,
    `${head}.${body}`,
    withHead({ alg: "RS256", crit: ["exp"] }),
    `${head}.${"A".repeat(20_000)}.${signature}`,
  ]) {
    assert.equal(ask(accounts, token), undefined);
  }
  assert.equal(ask(accounts, good)?.uid, "u-web");
});

test("S2-SA-06: no change of one character in a token is believed", async () => {
  const accounts = openAccounts();
  const token = await issue(accounts);
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
  const place = fc.nat({ max: token.length - 1 });
  fc.assert(
    fc.property(place, fc.constantFrom(...alphabet), (at, character) => {
      const changed = token.slice(0, at) + character + token.slice(at + 1);
      fc.pre(changed !== token);
      let user: UserInfo | undefined;
      try {
        user = ask(accounts, changed);
      } catch (error) {
        assert.ok(error instanceof StatusError && error.code === 401);
      }
      // The last base64 character has unused bits, so the signature may be unchanged.
      if (at < token.length - 1) assert.equal(user, undefined);
    }),
    { numRuns: 300 },
  );
});

test("S2-SA-06: whatever stands in a token, it is not ours or it is refused", async () => {
  const key = makeEcKey("P-256");
  const accounts = openAccounts({ signing: key });
  const part = fc
    .oneof(fc.json(), fc.string())
    .map((inner) => Buffer.from(inner).toString("base64url"));
  const tokens = fc.oneof(
    fc.string(),
    fc.array(part, { maxLength: 4 }).map((parts) => parts.join(".")),
  );
  fc.assert(
    fc.property(tokens, (token) => assert.equal(ask(accounts, token), undefined)),
    { numRuns: 500 },
  );
  // Signed by us, so only the claims can make it invalid.
  const claims = claimsOf(await issue(accounts));
  const wild = fc.dictionary(fc.constantFrom(...Object.keys(claims)), fc.jsonValue());
  await fc.assert(
    fc.asyncProperty(wild, async (changes) => {
      const token = await signCompactToken(key, { ...claims, ...changes });
      try {
        assert.ok([undefined, "u-web"].includes(ask(accounts, token)?.uid));
      } catch (error) {
        assert.ok(error instanceof StatusError && error.code === 401, String(error));
      }
    }),
    { numRuns: 300 },
  );
});

test("S2-SA-06: claims of the wrong shape are refused though the signature is good", async () => {
  const key = makeEcKey("P-256");
  const accounts = openAccounts({ signing: key });
  const claims = claimsOf(await issue(accounts));
  const own = claims["kubernetes.io"] as object;
  for (const changed of [
    { exp: undefined },
    { exp: "2099" },
    { aud: 7 },
    { "kubernetes.io": undefined },
    { "kubernetes.io": { ...own, namespace: "" } },
    { "kubernetes.io": { ...own, serviceaccount: { name: "web" } } },
    { "kubernetes.io": { ...own, pod: "p" } },
    { "kubernetes.io": { ...own, secret: {} } },
    { "kubernetes.io": { ...own, node: { name: "n", uid: 7 } } },
    { "kubernetes.io": { ...own, warnafter: "2099" } },
    // The public and the private claims name different accounts.
    { sub: "system:serviceaccount:shop:other" },
    { sub: "system:serviceaccount:other:web" },
    { sub: undefined },
    { "kubernetes.io": { ...own, namespace: "other" } },
    { "kubernetes.io": { ...own, serviceaccount: { name: "other", uid: WEB_ACCOUNT.uid } } },
  ]) {
    refuses(accounts, await signCompactToken(key, { ...claims, ...changed }), "malformed");
  }
});

function putSecret({ view }: AccountFixture, token: string, metadata: object = {}): void {
  const data = { token: Buffer.from(token).toString("base64") };
  view.put("secrets", "shop", "web-token", "u-s", { metadata, data });
}

test("S2-SA-03: a legacy token ends with its Secret, its account, or when the Secret holds another", async () => {
  const accounts = openAccounts();
  const token = await accounts.issuer.issueLegacy(WEB_ACCOUNT, "web-token");
  refuses(accounts, token, "bound object gone");
  putSecret(accounts, token);
  assert.deepEqual(ask(accounts, token), {
    name: "system:serviceaccount:shop:web",
    uid: "u-web",
    groups: ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"],
    extra: {},
  });
  accounts.clock.advance(10 * 365 * 24 * 3_600_000);
  assert.equal(ask(accounts, token)?.uid, "u-web");
  putSecret(accounts, token, {
    labels: { "kubernetes.io/legacy-token-invalid-since": "2030-01-01" },
  });
  refuses(accounts, token, "revoked");
  putSecret(accounts, token, { deletionTimestamp: "2050-01-01T00:00:00Z" });
  refuses(accounts, token, "bound object gone");
  putSecret(accounts, `${token.slice(0, -1)}_`);
  refuses(accounts, token, "bound object gone");
  putSecret(accounts, token);
  accounts.view.delete("serviceaccounts", "shop", "web");
  refuses(accounts, token, "account gone");
});

test("uses of tokens out of Secrets, and of stale ones, are told as in 1.36", async () => {
  const accounts = openAccounts();
  const warnings: string[] = [];
  const told = (token: string): Record<string, string> => {
    const notes: Record<string, string> = {};
    const remarks = {
      addWarning: (text: string) => warnings.push(text),
      annotate: (key: string, value: string) => Object.assign(notes, { [key]: value }),
    };
    const headers = { authorization: `Bearer ${token}` };
    accounts.authenticator.authenticate({ headers, socket: undefined, path: "/", remarks });
    return notes;
  };
  const legacy = await accounts.issuer.issueLegacy(WEB_ACCOUNT, "web-token");
  putSecret(accounts, legacy);
  assert.deepEqual(told(legacy), {
    "authentication.k8s.io/legacy-token": "system:serviceaccount:shop:web",
    "authentication.k8s.io/legacy-token-manual-secret": "web-token",
  });
  assert.deepEqual(warnings, []);

  accounts.view.put("serviceaccounts", "shop", "web", "u-web", {
    secrets: [{ name: "other" }, { name: "web-token" }],
  });
  assert.deepEqual(told(legacy), {
    "authentication.k8s.io/legacy-token": "system:serviceaccount:shop:web",
    "authentication.k8s.io/legacy-token-autogenerated-secret": "web-token",
  });
  assert.deepEqual(warnings.splice(0), [
    "Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens.",
  ]);

  putSecret(accounts, legacy, {
    labels: { "kubernetes.io/legacy-token-invalid-since": "2030-01-01" },
  });
  refuses(accounts, legacy, "revoked");
  assert.deepEqual(accounts.shown, ["manual", "auto", "invalid"]);

  const binding = { pod: { name: "p", uid: "u-p" } };
  accounts.view.put("pods", "shop", "p", "u-p");
  const bound = await issue(accounts, { binding, lifetimeSeconds: 3607 });
  assert.deepEqual(told(bound), {});
  accounts.clock.advance(3_627_000);
  assert.deepEqual(told(bound), {
    "authentication.k8s.io/stale-token":
      "subject: system:serviceaccount:shop:web, seconds after warning threshold: 20",
  });
  assert.deepEqual(warnings, []);
});

test("S2-SA-03: without lookup a legacy token needs nothing but its signature", async () => {
  const accounts = openAccounts({ flags: { serviceAccountLookup: false } });
  accounts.view.delete("serviceaccounts", "shop", "web");
  const legacy = await accounts.issuer.issueLegacy(WEB_ACCOUNT, "web-token");
  assert.equal(ask(accounts, legacy)?.uid, "u-web");
  refuses(accounts, await issue(accounts), "account gone");
});

test("a legacy token must be whole and true to itself", async () => {
  const key = makeEcKey("P-256");
  const accounts = openAccounts({ signing: key, flags: { serviceAccountLookup: false } });
  const claims = encodeLegacyClaims(NAMING, { account: WEB_ACCOUNT, secretName: "web-token" });
  for (const changed of [
    { sub: "system:serviceaccount:shop:other" },
    { "kubernetes.io/serviceaccount/secret.name": undefined },
    { "kubernetes.io/serviceaccount/service-account.uid": "" },
  ]) {
    refuses(accounts, await signCompactToken(key, { ...claims, ...changed }), "malformed");
  }
  // A bound token must not pass for a legacy one, which never expires.
  const bound = encodeBoundClaims(NAMING, "kubernetes/serviceaccount", {
    account: WEB_ACCOUNT,
    audiences: [ISSUER],
    issuedAt: 0,
    notBefore: 0,
    expiresAt: 1,
    id: "x",
  });
  refuses(accounts, await signCompactToken(key, bound), "malformed");
});

test("39: verified tokens are remembered by their size, not by their number alone", async () => {
  const accounts = openAccounts();
  const { keys, issuer } = accounts;
  let verifications = 0;
  const verifies = keys.verifies.bind(keys);
  keys.verifies = (...asked) => {
    verifications++;
    return verifies(...asked);
  };
  const tokenOf = (count: number) =>
    issue(accounts, {
      audiences: [
        ...issuer.settings.audiences,
        ...Array.from({ length: count }, (_, at) => `audience-${at}`),
      ],
    });
  const uses = (token: string): number => {
    const before = verifications;
    for (let at = 0; at < 3; at++) assert.equal(ask(accounts, token)?.uid, "u-web");
    return verifications - before;
  };
  assert.equal(uses(await tokenOf(0)), 1);
  assert.equal(uses(await tokenOf(300)), 1);
  // All places together hold no more than usual tokens would take.
  const small = openAccounts({ verifiedTokensMax: 4 });
  const first = (await small.issuer.issueBound(wish(small.issuer))).token;
  let known = 0;
  const check = small.keys.verifies.bind(small.keys);
  small.keys.verifies = (...asked) => {
    known++;
    return check(...asked);
  };
  ask(small, first);
  const audiences = [
    ...small.issuer.settings.audiences,
    ...Array.from({ length: 350 }, (_, at) => `audience-${at}`),
  ];
  for (let at = 0; at < 2; at++) {
    ask(small, (await small.issuer.issueBound(wish(small.issuer, { audiences }))).token);
  }
  ask(small, first);
  assert.equal(known, 4);
});
