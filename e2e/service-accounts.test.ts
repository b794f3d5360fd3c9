/**
 * Service accounts from outside: three replicas over one etcd that share nothing else and have no flags
 * about keys. Tokens are got on one replica and used on the others; what they are bound to goes on one
 * and must be gone for the very next request on the others.
 */
import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createLocalJWKSet, importPKCS8, type JSONWebKeySet, jwtVerify, SignJWT } from "jose";
import { eventually } from "./harness/eventually.js";
import { furnished } from "./harness/furnished-namespace.js";
import { type Answer, type ApiObject, HttpsClient } from "./harness/https-client.js";
import { Kubectl } from "./harness/kubectl.js";
import { refusalAtStart } from "./harness/refusal-at-start.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { TestAuthority } from "./harness/test-authority.js";
import { type EtcdProcess, startEtcd } from "./tools/etcd.js";

const NAMESPACE = "/api/v1/namespaces/shop";
const ACCOUNTS = `${NAMESPACE}/serviceaccounts`;
const ISSUER = "https://kubernetes.default.svc.cluster.local";
/** How often something is taken away; each time costs a handful of requests. */
const REVOCATIONS = Number(process.env.KEELSON_REVOCATIONS ?? 200);
/** So many of them at a time, so that replicas are busy with others' writes meanwhile. */
const REVOKERS = 4;

/** Asks as the bearer of a token, without a client certificate. */
class Bearer {
  readonly #client: HttpsClient;

  constructor(server: ServerProcess) {
    this.#client = new HttpsClient(server.url, { ca: server.credentials.ca });
  }

  get(token: string, path = `${NAMESPACE}/secrets/none`): Promise<Answer> {
    return this.#client.request(path, { headers: { authorization: `Bearer ${token}` } });
  }

  /** Who the server says it is: nobody may read Secrets, and the refusal names the user. */
  async userOf(token: string): Promise<string> {
    const answer = (await this.get(token)).expect(403, "a known user without rights");
    return /User "([^"]+)"/.exec(String(answer.object.message))?.[1] ?? "";
  }

  close(): void {
    this.#client.close();
  }
}

async function createAccount(client: HttpsClient, name: string): Promise<ApiObject> {
  return (await client.post(ACCOUNTS, { metadata: { name } })).expect(201).object;
}

async function requestToken(client: HttpsClient, name: string, spec: object = {}) {
  const answer = (await client.post(`${ACCOUNTS}/${name}/token`, { spec })).expect(201);
  return (answer.object.status as { token: string }).token;
}

