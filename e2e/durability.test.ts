/**
 * kill -9 of the server in the middle of its writes, on either store: what a client was told is
 * written is there after the restart, as it was told. The long run takes 10,000 objects.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "./harness/eventually.js";
import type { ApiObject, HttpsClient } from "./harness/https-client.js";
import { isLong } from "./harness/is-long.js";
import { startServer } from "./harness/server-process.js";
import { openStore, STORE_NAMES } from "./harness/stores.js";
import { makeTempDir } from "./harness/temp-dir.js";

const OBJECTS = isLong ? 10_000 : 3_000;
const WRITES = isLong ? 2_000 : 1_000;
const WRITERS = 16;
const PATH = "/api/v1/namespaces/default/configmaps";

/** What the server has acknowledged: name to resourceVersion; "" = deleted. */
type Acknowledged = Map<string, string>;

for (const storeName of STORE_NAMES) {
  test(`NoLostUpdate: kill -9 loses no acknowledged write (${storeName})`, async (t) => {
    await using store = await openStore(storeName);
    await using dir = await makeTempDir("durability");
    const options = { ...store.etcd, dataDir: dir.path };
    const acknowledged: Acknowledged = new Map();

    await using first = await startServer(options);
    await createAll(first.client, acknowledged);
    const unsure = new Set<string>();
    const writing = writeUntilItDies(first.client, acknowledged, unsure);
    await eventually("half of the writes are done", () => writing.done() >= WRITES / 2);
    await first.kill();
    await writing.finished;
    assert.ok(writing.done() < WRITES, "the server was killed in the middle");

    await using second = await startServer(options);
    const readyMs = Math.round(second.readyAfterMs);
    const list = (await second.client.get(PATH)).expect(200);
    t.diagnostic(
      `${storeName}: ${writing.done()} of ${WRITES} writes acknowledged before the kill, ` +
        `${list.items.length} objects, ready again ${readyMs} ms after the start of the process ` +
        `(the server's own clock: ${/ready afterMs=\d+/.exec(second.logs)?.[0]})`,
    );
    assertAllThere(list.items, acknowledged, unsure);

    // And it goes on from there: versions grow, the watch sees the next write.
    const { resourceVersion } = list.object.metadata;
    const created = (await second.client.post(PATH, toConfigMap("after", 0))).expect(201).object;
    assert.ok(BigInt(String(created.metadata.resourceVersion)) > BigInt(String(resourceVersion)));
    const events = await second.client.watch(`${PATH}?watch=1&resourceVersion=${resourceVersion}`);
    assert.equal((await events.next()).value?.object.metadata.name, "after");
    await second.kill();
  });
}

async function createAll(client: HttpsClient, acknowledged: Acknowledged): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: WRITERS }, async () => {
      while (next < OBJECTS) {
        const name = `seed-${next++}`;
        const { metadata } = (await client.post(PATH, toConfigMap(name, 0))).expect(201).object;
        acknowledged.set(name, String(metadata.resourceVersion));
      }
    }),
  );
}

/** Creates, replaces and deletes; a write that got no answer is in `unsure`: both ends are right. */
function writeUntilItDies(client: HttpsClient, acknowledged: Acknowledged, unsure: Set<string>) {
  let next = 0;
  let done = 0;
  const write = async (index: number) => {
    // A name of its own per write, so that what was acknowledged last is known.
    const name = index % 4 === 0 ? `new-${index}` : `seed-${index}`;
    unsure.add(name);
    if (index % 4 === 0) {
      const answer = (await client.post(PATH, toConfigMap(name, index))).expect(201);
      acknowledged.set(name, String(answer.object.metadata.resourceVersion));
    } else if (index % 4 === 1) {
      (await client.delete(`${PATH}/${name}`)).expect(200);
      acknowledged.set(name, "");
    } else {
      const answer = (await client.put(`${PATH}/${name}`, toConfigMap(name, index))).expect(200);
      acknowledged.set(name, String(answer.object.metadata.resourceVersion));
    }
    unsure.delete(name);
    done++;
  };
  const work = async () => {
    while (next < WRITES) {
      try {
        await write(next++);
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        return;
      }
    }
  };
  return { done: () => done, finished: Promise.all(Array.from({ length: WRITERS }, work)) };
}

function assertAllThere(
  items: readonly ApiObject[],
  acknowledged: Acknowledged,
  unsure: ReadonlySet<string>,
): void {
  const found = new Map(items.map((item) => [String(item.metadata.name), item]));
  const lost: string[] = [];
  for (const [name, version] of acknowledged) {
    if (unsure.has(name)) continue;
    const now = found.get(name)?.metadata.resourceVersion ?? "";
    if (now !== version) lost.push(`${name}: acknowledged at ${version}, found at ${now}`);
  }
  assert.deepEqual(lost, []);
  const known = (name: string) => acknowledged.has(name) || unsure.has(name);
  assert.deepEqual(
    [...found.keys()].filter((name) => !known(name) && !name.startsWith("kube-root")),
    [],
  );
}

function toConfigMap(name: string, value: number) {
  const data = { value: String(value), filler: "x".repeat(200) };
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
}
