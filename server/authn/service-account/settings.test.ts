/** Start-up checks, keys from files, the shared key, and the published documents. */
import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import { systemClock } from "../../../storage/base/clock.js";
import { silentLogger } from "../../../storage/base/logger.js";
import { openEmbeddedStore } from "../../../storage/embedded/embedded-store.js";
import type { SharedValueStore } from "../../../storage/kv/shared-value.js";
import { type KeyValue, type Transaction, toRevision } from "../../../storage/kv/store.js";
import { unreadableValue } from "../../../storage/kv/unreadable.js";
import { createNaming } from "../../api/naming.js";
import { createIssuerDiscovery } from "./issuer-discovery.js";
import { KeyRing } from "./key-ring.js";
import { type ServiceAccountFlags, toGivenKeys, toServiceAccountSettings } from "./settings.js";
import { openSharedKey } from "./shared-key.js";
import {
  DEFAULT_FLAGS,
  makeEcKey,
  makeRsaKey,
  openAccounts,
  wish,
} from "./testing/account-fixtures.js";
import { type KeyFile, parseSigningKey, parseVerificationKeys } from "./token-keys.js";

const NAMING = createNaming("kubernetes");
const noSignal = new AbortController().signal;

function fileOf(pem: string, flag = "--service-account-key-file"): KeyFile {
  return { flag, path: "sa.pem", pem };
}

function privatePem(key: KeyObject): string {
  return String(key.export({ type: "pkcs8", format: "pem" }));
}

test("S2-SA-01: what is not set has kube-apiserver's defaults", () => {
  assert.deepEqual(toServiceAccountSettings(DEFAULT_FLAGS, NAMING), {
    issuers: ["https://kubernetes.default.svc.cluster.local"],
    audiences: ["https://kubernetes.default.svc.cluster.local"],
    looksUp: true,
    expirationMaxSeconds: 0,
    extendsExpiration: true,
    jwksUri: "",
  });
  const { issuers } = toServiceAccountSettings(DEFAULT_FLAGS, createNaming("acme"));
  assert.deepEqual(issuers, ["https://acme.default.svc.cluster.local"]);
});

const wrong: readonly (readonly [Partial<ServiceAccountFlags>, RegExp])[] = [
  [{ serviceAccountIssuer: [""] }, /^--service-account-issuer: an issuer is empty$/],
  [{ serviceAccountIssuer: ["ht tp://:x"] }, /^--service-account-issuer: .* is not a URL$/],
  [{ serviceAccountIssuer: ["https://a", "https://a"] }, /the same issuer is given twice$/],
  [{ apiAudiences: ["a", ""] }, /^--api-audiences: an audience is empty$/],
  [{ serviceAccountMaxTokenExpirationMs: 3_599_000 }, /^--service-account-max-token-expiration: /],
  [{ serviceAccountMaxTokenExpirationMs: 2 ** 32 * 1000 + 1000 }, /from 1 hour to 2\^32 seconds$/],
  [{ serviceAccountJwksUri: "http://a/keys" }, /^--service-account-jwks-uri: /],
  [{ serviceAccountJwksUri: "keys" }, /^--service-account-jwks-uri: /],
];
for (const [flags, message] of wrong) {
  test(`S2-ERR: ${JSON.stringify(flags)} is refused at start with one line`, () => {
    assert.throws(
      () => toServiceAccountSettings({ ...DEFAULT_FLAGS, ...flags }, NAMING),
      (error) => error instanceof RangeError && message.test(error.message),
    );
  });
}

test("S2-SA-01: a file may hold several keys, private, public, or as OpenSSL writes curves", () => {
  const [rsa, ec] = [makeRsaKey(), makeEcKey("P-384")];
  const pem = [
    privatePem(rsa.privateKey),
    "-----BEGIN EC PARAMETERS-----\nBgUrgQQAIg==\n-----END EC PARAMETERS-----\n",
    String(ec.privateKey.export({ type: "sec1", format: "pem" })),
    String(rsa.publicKey.export({ type: "pkcs1", format: "pem" })),
  ].join("\n");
  const keys = parseVerificationKeys(fileOf(pem));
  assert.deepEqual(
    keys.map(({ id, algorithm }) => [id, algorithm]),
    [
      [rsa.id, "RS256"],
      [ec.id, "ES384"],
      [rsa.id, "RS256"],
    ],
  );
  assert.match(rsa.id, /^[\w-]{43}$/);
});

test("S2-SA-01: files that hold no usable key are refused with the file's name and nothing of its content", () => {
  const secret = "c2VjcmV0";
  const broken = `-----BEGIN PRIVATE KEY-----\n${secret}\n-----END PRIVATE KEY-----\n`;
  const ed25519 = privatePem(generateKeyPairSync("ed25519").privateKey);
  for (const pem of ["", "text", broken, ed25519]) {
    for (const parse of [parseVerificationKeys, parseSigningKey]) {
      assert.throws(
        () => parse(fileOf(pem)),
        (error) =>
          error instanceof RangeError &&
          error.message.startsWith('--service-account-key-file: "sa.pem" ') &&
          !error.message.includes(secret) &&
          !error.message.includes("\n"),
      );
    }
  }
  const publicOnly = String(makeEcKey("P-256").publicKey.export({ type: "spki", format: "pem" }));
  assert.throws(() => parseSigningKey(fileOf(publicOnly)), /holds no PEM private key/);
});

