/**
 * Where control planes are: by host names of their own for clients, and in the store, encrypted with keys of their own that
 * go when they go.
 */
import assert from "node:assert/strict";
import { createDecipheriv } from "node:crypto";
import { lookup as resolve } from "node:dns";
import { connect } from "node:http2";
import { type RequestOptions as NodeOptions, request } from "node:https";
import { join } from "node:path";
import { test } from "node:test";
import { connect as connectTls } from "node:tls";
import { parse, stringify } from "yaml";
import { systemClock } from "../storage/base/clock.js";
import { silentLogger } from "../storage/base/logger.js";
import { openEmbeddedStore } from "../storage/embedded/embedded-store.js";
import type { KeyValue, RevisionedStore } from "../storage/kv/store.js";
import { eventually } from "./harness/eventually.js";
import { Kubectl } from "./harness/kubectl.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";

const VERSION = "tenancy.k8s.io/v1alpha1";
const KIND = `/apis/${VERSION}/controlplanes`;
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const DOMAIN = "cp.localhost";
const signal = new AbortController().signal;

async function make({ client }: ServerProcess, name: string): Promise<string> {
  const object = { apiVersion: VERSION, kind: "ControlPlane", metadata: { name } };
  return (await client.post(KIND, object)).expect(201).object.metadata.uid ?? "";
}

async function kubeconfigOf({ client }: ServerProcess, name: string): Promise<string> {
  const answer = (await client.post(`${KIND}/${name}/kubeconfig`, {})).expect(201);
  return (answer.object as unknown as { status: { kubeconfig: string } }).status.kubeconfig;
}

/** The status with which a request ends whose handshake and header name these. */
function ask(
  server: ServerProcess,
  asked: { sni: string; host: string; token: string; path?: string },
) {
  const {
    promise,
    resolve: done,
    reject,
  } = Promise.withResolvers<{ code: number; text: string }>();
  const options: NodeOptions = {
    ...{ host: "127.0.0.1", port: server.port, path: asked.path ?? "/api", agent: false },
    ...{ ca: server.credentials.ca, servername: asked.sni },
    headers: { host: asked.host, authorization: `Bearer ${asked.token}` },
  };
  request(options, async (message) => {
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(chunk as Buffer);
    done({ code: message.statusCode ?? 0, text: Buffer.concat(chunks).toString() });
  })
    .on("error", reject)
    .end();
  return promise;
}

