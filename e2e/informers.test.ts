/**
 * Informers of the official JavaScript client over 400 ConfigMaps (1,000 in the long run) under concurrent writers end in
 * exactly the server's state: nothing lost, nothing stale, nothing that is gone. On both stores, and
 * with a restart of the server in the middle.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CoreV1Api, KubeConfig, makeInformer, type V1ConfigMap } from "@kubernetes/client-node";
import { DEADLINE_MS, eventually } from "./harness/eventually.js";
import type { HttpsClient } from "./harness/https-client.js";
import { isLong } from "./harness/is-long.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { openStore, STORE_NAMES_OF_SLOW_TESTS } from "./harness/stores.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { freePort } from "./tools/free-port.js";

const OBJECTS = isLong ? 1_000 : 400;
const WRITERS = 8;
const WRITES_PER_WRITER = isLong ? 250 : 80;
const NAMESPACE = "default";
const PATH = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
/** A client of a server that restarts waits this long before it tries again. */
const RETRY_MS = 50;

for (const storeName of STORE_NAMES_OF_SLOW_TESTS) {
  test(`S1-GEN-05, S1-WATCH-01: informers end in the server's state (${storeName})`, async () => {
    await using store = await openStore(storeName);
    await using server = await startServer(store.etcd);
    await createObjects(server.client);
    await using informers = await startInformers(server, 2);
    await writeConcurrently(() => server.client);
    await assertSameAsServer(server.client, informers.all);
    assert.equal(informers.errors(), 0, "no informer saw an error");
    await server.stop();
  });

  test(`S1-WATCH-10: informers survive a restart of the server (${storeName})`, async () => {
    await using store = await openStore(storeName);
    await using dir = await makeTempDir("informers");
    const options = { ...store.etcd, dataDir: dir.path, port: await freePort() };
    await using first = await startServer(options);
    await createObjects(first.client);
    await using informers = await startInformers(first, 2);
    let client: HttpsClient = first.client;
    const writing = writeConcurrently(() => client);
    // In the middle of the writes: when the informers have seen the first of them.
    await eventually("the informers see writes", () =>
      informers.all.every((i) => i.list(NAMESPACE).some((o) => o.data?.writer !== undefined)),
    );
    await first.stop();
    await using second = await startServer(options);
    client = second.client;
    await writing;
    await assertSameAsServer(second.client, informers.all);
    await second.stop();
  });
}

async function createObjects(client: HttpsClient): Promise<void> {
  const names = Array.from({ length: OBJECTS }, (_, index) => nameOf(index));
  await Promise.all(
    Array.from({ length: WRITERS }, async () => {
      for (let name = names.pop(); name !== undefined; name = names.pop()) {
        (await client.post(PATH, toConfigMap(name, { seed: "0" }))).expect(201);
      }
    }),
  );
}

/** Creates, replaces and deletes at random; a server that is away is asked again. */
async function writeConcurrently(client: () => HttpsClient): Promise<void> {
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, writer) => {
      for (let count = 0; count < WRITES_PER_WRITER; count++) {
        await writeOnce(client, writer, count);
      }
    }),
  );
}

async function writeOnce(client: () => HttpsClient, writer: number, count: number): Promise<void> {
  const name = nameOf(Math.floor(Math.random() * (OBJECTS + 100)));
  const object = toConfigMap(name, { writer: String(writer), count: String(count) });
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    try {
      const answer =
        count % 5 === 0
          ? await client().delete(`${PATH}/${name}`)
          : await client().put(`${PATH}/${name}`, object);
      if (answer.status === 404 && count % 5 !== 0) {
        const created = await client().post(PATH, object);
        assert.ok([201, 409].includes(created.status), created.text);
      } else assert.ok([200, 404].includes(answer.status), answer.text);
      return;
    } catch (error) {
      const isAway = error instanceof Error && "code" in error && error.code !== "ERR_ASSERTION";
      const isGoingDown =
        error instanceof assert.AssertionError && /"code":503/.test(error.message);
      if (!(isAway || isGoingDown) || performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

async function startInformers(server: ServerProcess, count: number) {
  const config = new KubeConfig();
  config.loadFromFile(server.kubeconfig);
  const api = config.makeApiClient(CoreV1Api);
  let errors = 0;
  let isOpen = true;
  const all = Array.from({ length: count }, () => {
    const informer = makeInformer<V1ConfigMap>(config, PATH, () =>
      api.listNamespacedConfigMap({ namespace: NAMESPACE }),
    );
    // As the client's own example does: start again after a while.
    informer.on("error", () => {
      errors++;
      setTimeout(() => {
        if (isOpen) informer.start().catch(() => {});
      }, RETRY_MS);
    });
    return informer;
  });
  await Promise.all(all.map((informer) => informer.start()));
  return {
    all,
    errors: () => errors,
    async [Symbol.asyncDispose]() {
      isOpen = false;
      await Promise.all(all.map((informer) => informer.stop()));
    },
  };
}

type Informer = ReturnType<typeof makeInformer<V1ConfigMap>>;

async function assertSameAsServer(
  client: HttpsClient,
  informers: readonly Informer[],
): Promise<void> {
  const items = (await client.get(PATH)).expect(200).items;
  const wanted = summarize(items.map((item) => item as unknown as V1ConfigMap));
  assert.ok(wanted.length > OBJECTS / 2, "most objects are still there");
  for (const informer of informers) {
    try {
      await eventually("the informer has caught up", () => {
        const seen = summarize(informer.list(NAMESPACE));
        return JSON.stringify(seen) === JSON.stringify(wanted);
      });
    } catch (error) {
      assert.deepEqual(summarize(informer.list(NAMESPACE)), wanted, String(error));
      throw error;
    }
  }
}

/** Name, version and content of each, in the order of names. */
function summarize(objects: readonly V1ConfigMap[]): string[] {
  return objects
    .map(({ metadata, data }) => {
      const { name, resourceVersion, uid } = metadata ?? {};
      return `${name} ${resourceVersion} ${uid} ${JSON.stringify(Object.entries(data ?? {}).sort())}`;
    })
    .sort();
}

function nameOf(index: number): string {
  return `object-${String(index).padStart(4, "0")}`;
}

function toConfigMap(name: string, data: Record<string, string>) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
}