test("S2-SA-02: without a key file the TLS key verifies, where it can", () => {
  const key = makeRsaKey();
  const tls = fileOf(privatePem(key.privateKey), "--tls-private-key-file");
  const ids = (files: Parameters<typeof toGivenKeys>[0]) =>
    toGivenKeys(files).verification.map(({ id }) => id);
  const none = { keys: [], signing: undefined, tls: undefined };
  assert.deepEqual(ids({ ...none, tls }), [key.id]);
  const other = makeEcKey("P-256");
  const given = fileOf(privatePem(other.privateKey));
  assert.deepEqual(ids({ ...none, tls, keys: [given] }), [other.id]);
  assert.deepEqual(ids(none), []);
  const ed25519 = fileOf(privatePem(generateKeyPairSync("ed25519").privateKey));
  assert.deepEqual(ids({ ...none, tls: ed25519 }), []);
  assert.equal(toGivenKeys({ ...none, signing: given }).signing?.id, other.id);
  assert.equal(toGivenKeys({ ...none, tls }).signing, undefined);
});

test("S2-SA-01: replicas that start at once over one store agree on one signing key", async () => {
  const directory = await mkdtemp(join(tmpdir(), "keelson-shared-key-"));
  const store = await openEmbeddedStore({ directory, clock: systemClock, logger: silentLogger });
  try {
    const open = () => openSharedKey(store, "/registry/.service-account-key", noSignal);
    const first = await Promise.all([open(), open(), open()]);
    const later = await open();
    assert.equal(new Set([...first, later].map(({ id }) => id)).size, 1);
    assert.equal(later.algorithm, "RS256");
    await store.commit(
      { compares: [], operations: [{ type: "put", key: "/registry/x", value: Buffer.from("?") }] },
      noSignal,
    );
    await assert.rejects(
      openSharedKey(store, "/registry/x", noSignal),
      /at \/registry\/x is not a private key/,
    );
  } finally {
    await store[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  }
});

test("the shared key is stored anew when the store's encryption has changed, and refused when it cannot be read", async () => {
  const key = "/registry/.service-account-key";
  let kv: KeyValue | undefined;
  let isStale = false;
  const puts: Transaction[] = [];
  const store: SharedValueStore = {
    get: async () => ({ kv, revision: toRevision(1) }),
    commit: async (transaction) => {
      puts.push(transaction);
      const [operation] = transaction.operations;
      assert.ok(operation?.type === "put");
      const revision = toRevision(puts.length);
      const value = Buffer.from(operation.value);
      kv = { key, value, modRevision: revision, createRevision: revision };
      return { succeeded: true, revision };
    },
    isStale: async () => isStale,
  };
  const first = await openSharedKey(store, key, noSignal);
  assert.equal((await openSharedKey(store, key, noSignal)).id, first.id);
  assert.equal(puts.length, 1);
  isStale = true;
  assert.equal((await openSharedKey(store, key, noSignal)).id, first.id);
  assert.deepEqual(puts[1]?.compares, [{ key, modRevision: 1 }]);
  assert.ok(kv);
  kv = { ...kv, value: unreadableValue("no key opens it") };
  await assert.rejects(openSharedKey(store, key, noSignal), /cannot be read: no key opens it$/);
  assert.equal(puts.length, 2);
});

test("S2-SA-08: a relying party verifies a token with what discovery says", async () => {
  for (const key of [makeRsaKey(), makeEcKey("P-256"), makeEcKey("P-521")]) {
    const accounts = openAccounts({ signing: key, others: [makeEcKey("P-384")] });
    const { settings } = accounts.issuer;
    const keys = new KeyRing(key, [makeEcKey("P-384")]);
    const serverAddress = () => "10.0.0.1:6443";
    const documents = createIssuerDiscovery({ settings, keys, serverAddress });
    const configuration = documents["/.well-known/openid-configuration"]?.();
    const keySet = documents["/openid/v1/jwks"]?.();
    assert.ok(configuration && keySet);
    assert.deepEqual(configuration.headers, {
      "Content-Type": "application/json",
      "Cache-Control": "public, max-age=3600",
    });
    assert.equal(keySet.headers["Content-Type"], "application/jwk-set+json");
    assert.deepEqual(JSON.parse(configuration.body), {
      issuer: "https://kubernetes.default.svc.cluster.local",
      jwks_uri: "https://10.0.0.1:6443/openid/v1/jwks",
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: [...new Set([key.algorithm, "ES384"])].sort(),
    });
    const { token } = await accounts.issuer.issueBound(
      wish(accounts.issuer, { audiences: ["vault"] }),
    );
    const jwks = JSON.parse(keySet.body) as JSONWebKeySet;
    assert.ok(jwks.keys.every(({ use, d }) => use === "sig" && d === undefined));
    const { payload } = await jwtVerify(token, createLocalJWKSet(jwks), {
      issuer: settings.issuers[0],
      audience: "vault",
      currentDate: new Date(accounts.clock.now()),
    });
    assert.equal(payload.sub, "system:serviceaccount:shop:web");
  }
});

test("S2-SA-08: the key set's address can be given, and only https issuers are discovered", () => {
  const keys = new KeyRing(makeEcKey("P-256"), []);
  const discover = (flags: Partial<ServiceAccountFlags>) =>
    createIssuerDiscovery({
      settings: toServiceAccountSettings({ ...DEFAULT_FLAGS, ...flags }, NAMING),
      keys,
      serverAddress: () => "x:1",
    });
  const given = discover({ serviceAccountJwksUri: "https://keys.example/jwks" });
  const body = given["/.well-known/openid-configuration"]?.().body ?? "";
  assert.equal(JSON.parse(body).jwks_uri, "https://keys.example/jwks");
  for (const issuer of ["name", "http://a", "https://a?b", "https://a#b"]) {
    assert.deepEqual(discover({ serviceAccountIssuer: [issuer] }), {});
  }
});
