/**
 * Objects stored in CBOR on a running server, on both stores: turned on while JSON is there, with
 * encryption around it, and turned off again.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "../storage/base/clock.js";
import { silentLogger } from "../storage/base/logger.js";
import { openEmbeddedStore } from "../storage/embedded/embedded-store.js";
import { openEtcdStore } from "../storage/etcd/etcd-store.js";
import { runServer, type ServerProcess, startServer } from "./harness/server-process.js";
import { openStore, STORE_NAMES_OF_SLOW_TESTS, type StoreForTest } from "./harness/stores.js";
import { makeTempDir } from "./harness/temp-dir.js";

const MAPS = "/api/v1/namespaces/default/configmaps";
const SECRETS = "/api/v1/namespaces/default/secrets";
const IN_CBOR = [
  "--feature-gates=CBORServingAndStorage=true",
  "--storage-media-type=application/cbor",
];
const SELF_DESCRIBED = "d9d9f7";
const signal = new AbortController().signal;

/** What the store holds below a resource; the embedded one only while no server has it. */
async function rawOf(
  store: StoreForTest,
  dataDir: string,
  resource: string,
): Promise<Map<string, Buffer>> {
  const { etcdEndpoints } = store.etcd;
  const base = { clock: systemClock, logger: silentLogger };
  await using raw =
    etcdEndpoints === undefined
      ? await openEmbeddedStore({ ...base, directory: join(dataDir, "store") })
      : await openEtcdStore({ ...base, endpoints: etcdEndpoints, prefix: "/registry" }, signal);
  const prefix = `/registry/core/${resource}/default/`;
  const { kvs } = await raw.range({ prefix, after: "", limit: 0 }, signal);
  return new Map(kvs.map(({ key, value }) => [key.slice(prefix.length), value]));
}

const startOf = (value: Buffer | undefined) => value?.toString("hex", 0, 3);

async function dataOf({ client }: ServerProcess, name: string): Promise<unknown> {
  return (await client.get(`${MAPS}/${name}`)).expect(200).object.data;
}

function create({ client }: ServerProcess, name: string) {
  return client.post(MAPS, { metadata: { name }, data: { text: `é😀 ${name}`, empty: "" } });
}

for (const name of STORE_NAMES_OF_SLOW_TESTS) {
  test(`S1-PB-11, S1-FEAT-01: on ${name} objects are stored in CBOR where it is asked for, and read in any case`, async () => {
    await using store = await openStore(name);
    await using folder = await makeTempDir("stored-form");
    const dataDir = join(folder.path, "data");
    const start = (...flags: readonly string[]) => startServer({ ...store.etcd, dataDir, flags });

    const plain = await start();
    (await create(plain, "old")).expect(201);
    (await create(plain, "changed")).expect(201);
    await plain.stop();
    assert.equal((await rawOf(store, dataDir, "configmaps")).get("old")?.[0], 0x7b);

    const secret = Buffer.from("x".repeat(32)).toString("base64");
    const keys = [{ name: "one", secret }];
    const resources = [{ resources: ["secrets"], providers: [{ aesgcm: { keys } }] }];
    const apiVersion = "apiserver.config.k8s.io/v1";
    const encryption = await folder.write(
      "encryption.json",
      JSON.stringify({ apiVersion, kind: "EncryptionConfiguration", resources }),
    );
    const sealing = `--encryption-provider-config=${encryption}`;
    const inCbor = await start(...IN_CBOR, sealing);
    assert.deepEqual(await dataOf(inCbor, "old"), { text: "é😀 old", empty: "" });
    (await create(inCbor, "new")).expect(201);
    const { object } = (await inCbor.client.get(`${MAPS}/changed`)).expect(200);
    (await inCbor.client.put(`${MAPS}/changed`, { ...object, data: { n: "1" } })).expect(200);
    (await inCbor.client.post(SECRETS, { metadata: { name: "s" }, data: { a: "AQID" } })).expect(
      201,
    );
    const listed = (await inCbor.client.get(MAPS)).expect(200).items;
    const names = listed.map(({ metadata }) => metadata.name);
    for (const expected of ["changed", "new", "old"]) assert.ok(names.includes(expected));
    await inCbor.stop();
    const raw = await rawOf(store, dataDir, "configmaps");
    assert.equal(raw.get("old")?.[0], 0x7b, "what nobody wrote stays as it is");
    assert.equal(startOf(raw.get("new")), SELF_DESCRIBED);
    assert.equal(startOf(raw.get("changed")), SELF_DESCRIBED);
    const sealed = (await rawOf(store, dataDir, "secrets")).get("s");
    assert.match(sealed?.toString("latin1") ?? "", /^k8s:enc:aesgcm:v1:one:/);

    const again = await start(sealing);
    assert.deepEqual(await dataOf(again, "new"), { text: "é😀 new", empty: "" });
    assert.deepEqual(await dataOf(again, "changed"), { n: "1" });
    const { object: read } = (await again.client.get(`${SECRETS}/s`)).expect(200);
    assert.deepEqual(read.data, { a: "AQID" });
    (await again.client.delete(`${MAPS}/new`)).expect(200);
    await again.stop();
  });
}

test("S1-PB-11: storage in CBOR is refused without its gate, and Protobuf is no stored form", async () => {
  for (const type of ["application/cbor", "application/vnd.kubernetes.protobuf"]) {
    const { code, output } = await runServer(["serve", `--storage-media-type=${type}`]);
    assert.notEqual(code, 0);
    assert.match(output, /--storage-media-type/);
  }
});
