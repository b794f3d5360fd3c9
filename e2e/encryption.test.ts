/**
 * Encryption at rest on a running server, on both stores: nothing readable in the store, keys that are
 * rotated while it serves, bad files, kills, and a key that is lost.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "../storage/base/clock.js";
import { silentLogger } from "../storage/base/logger.js";
import { openEmbeddedStore } from "../storage/embedded/embedded-store.js";
import { openEtcdStore } from "../storage/etcd/etcd-store.js";
import { eventually } from "./harness/eventually.js";
import { runServer, type ServerProcess, startServer } from "./harness/server-process.js";
import { openStore, STORE_NAMES_OF_SLOW_TESTS, type StoreForTest } from "./harness/stores.js";
import { makeTempDir } from "./harness/temp-dir.js";

const SECRETS = "/api/v1/namespaces/default/secrets";
const KEY = "/registry/core/secrets/default/db";
/** What all replicas share beside the objects. */
const SHARED_KEYS = ["/registry/.service-account-key", "/registry/.certificate-authorities"];
const PASSWORD = "correct horse battery staple";
const signal = new AbortController().signal;

function configuration(...providers: readonly string[]): string {
  const list = providers.map((provider) => {
    const [cipher = "", name = ""] = provider.split("/");
    const secret = Buffer.from(name.padEnd(32, "!")).toString("base64");
    return { [cipher]: { keys: [{ name, secret }] } };
  });
  const resources = [{ resources: ["secrets"], providers: list }];
  const apiVersion = "apiserver.config.k8s.io/v1";
  return JSON.stringify({ apiVersion, kind: "EncryptionConfiguration", resources });
}

/** What the store holds; the embedded one can only be looked into while no server has it. */
async function readRaw(store: StoreForTest, dataDir: string, key = KEY): Promise<string> {
  const { etcdEndpoints } = store.etcd;
  const clock = systemClock;
  const logger = silentLogger;
  const opened =
    etcdEndpoints === undefined
      ? await openEmbeddedStore({ directory: join(dataDir, "store"), clock, logger })
      : await openEtcdStore(
          { endpoints: etcdEndpoints, prefix: "/registry", clock, logger },
          signal,
        );
  await using raw = opened;
  return (await raw.get(key, {}, signal)).kv?.value.toString("latin1") ?? "";
}

async function passwordOf({ client }: ServerProcess): Promise<string> {
  const { object } = (await client.get(`${SECRETS}/db`)).expect(200);
  const { password = "" } = object.data as Record<string, string>;
  return Buffer.from(password, "base64").toString();
}

/** Writes the secret as it is. */
async function touch({ client }: ServerProcess): Promise<string> {
  const { object } = (await client.get(`${SECRETS}/db`)).expect(200);
  const answer = (await client.put(`${SECRETS}/db`, object)).expect(200);
  return String(answer.object.metadata.resourceVersion);
}

for (const name of STORE_NAMES_OF_SLOW_TESTS) {
  test(`S1-UNS-08: secrets on ${name} are encrypted, rotated, and corrupt without their key`, async () => {
    await using store = await openStore(name);
    await using folder = await makeTempDir("encryption");
    const file = join(folder.path, "encryption.json");
    const dataDir = join(folder.path, "data");
    const start = () =>
      startServer({
        ...store.etcd,
        dataDir,
        flags: [
          `--encryption-provider-config=${file}`,
          "--encryption-provider-config-automatic-reload=true",
          "--feature-gates=AllowUnsafeMalformedObjectDeletion=true",
        ],
      });

    await writeFile(file, configuration("aescbc/one"));
    {
      await using server = await start();
      const metadata = { name: "db" };
      const secret = {
        apiVersion: "v1",
        kind: "Secret",
        metadata,
        stringData: { password: PASSWORD },
      };
      (await server.client.post(SECRETS, secret)).expect(201);
      assert.equal(await passwordOf(server), PASSWORD);
      await server.kill();
    }
    const stored = await readRaw(store, dataDir);
    assert.ok(stored.startsWith("k8s:enc:aescbc:v1:one:"), stored.slice(0, 40));
    assert.equal(stored.includes(Buffer.from(PASSWORD).toString("base64")), false);

    {
      await using server = await start();
      assert.equal(await passwordOf(server), PASSWORD);
      const before = await touch(server);
      assert.equal(await touch(server), before);
      await writeFile(file, "no configuration");
      await eventually("the bad file is noticed", () => server.logs.includes("are not usable"));
      assert.equal(await passwordOf(server), PASSWORD);
      await writeFile(file, configuration("aesgcm/two", "aescbc/one"));
      await eventually("the secret is written with the new key", async () => {
        return (await touch(server)) !== before;
      });
      const after = await touch(server);
      assert.equal(await touch(server), after);
      // Or no replica that starts later knows the others, once the old key is gone.
      for (const key of name === "etcd" ? SHARED_KEYS : []) {
        await eventually(`${key} is sealed with the new key`, async () =>
          (await readRaw(store, dataDir, key)).startsWith("k8s:enc:aesgcm:v1:two:"),
        );
      }
      await server.kill();
    }
    assert.ok((await readRaw(store, dataDir)).startsWith("k8s:enc:aesgcm:v1:two:"));

    await writeFile(file, configuration("secretbox/three"));
    {
      await using server = await start();
      const { client } = server;
      (await client.get("/api/v1/namespaces/default/configmaps")).expect(200);
      assert.equal((await client.get(SECRETS)).expect(500).object.reason, "StoreReadError");
      (await client.get(`${SECRETS}/db`)).expect(500);
      (await client.delete(`${SECRETS}/db`)).expect(500);
      // The key comes back while it serves, and goes again.
      await writeFile(file, configuration("secretbox/three", "aesgcm/two"));
      await eventually(
        "the secret is readable",
        async () => (await passwordOf(server)) === PASSWORD,
      );
      await writeFile(file, configuration("secretbox/three"));
      await server.kill();
    }
    {
      await using server = await start();
      const { client } = server;
      const options = {
        apiVersion: "v1",
        kind: "DeleteOptions",
        ignoreStoreReadErrorWithClusterBreakingPotential: true,
      };
      (await client.delete(`${SECRETS}/db`, options)).expect(200);
      (await client.get(`${SECRETS}/db`)).expect(404);
      (await client.get(SECRETS)).expect(200);
      for (const text of [PASSWORD, "one!!", "two!!"]) {
        assert.equal(server.logs.includes(text), false, "no secret is in the logs");
      }
    }
  });
}

test("a bad encryption configuration is one line at the start", async () => {
  await using folder = await makeTempDir("encryption");
  const file = await folder.write("encryption.yaml", configuration("kms/x"));
  const flags = ["serve", `--data-dir=${folder.path}`, `--encryption-provider-config=${file}`];
  const { code, output } = await runServer([...flags, "--secure-port=0"]);
  assert.equal(code, 1);
  assert.match(
    output,
    /encryption-provider-config .*kms: key management services are not supported/,
  );
});
