/**
 * Kinds come, change and go while requests run, on replicas that learn of it late: a definition that
 * was acknowledged anywhere is in force for the next request everywhere, in discovery and OpenAPI as
 * well, and what depended on a kind that is gone ends with it.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "./harness/eventually.js";
import type { HttpsClient } from "./harness/https-client.js";
import {
  KINDS_NAMESPACE,
  type KindReplica,
  openKindReplica,
  openSharedStore,
} from "./harness/kind-replica.js";
import { makeTempDir } from "./harness/temp-dir.js";

/** Of the second replica's feed: requests come before what they are about. */
const LAG_MS = 30;
const CYCLES = 8;

const directory = await makeTempDir("kinds");
const dataDir = (name: string) => `${directory.path}/${name}`;
const storage = await openSharedStore(dataDir("store"));
const first = await openKindReplica({
  dataDir: dataDir("first"),
  storage,
  flags: ["--run-controllers"],
});
const second = await openKindReplica({ dataDir: dataDir("second"), storage, lagMs: LAG_MS });
const replicas = [first, second] as const;

before(async () => {
  for (const name of [KINDS_NAMESPACE, "shop"]) {
    const namespace = { metadata: { name } };
    (await first.client.post("/api/v1/namespaces", namespace)).expect(201);
  }
});
after(async () => {
  await second[Symbol.asyncDispose]();
  await first[Symbol.asyncDispose]();
  await storage[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
});

interface Kind {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

const CARS: Kind = { group: "cars.example.com", plural: "cars", kind: "Car" };
const BOATS: Kind = { group: "boats.example.com", plural: "boats", kind: "Boat" };
const PLANES: Kind = { group: "planes.example.com", plural: "planes", kind: "Plane" };

const collection = ({ group, plural }: Kind) => `/apis/${group}/v1/namespaces/shop/${plural}`;
const definitions = `/api/v1/namespaces/${KINDS_NAMESPACE}/configmaps`;
const partition = ({ group, plural }: Kind) => `${group}/${plural}`;

function definition(kind: Kind, mark: string, more: object = {}) {
  return { metadata: { name: kind.plural }, data: { ...kind, version: "v1", mark, ...more } };
}

async function define(client: HttpsClient, kind: Kind, mark: string, more = {}): Promise<void> {
  const path = `${definitions}/${kind.plural}`;
  const found = await client.get(path);
  const body = definition(kind, mark, more);
  if (found.status === 404) (await client.post(definitions, body)).expect(201);
  else (await client.put(path, body)).expect(200);
}

async function undefine(client: HttpsClient, { plural }: Kind): Promise<void> {
  (await client.delete(`${definitions}/${plural}`)).expect(200);
}

async function create(client: HttpsClient, kind: Kind, name: string): Promise<unknown> {
  const answer = await client.post(collection(kind), objectOf(kind, { name }));
  return (answer.expect(201, `${name} of ${kind.plural}`).object.spec as { mark: string }).mark;
}

const objectOf = ({ group, kind }: Kind, metadata: object) => ({
  apiVersion: `${group}/v1`,
  kind,
  metadata,
});

function hasPartition({ access }: KindReplica, kind: Kind): boolean {
  return [...access.views.view.partitions].some(({ id }) => id === partition(kind));
}

/** Asks both replicas for things of all sorts without end; gives what went wrong. */
function runLoad(kind: Kind): { stop(): Promise<string[]> } {
  const wrong: string[] = [];
  let isOver = false;
  let asked = 0;
  const allowed = async (client: HttpsClient, path: string, ...statuses: number[]) => {
    const answer = await client.get(path);
    asked++;
    if (!statuses.includes(answer.status)) wrong.push(`${path}: ${answer.status} ${answer.text}`);
  };
  const worker = async (client: HttpsClient, number: number) => {
    for (let round = 0; !isOver; round++) {
      await allowed(client, "/api/v1/namespaces/shop", 200);
      await allowed(client, `${collection(kind)}?resourceVersion=0`, 200, 404);
      await allowed(client, `${collection(kind)}?fieldSelector=metadata.name%3Dx`, 200, 404);
      const name = `w${number}-${round}`;
      const made = await client.post(collection(kind), objectOf(kind, { name }));
      if (made.status !== 201 && made.status !== 404) wrong.push(`create: ${made.text}`);
      await allowed(client, `${collection(kind)}/${name}`, 200, 404);
      await allowed(client, "/apis", 200);
      if (round % 4 === 0) await allowed(client, "/openapi/v3", 200);
      const gone = await client.delete(`${collection(kind)}/${name}`);
      if (gone.status !== 200 && gone.status !== 404) wrong.push(`delete: ${gone.text}`);
    }
  };
  const working = replicas.flatMap(({ client }, index) => [
    worker(client, index),
    worker(client, index + 2),
  ]);
  return {
    async stop() {
      isOver = true;
      await Promise.all(working);
      assert.ok(asked > 100, `${asked} requests`);
      return wrong;
    },
  };
}

test("a kind that is added, changed or removed on one replica is so for the next request on any, under load", async () => {
  const load = runLoad(CARS);
  for (let cycle = 0; cycle < CYCLES; cycle++) {
    const [here, there] = cycle % 2 === 0 ? [first, second] : [second, first];
    await define(here.client, CARS, `a${cycle}`);
    assert.equal(await create(there.client, CARS, "x"), `a${cycle}`);
    await define(here.client, CARS, `b${cycle}`);
    assert.equal(await create(there.client, CARS, "y"), `b${cycle}`);
    (await there.client.get(`${collection(CARS)}/y/status`)).expect(200);
    await undefine(here.client, CARS);
    for (const { client } of [there, here]) {
      (await client.get(collection(CARS))).expect(404, "a kind that is gone");
      (await client.post(collection(CARS), { metadata: { name: "z" } })).expect(404);
    }
    // What is stored stays, and is there again with its kind.
    await define(there.client, CARS, "again");
    const { items } = (await here.client.get(collection(CARS))).expect(200);
    const names = items.map(({ metadata }) => metadata.name);
    assert.ok(names.includes("x") && names.includes("y"), `${names}`);
    (await here.client.delete(collection(CARS))).expect(200);
    await undefine(there.client, CARS);
  }
  assert.deepEqual(await load.stop(), []);
});

test("discovery and OpenAPI follow, and what they say of other groups stays the same document", async () => {
  const document = async ({ client }: KindReplica, path: string) => {
    const { status, headers, text } = await client.get(path);
    return { status, etag: headers.etag, value: text.startsWith("{") ? JSON.parse(text) : text };
  };
  const groupsOf = async (replica: KindReplica) => {
    const { value, etag } = await document(replica, "/apis");
    return { etag, names: value.groups.map(({ name }: { name: string }) => name) as string[] };
  };
  const hashOf = async (replica: KindReplica, part: string) => {
    const { paths } = (await document(replica, "/openapi/v3")).value;
    return paths[part]?.serverRelativeURL as string | undefined;
  };
  const bare = await groupsOf(second);
  const appsBefore = await hashOf(second, "apis/apps/v1");
  await define(first.client, BOATS, "1");
  const served = await groupsOf(second);
  assert.deepEqual(served.names, [...bare.names, BOATS.group]);
  assert.notEqual(served.etag, bare.etag);

  const { value: list } = await document(second, `/apis/${BOATS.group}/v1`);
  assert.deepEqual(
    list.resources.map(({ name }: { name: string }) => name),
    ["boats", "boats/status"],
  );
  const part = `apis/${BOATS.group}/v1`;
  const { value: openApi } = await document(second, (await hashOf(second, part)) ?? "");
  assert.deepEqual(
    openApi.components.schemas["com.example.boats.v1.Boat"]["x-kubernetes-group-version-kind"],
    [{ group: BOATS.group, kind: "Boat", version: "v1" }],
  );
  assert.ok(openApi.paths[`${collection(BOATS).replace("shop", "{namespace}")}/{name}/status`]);
  const { value: whole } = await document(second, "/openapi/v2");
  assert.ok(whole.definitions["com.example.boats.v1.BoatList"]);
  assert.equal(await hashOf(second, "apis/apps/v1"), appsBefore);
  assert.equal((await groupsOf(second)).etag, served.etag, "nothing changed meanwhile");

  await undefine(first.client, BOATS);
  assert.deepEqual(await groupsOf(second), bare);
  assert.equal((await document(second, `/openapi/v3/${part}`)).status, 404);
  assert.equal((await document(second, `/apis/${BOATS.group}`)).status, 404);
});

test("watches of a kind end in good order when it changes or goes, after all that happened; then nothing is left of it", async () => {
  await define(first.client, PLANES, "1");
  await create(first.client, PLANES, "a");
  const { metadata } = (await second.client.get(`${collection(PLANES)}/a`)).expect(200).object;
  const resume = (version: string) =>
    Promise.all(
      replicas.map(async ({ client }) => {
        const events: string[] = [];
        const path = `${collection(PLANES)}?watch=1&resourceVersion=${version}`;
        for await (const { type, object } of await client.watch(path)) {
          events.push(`${type} ${object.metadata.name}`);
        }
        return events;
      }),
    );
  const changed = resume(metadata.resourceVersion ?? "");
  await eventually("both watch", () =>
    replicas.every(({ access }) => access.views.view.partition(partition(PLANES)).watchers > 0)
      ? true
      : undefined,
  );
  await create(first.client, PLANES, "b");
  await define(first.client, PLANES, "2");
  assert.deepEqual(await changed, [["ADDED b"], ["ADDED b"]]);

  const gone = resume(metadata.resourceVersion ?? "");
  await eventually("both watch again", () =>
    replicas.every(({ access }) => access.views.view.partition(partition(PLANES)).watchers > 0)
      ? true
      : undefined,
  );
  (await second.client.delete(collection(PLANES))).expect(200);
  await undefine(second.client, PLANES);
  const expected = ["ADDED b", "DELETED a", "DELETED b"];
  assert.deepEqual(await gone, [expected, expected]);
  await eventually("the partitions are gone", () =>
    replicas.some((replica) => hasPartition(replica, PLANES)) ? undefined : true,
  );
});

test("a field becomes selectable in the turn of the change, for objects that were there before", async () => {
  const selector = `${collection(BOATS)}?fieldSelector=spec.colour%3Dred`;
  await define(first.client, BOATS, "1");
  for (const [name, colour] of Object.entries({ ada: "red", bob: "blue" })) {
    const body = { ...objectOf(BOATS, { name }), spec: { colour } };
    (await first.client.post(collection(BOATS), body)).expect(201);
  }
  (await second.client.get(selector)).expect(400);
  await define(first.client, BOATS, "1", { selectableField: "spec.colour" });
  const { items } = (await second.client.get(selector)).expect(200);
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ["ada"],
  );
  (await first.client.delete(collection(BOATS))).expect(200);
  await undefine(first.client, BOATS);
});

test("garbage is collected and namespaces are emptied of kinds that came while the loops ran", async () => {
  await define(second.client, CARS, "1");
  const owner = { metadata: { name: "owner" } };
  const maps = "/api/v1/namespaces/shop/configmaps";
  const { metadata } = (await first.client.post(maps, owner)).expect(201).object;
  const ownerReferences = [
    { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: metadata.uid },
  ];
  const dependent = objectOf(CARS, { name: "dependent", ownerReferences });
  (await second.client.post(collection(CARS), dependent)).expect(201);
  await create(second.client, CARS, "free");
  (await first.client.delete(`${maps}/owner`)).expect(200);
  const answers = async (path: string, status: number) =>
    (await second.client.get(path)).status === status ? true : undefined;
  await eventually("the dependent goes", () => answers(`${collection(CARS)}/dependent`, 404));
  (await second.client.get(`${collection(CARS)}/free`)).expect(200);

  (await first.client.delete("/api/v1/namespaces/shop")).expect(200);
  await eventually("the namespace goes", () => answers("/api/v1/namespaces/shop", 404));
  const { items } = (await first.client.get(`/apis/${CARS.group}/v1/cars`)).expect(200);
  assert.deepEqual(items, []);
  await undefine(first.client, CARS);
});