test("a control plane has a host name, by which kubectl works and nobody gets into another", async () => {
  await using folder = await makeTempDir("hosts");
  await using server = await startServer({
    flags: ["--enable-control-planes", `--control-plane-domain=${DOMAIN}`],
  });
  for (const name of ["shop", "other"]) await make(server, name);
  const text = await kubeconfigOf(server, "shop");
  const kubeconfig = parse(text) as {
    clusters: { cluster: { server: string; "tls-server-name"?: string } }[];
    users: { user: { token: string } }[];
  };
  const [entry] = kubeconfig.clusters;
  const token = kubeconfig.users[0]?.user.token ?? "";
  assert.ok(entry);
  assert.equal(entry.cluster.server, `https://shop.${DOMAIN}:${server.port}`);
  const found = await eventually("the status", async () => {
    const { object } = await server.client.get(`${KIND}/shop`);
    return (object as unknown as { status?: { url?: string } }).status?.url;
  });
  assert.equal(found, entry.cluster.server);

  // Names below localhost are this machine for resolvers that follow RFC 6761; others are told.
  const isResolved = await new Promise<boolean>((done) =>
    resolve(`shop.${DOMAIN}`, (error) => done(error === null)),
  );
  if (!isResolved) entry.cluster.server = `https://127.0.0.1:${server.port}/clusters/shop`;
  const file = await folder.write("config", stringify(kubeconfig));
  await using kubectl = await Kubectl.open({ kubeconfig: file });
  const made = await kubectl.run(["create", "configmap", "by-name", "--from-literal=a=b"]);
  assert.equal(made.code, 0, made.stderr);
  (await server.client.get(`/clusters/shop${CONFIG_MAPS}/by-name`)).expect(200);

  const shop = `shop.${DOMAIN}`;
  const other = `other.${DOMAIN}`;
  const map = `${CONFIG_MAPS}/by-name`;
  const codeOf = async (sni: string, host: string, path?: string) =>
    (await ask(server, { sni, host, token, ...(path !== undefined && { path }) })).code;
  assert.equal(await codeOf(shop, `${shop}:${server.port}`, map), 200);
  assert.equal(await codeOf(shop, shop, `/clusters/shop${map}`), 200);
  assert.equal(await codeOf(shop, shop, `/clusters/other${map}`), 404);
  // The absolute form of RFC 9112, section 3.2.2.
  assert.equal(await codeOf(shop, shop, `https://${shop}${map}`), 200);
  assert.equal(await codeOf(shop, shop, `https://${shop}/clusters/other${map}`), 404);
  assert.equal(
    await codeOf("localhost", "localhost", `https://localhost/clusters/shop${map}`),
    200,
  );
  assert.equal(await codeOf(other, other, map), 401);
  assert.equal(await codeOf(shop, other), 421);
  assert.equal(await codeOf(other, shop), 421);
  assert.equal(await codeOf("localhost", shop), 421);
  assert.equal(await codeOf(shop, "localhost"), 421);
  assert.equal(await codeOf("localhost", "localhost", map), 401);
  // A name that nobody has, with a token of another.
  assert.equal(await codeOf(`nobody.${DOMAIN}`, `nobody.${DOMAIN}`, map), 401);

  const session = connect(`https://${shop}:${server.port}`, {
    createConnection: () =>
      connectTls({
        ...{ host: "127.0.0.1", port: server.port, servername: shop, ALPNProtocols: ["h2"] },
        ca: server.credentials.ca,
      }),
  });
  for (const [authority, code] of [
    [shop, 200],
    [other, 421],
  ] as const) {
    const stream = session.request({
      ...{ ":path": map, ":authority": `${authority}:${server.port}` },
      authorization: `Bearer ${token}`,
    });
    const status = await new Promise<number>((done, fail) => {
      stream.once("response", (headers) => done(Number(headers[":status"])));
      stream.once("error", fail);
    });
    stream.close();
    assert.equal(status, code, authority);
  }
  session.close();
});

const SECRET = Buffer.alloc(32, "k");
const PREFIX = "/registry/";

function encryption(): string {
  const key = { name: "one", secret: SECRET.toString("base64") };
  const rule = { resources: ["keys.tenancy.k8s.io"], providers: [{ aesgcm: { keys: [key] } }] };
  const apiVersion = "apiserver.config.k8s.io/v1";
  return JSON.stringify({ apiVersion, kind: "EncryptionConfiguration", resources: [rule] });
}

/** What lies in the store below a prefix; no server has it meanwhile. */
async function readAll(dataDir: string): Promise<readonly KeyValue[]> {
  const directory = join(dataDir, "store");
  await using store: RevisionedStore = await openEmbeddedStore({
    ...{ directory, clock: systemClock, logger: silentLogger },
  });
  return (await store.range({ prefix: PREFIX }, signal)).kvs;
}

/** AES-GCM as the server writes it: nonce, text, tag; bound to the key in the store. */
function decrypt(secret: Buffer, { key, value }: KeyValue): string | undefined {
  const mark = /^k8s:enc:aesgcm:v1:[^:]+:/.exec(value.toString("latin1"))?.[0];
  if (mark === undefined) return undefined;
  const sealed = value.subarray(mark.length);
  try {
    const cipher = createDecipheriv("aes-256-gcm", secret, sealed.subarray(0, 12));
    cipher.setAAD(Buffer.from(key));
    cipher.setAuthTag(sealed.subarray(-16));
    return Buffer.concat([cipher.update(sealed.subarray(12, -16)), cipher.final()]).toString(
      "latin1",
    );
  } catch {
    return undefined;
  }
}