describe("service accounts on three replicas", () => {
  let etcd: EtcdProcess;
  let one: ServerProcess;
  let other: ServerProcess;
  let third: ServerProcess;
  let bearer: Bearer;
  let bearers: readonly Bearer[];

  before(async () => {
    etcd = await startEtcd();
    const etcdEndpoints = [etcd.endpoint];
    const start = () => startServer({ etcdEndpoints });
    [one, other, third] = await Promise.all([start(), start(), start()]);
    bearer = new Bearer(other);
    bearers = [bearer, new Bearer(third)];
    (await one.client.post("/api/v1/namespaces", { metadata: { name: "shop" } })).expect(201);
    await furnished(one.client, "shop");
  });
  after(async () => {
    for (const each of bearers) each.close();
    await Promise.all([one, other, third].map((server) => server[Symbol.asyncDispose]()));
    await etcd.stop();
  });

  test("S2-SA-01, S2-SA-04: a token of one replica is good on the other, without any flag", async () => {
    await createAccount(one.client, "web");
    const token = await requestToken(one.client, "web");
    assert.equal(await bearer.userOf(token), "system:serviceaccount:shop:web");
  });

  test("S2-SA-05, S2-SA-07: kubectl create token, and whoami with it", async () => {
    await createAccount(one.client, "cli");
    await using admin = await Kubectl.open(one);
    const token = (
      await admin.ok(["create", "token", "cli", "-n", "shop", "--duration=20m"])
    ).trim();
    await using files = await makeTempDir("kubeconfig");
    const cluster = {
      server: other.url,
      "certificate-authority-data": base64(other.credentials.ca),
    };
    const kubeconfig = await files.write(
      "config",
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        clusters: [{ name: "c", cluster }],
        users: [{ name: "u", user: { token } }],
        contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
        "current-context": "x",
      }),
    );
    await using user = await Kubectl.open({ kubeconfig });
    const review = JSON.parse(await user.ok(["auth", "whoami", "-o", "json"]));
    const { username, groups, uid, extra } = review.status.userInfo;
    assert.equal(username, "system:serviceaccount:shop:cli");
    assert.notEqual(uid, "");
    assert.deepEqual(groups, [
      "system:serviceaccounts",
      "system:serviceaccounts:shop",
      "system:authenticated",
    ]);
    assert.match(extra["authentication.kubernetes.io/credential-id"][0], /^JTI=[0-9a-f-]{36}$/);
    const forPod = ["--bound-object-kind=Pod", "--bound-object-name=none"];
    assert.match(
      await admin.fails(["create", "token", "cli", "-n", "shop", ...forPod]),
      /pods "none" not found/,
    );
  });

  /** Rounds 0, 1, 2, ... by a few workers at a time. */
  async function repeat(round: (index: number) => Promise<void>): Promise<void> {
    let next = 0;
    const worker = async () => {
      while (next < REVOCATIONS) await round(next++);
    };
    await Promise.all(Array.from({ length: REVOKERS }, worker));
  }

  /** Good everywhere, then taken away on one replica, then good nowhere. */
  async function revoke(token: string, name: string, takeAway: () => Promise<unknown>) {
    const users = await Promise.all(bearers.map((each) => each.userOf(token)));
    for (const user of users) assert.equal(user, `system:serviceaccount:shop:${name}`);
    await takeAway();
    for (const answer of await Promise.all(bearers.map((each) => each.get(token)))) {
      answer.expect(401, name);
    }
  }

  test("S2-SA-03: a deleted account is nobody on all replicas from the next request on", async () => {
    await repeat(async (round) => {
      const name = `gone-${round}`;
      await createAccount(one.client, name);
      const token = await requestToken(one.client, name);
      await revoke(token, name, async () => {
        (await one.client.delete(`${ACCOUNTS}/${name}`)).expect(200);
      });
    });
  });

  test("S2-SA-03: a token that is bound to a Secret goes with it, whoever takes its name", async () => {
    await createAccount(one.client, "bound");
    await repeat(async (round) => {
      const name = `anchor-${round}`;
      const create = async () =>
        (await one.client.post(`${NAMESPACE}/secrets`, { metadata: { name } })).expect(201);
      await create();
      const boundObjectRef = { apiVersion: "v1", kind: "Secret", name };
      const token = await requestToken(one.client, "bound", { boundObjectRef });
      await revoke(token, "bound", async () => {
        (await one.client.delete(`${NAMESPACE}/secrets/${name}`)).expect(200);
        if (round % 2 === 1) await create();
      });
    });
  });

  test("S2-REQ-08, S2-SA-03: a token Secret is filled, its token is good, and ends with the Secret", async () => {
    const account = await createAccount(one.client, "legacy");
    const annotations = { "kubernetes.io/service-account.name": "legacy" };
    const secret = {
      metadata: { name: "legacy-token", annotations },
      type: "kubernetes.io/service-account-token",
    };
    const path = `${NAMESPACE}/secrets/legacy-token`;
    (await one.client.post(`${NAMESPACE}/secrets`, secret)).expect(201);
    const filled = await eventually("the Secret is filled", async () => {
      const { object } = await one.client.get(path);
      return (object.data as Record<string, string> | undefined)?.token === undefined
        ? undefined
        : object;
    });
    const uid = filled.metadata.annotations?.["kubernetes.io/service-account.uid"];
    assert.equal(uid, account.metadata.uid);
    const data = filled.data as Record<string, string>;
    const token = Buffer.from(data.token ?? "", "base64").toString();
    assert.equal(Buffer.from(data.namespace ?? "", "base64").toString(), "shop");
    assert.match(Buffer.from(data["ca.crt"] ?? "", "base64").toString(), /BEGIN CERTIFICATE/);
    assert.equal(await bearer.userOf(token), "system:serviceaccount:shop:legacy");
    await eventually("the Secret says when its token was used", async () => {
      const { labels = {} } = (await one.client.get(path)).object.metadata;
      return /^\d{4}-\d{2}-\d{2}$/.test(labels["kubernetes.io/legacy-token-last-used"] ?? "");
    });
    const warned = async () => (await bearer.get(token)).headers.warning;
    assert.equal(await warned(), undefined);
    const secrets = [{ name: "legacy-token" }];
    const patched = await one.client.patch(`${NAMESPACE}/serviceaccounts/legacy`, { secrets });
    patched.expect(200);
    assert.match(String(await warned()), /TokenRequest API .* instead of auto-generated/);
    const tracking =
      "/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking";
    const since = (await one.client.get(tracking)).expect(200).object.data as Record<
      string,
      string
    >;
    assert.match(since.since ?? "", /^\d{4}-\d{2}-\d{2}$/);
    (await one.client.delete(path)).expect(200);
    (await bearer.get(token)).expect(401);
  });

  test("S2-SA-06: tokens that others made, for others, or out of nothing are refused", async () => {
    await createAccount(one.client, "forged");
    const token = await requestToken(one.client, "forged");
    const [head = "", body = "", signature = ""] = token.split(".");
    const { kid } = JSON.parse(Buffer.from(head, "base64url").toString()) as { kid: string };
    const claims = JSON.parse(Buffer.from(body, "base64url").toString()) as Record<string, unknown>;
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const text = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const forged = [
      await new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid }).sign(privateKey),
      `${text({ alg: "none" })}.${body}.`,
      `${text({ alg: "HS256", kid })}.${body}.${signature}`,
      `${head}.${text({ ...claims, sub: "system:serviceaccount:shop:web" })}.${signature}`,
      await requestToken(one.client, "forged", { audiences: ["vault"] }),
      "x",
    ];
    for (const [index, bad] of forged.entries()) (await bearer.get(bad)).expect(401, `${index}`);
    assert.equal(await bearer.userOf(token), "system:serviceaccount:shop:forged");
  });

  test("S2-SA-08: others verify tokens with what discovery says", async () => {
    const configuration = (await one.client.get("/.well-known/openid-configuration")).expect(200);
    assert.match(String(configuration.headers["content-type"]), /^application\/json/);
    const { issuer, jwks_uri } = configuration.object as unknown as Record<string, string>;
    assert.equal(issuer, ISSUER);
    assert.match(String(jwks_uri), /^https:\/\/.*\/openid\/v1\/jwks$/);
    const keySet = (await other.client.get("/openid/v1/jwks")).expect(200);
    assert.equal(keySet.headers["content-type"], "application/jwk-set+json");
    assert.equal(keySet.headers["cache-control"], "public, max-age=3600");
    await createAccount(one.client, "federated");
    const token = await requestToken(one.client, "federated", { audiences: ["vault"] });
    const keys = createLocalJWKSet(JSON.parse(keySet.text) as JSONWebKeySet);
    const { payload } = await jwtVerify(token, keys, { issuer: ISSUER, audience: "vault" });
    assert.equal(payload.sub, "system:serviceaccount:shop:federated");
  });

  test("S2-REQ-08: a pod gets the default account, a token volume, and is what its tokens live with", async () => {
    const pod = { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }] } };
    const made = (await one.client.post(`${NAMESPACE}/pods`, pod)).expect(201).object;
    const spec = made.spec as {
      serviceAccountName: string;
      volumes: { name: string; projected: { sources: object[] } }[];
    };
    assert.equal(spec.serviceAccountName, "default");
    assert.match(spec.volumes[0]?.name ?? "", /^kube-api-access-/);
    assert.equal(spec.volumes[0]?.projected.sources.length, 3);
    const map = (await other.client.get(`${NAMESPACE}/configmaps/kube-root-ca.crt`)).expect(200);
    assert.match(String((map.object.data as Record<string, string>)["ca.crt"]), /BEGIN CERT/);

    const boundObjectRef = { apiVersion: "v1", kind: "Pod", name: "p" };
    const token = await requestToken(one.client, "default", { boundObjectRef });
    assert.equal(await bearer.userOf(token), "system:serviceaccount:shop:default");
    (await one.client.delete(`${NAMESPACE}/pods/p?gracePeriodSeconds=0`)).expect(200);
    (await bearer.get(token)).expect(401);

    const foreign = { ...pod, spec: { ...pod.spec, serviceAccountName: "none" } };
    const refusal = (await one.client.post(`${NAMESPACE}/pods`, foreign)).expect(403);
    assert.match(
      String(refusal.object.message),
      /error looking up service account shop\/none: serviceaccount "none" not found/,
    );
  });
});