test("44: watches in control planes end in good order, and soon, when the server does", async () => {
  await using server = await startServer({ flags: ["--enable-control-planes"] });
  await make(server, "watched");
  const events = await server.client.watch(`/clusters/watched${CONFIG_MAPS}?watch=1`);
  const inRoot = await server.client.watch(`${CONFIG_MAPS}?watch=1`);
  // None breaks off: that would throw.
  const ends = [events, inRoot].map(async (all) => {
    for await (const _ of all);
  });
  await Promise.all([server.stop(), ...ends]);
});

test("each control plane is encrypted with a key of its own; when that is deleted nothing opens a copy", async () => {
  await using folder = await makeTempDir("keys");
  const file = await folder.write("encryption.json", encryption());
  const dataDir = join(folder.path, "data");
  const flags = ["--enable-control-planes", `--encryption-provider-config=${file}`];
  const start = () => startServer({ dataDir, flags });
  const uids: string[] = [];
  const map = (name: string) => ({ metadata: { name }, data: { planted: "zebrafish" } });
  {
    await using server = await start();
    for (const name of ["shop", "other"]) {
      uids.push(await make(server, name));
      (await server.client.post(`/clusters/${name}${CONFIG_MAPS}`, map(name))).expect(201);
    }
    const clone = { spec: { cloneFrom: { name: "shop" } }, metadata: { name: "copy" } };
    const object = { apiVersion: VERSION, kind: "ControlPlane", ...clone };
    uids.push((await server.client.post(KIND, object)).expect(201).object.metadata.uid ?? "");
    (await server.client.get(`/clusters/copy${CONFIG_MAPS}/shop`)).expect(200);
    await server.stop();
  }
  const [shop = "", ...others] = uids;
  const before = await readAll(dataDir);
  const keyOf = (uid: string) =>
    before.find(({ key }) => key === `${PREFIX}.control-plane-keys/${uid}`);
  const partOf = (kvs: readonly KeyValue[], uid: string) =>
    kvs.filter(({ key }) => key.startsWith(`${PREFIX}.control-planes/${uid}/`));
  const open = (uid: string) => {
    const wrapped = keyOf(uid);
    assert.ok(wrapped);
    return Buffer.from(decrypt(SECRET, wrapped) ?? "", "latin1");
  };
  for (const uid of uids) {
    const part = partOf(before, uid);
    const maps = part.filter(({ key }) => key.includes("/core/configmaps/default/"));
    assert.ok(maps.length > 0);
    for (const one of maps) assert.doesNotMatch(one.value.toString("latin1"), /zebrafish/);
    assert.ok(maps.some((one) => decrypt(open(uid), one)?.includes("zebrafish")));
    // Nobody else's key opens it, and the key of the rule does not.
    for (const other of uids.filter((id) => id !== uid)) {
      assert.ok(maps.every((one) => decrypt(open(other), one) === undefined));
    }
    assert.ok(maps.every((one) => decrypt(SECRET, one) === undefined));
    const bare = part.filter(
      ({ key, value }) =>
        !value.toString("latin1").startsWith("k8s:enc:") &&
        !key.endsWith(".begun") &&
        !key.includes("/.epoch/"),
    );
    assert.deepEqual(
      bare.map(({ key }) => key),
      [],
    );
  }
  {
    await using server = await start();
    (await server.client.get(`/clusters/shop${CONFIG_MAPS}/shop`)).expect(200);
    (await server.client.delete(`${KIND}/shop`)).expect(200);
    await eventually(
      "it is gone",
      async () => (await server.client.get(`${KIND}/shop`)).status === 404,
    );
    (await server.client.get(`/clusters/copy${CONFIG_MAPS}/shop`)).expect(200);
    await server.stop();
  }
  const after = await readAll(dataDir);
  assert.deepEqual(partOf(after, shop), []);
  // A copy of the content from before: no value that the store still has is a key to it.
  const candidates = [
    SECRET,
    ...after.flatMap((kv) => [kv.value, Buffer.from(decrypt(SECRET, kv) ?? "", "latin1")]),
  ];
  const secrets = candidates.filter(({ length }) => length === SECRET.length);
  assert.equal(secrets.length, 1 + others.length);
  for (const secret of secrets) {
    assert.ok(partOf(before, shop).every((one) => decrypt(secret, one) === undefined));
  }
});