describe("keys from flags", () => {
  test("S2-SA-01, S2-SA-02: every key file verifies, the signing key signs, issuers and audiences are the flags'", async () => {
    await using files = await makeTempDir("keys");
    const keys = ["signing", "old", "other"].map(() =>
      generateKeyPairSync("ec", { namedCurve: "P-256" }),
    );
    const [signing, old, other] = keys as [(typeof keys)[0], (typeof keys)[0], (typeof keys)[0]];
    const write = async (name: string, key: KeyObject) => {
      const type = key.type === "private" ? "pkcs8" : "spki";
      await files.write(name, key.export({ type, format: "pem" }));
      return join(files.path, name);
    };
    await using server = await startServer({
      flags: [
        `--service-account-signing-key-file=${await write("signing.pem", signing.privateKey)}`,
        `--service-account-key-file=${await write("old.pem", old.publicKey)}`,
        `--service-account-key-file=${await write("signing.pub", signing.publicKey)}`,
        "--service-account-issuer=https://issuer.example",
        "--service-account-issuer=https://old.example",
        "--api-audiences=api,https://issuer.example",
        "--service-account-max-token-expiration=2h",
      ],
    });
    (await server.client.post("/api/v1/namespaces", { metadata: { name: "shop" } })).expect(201);
    await createAccount(server.client, "web");
    const bearer = new Bearer(server);
    const token = await requestToken(server.client, "web", { expirationSeconds: 86_400 });
    const { payload } = await jwtVerify(token, signing.publicKey, { audience: "api" });
    assert.equal(payload.iss, "https://issuer.example");
    assert.equal((payload.exp ?? 0) - (payload.iat ?? 0), 7_200);
    assert.equal(await bearer.userOf(token), "system:serviceaccount:shop:web");
    const signedBy = async (key: KeyObject, changes: object = {}) =>
      await new SignJWT({ ...payload, ...changes })
        .setProtectedHeader({ alg: "ES256" })
        .sign(await importPKCS8(String(key.export({ type: "pkcs8", format: "pem" })), "ES256"));
    const elder = await signedBy(old.privateKey, { iss: "https://old.example" });
    assert.equal(await bearer.userOf(elder), "system:serviceaccount:shop:web");
    const now = Math.floor(Date.now() / 1000);
    (await bearer.get(await signedBy(other.privateKey))).expect(401);
    (await bearer.get(await signedBy(old.privateKey, { exp: now - 1 }))).expect(401);
    (await bearer.get(await signedBy(old.privateKey, { nbf: now + 300 }))).expect(401);
    (await bearer.get(await signedBy(old.privateKey, { iss: "https://x.example" }))).expect(401);
    bearer.close();
  });

  test("S2-SA-02: without a key file, tokens that the serving key signed are good", async () => {
    await using files = await makeTempDir("tls");
    const authority = await TestAuthority.create("serving");
    const leaf = await authority.issue({ usage: "server", hosts: ["127.0.0.1"] });
    const [cert, key] = [join(files.path, "tls.crt"), join(files.path, "tls.key")];
    await writeFile(cert, leaf.cert + authority.certificate);
    await writeFile(key, leaf.key);
    await using server = await startServer({
      flags: [`--tls-cert-file=${cert}`, `--tls-private-key-file=${key}`],
    });
    (await server.client.post("/api/v1/namespaces", { metadata: { name: "shop" } })).expect(201);
    const { uid = "" } = (await createAccount(server.client, "web")).metadata;
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: ISSUER,
      aud: [ISSUER],
      exp: now + 600,
      sub: "system:serviceaccount:shop:web",
      "kubernetes.io": { namespace: "shop", serviceaccount: { name: "web", uid } },
    };
    const signed = await new SignJWT(claims)
      .setProtectedHeader({ alg: "ES256" })
      .sign(await importPKCS8(leaf.key, "ES256"));
    const bearer = new Bearer(server);
    assert.equal(await bearer.userOf(signed), "system:serviceaccount:shop:web");
    // What the server signs itself does not depend on that key, which replicas do not share.
    const own = await requestToken(server.client, "web");
    assert.equal(await bearer.userOf(own), "system:serviceaccount:shop:web");
    assert.match(Buffer.from(own.split(".")[0] ?? "", "base64url").toString(), /"RS256"/);
    bearer.close();
  });

  test("S2-SA-01: a restart keeps the tokens, as the embedded store keeps the key", async () => {
    await using files = await makeTempDir("server");
    let token = "";
    {
      await using server = await startServer({ dataDir: files.path });
      (await server.client.post("/api/v1/namespaces", { metadata: { name: "shop" } })).expect(201);
      await createAccount(server.client, "web");
      token = await requestToken(server.client, "web");
      await server.stop();
    }
    await using server = await startServer({ dataDir: files.path });
    const bearer = new Bearer(server);
    assert.equal(await bearer.userOf(token), "system:serviceaccount:shop:web");
    bearer.close();
  });

  for (const [flags, message] of [
    [["--service-account-issuer=a", "--service-account-issuer=a"], /the same issuer/],
    [["--service-account-jwks-uri=http://a"], /--service-account-jwks-uri: .*https/],
    [["--service-account-max-token-expiration=5m"], /from 1 hour to 2\^32 seconds/],
  ] as const) {
    test(`S2-ERR: ${flags.join(" ")} ends the start with one line`, async () => {
      assert.match(await refusalAtStart(flags), message);
    });
  }
});

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
