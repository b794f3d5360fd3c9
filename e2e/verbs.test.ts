/**
 * Every resource that discovery lists, with every verb that it claims: what a generic client (the
 * garbage collector, `kubectl get all`, an informer factory) relies on. The objects come from one
 * table; a resource that is served but has no row there fails.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  MINIMAL_NAMESPACE,
  MINIMAL_OBJECTS,
  type MinimalObject,
} from "./fixtures/minimal-objects.js";
import { eventually, within } from "./harness/eventually.js";
import { furnished } from "./harness/furnished-namespace.js";
import type { ApiObject, HttpsClient, WatchEvent } from "./harness/https-client.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";

interface Resource {
  readonly group: string;
  readonly groupVersion: string;
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly singularName: string;
  readonly storageVersionHash?: string;
}

const TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1";
const METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const ALL_VERBS = ["create", "delete", "get", "list", "update", "watch"];

/** Namespaces stay until a controller has emptied them: kubectl.test.ts deletes one. */
const DELETED_LATER = new Set(["namespaces"]);

describe("every resource that discovery lists", () => {
  let server: ServerProcess;
  before(async () => {
    // Whoever counts quotas would write between a read of one and its replace.
    server = await startServer({ flags: ["--controllers=*,-resourcequota"] });
    const namespace = {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: MINIMAL_NAMESPACE },
    };
    (await server.client.post("/api/v1/namespaces", namespace)).expect(201);
    await furnished(server.client, MINIMAL_NAMESPACE);
  });
  after(() => server[Symbol.asyncDispose]());

  test("S1-GEN-06, S1-GEN-24: all GA resources are listed with kind, scope and verbs", async () => {
    const resources = await discover(server.client);
    const names = resources.map(({ name, group }) => (group === "" ? name : `${name}.${group}`));
    const missing = Object.keys(MINIMAL_OBJECTS).filter((name) => !names.includes(name));
    assert.deepEqual(missing, [], "known here, not served");
    for (const { name, groupVersion, kind, verbs, singularName } of resources) {
      assert.match(kind, /^[A-Z][A-Za-z0-9]+$/, `${groupVersion} ${name}`);
      assert.ok(verbs.length > 0, `${groupVersion} ${name} has no verbs`);
      if (!name.includes("/")) assert.match(singularName, /^[a-z]+$/, `${groupVersion} ${name}`);
    }
  });

  test("S1-GEN-24: every published path without parameters is there, as generated clients write it", async () => {
    const { text } = (await server.client.get("/openapi/v2")).expect(200);
    const { paths } = JSON.parse(text) as { paths: Record<string, { get?: object }> };
    const plain = Object.keys(paths).filter((path) => paths[path]?.get && !path.includes("{"));
    const documents = ["/api/", "/apis/", "/apis/apps/", "/apis/apps/v1/", "/version/"];
    for (const path of documents) assert.ok(plain.includes(path), path);
    const watches: ReturnType<HttpsClient["get"]>[] = [];
    const keys = ["/.well-known/openid-configuration/", "/openid/v1/jwks/"];
    for (const path of [...plain, ...keys]) {
      // A watch takes its time: all of them together.
      if (path.includes("/watch/")) watches.push(server.client.get(`${path}?timeoutSeconds=1`));
      else (await server.client.get(path)).expect(200, path);
    }
    for (const watch of await Promise.all(watches)) watch.expect(200);
  });

  test("S1-COLL-01, S1-TABLE-09, S1-DEL-15, S1-PATCH-01, S1-SSA-05: all verbs of all resources", async (t) => {
    const resources = await discover(server.client);
    const statuses = new Set(resources.map(({ groupVersion, name }) => `${groupVersion}/${name}`));
    for (const resource of resources) {
      if (!ALL_VERBS.every((verb) => resource.verbs.includes(verb))) continue;
      if (resource.name.includes("/")) continue;
      const { groupVersion, name } = resource;
      const hasStatus = statuses.has(`${groupVersion}/${name}/status`);
      await t.test(`${groupVersion} ${name}`, () => exercise(server.client, resource, hasStatus));
    }
  });
});

async function exercise(
  client: HttpsClient,
  resource: Resource,
  hasStatus: boolean,
): Promise<void> {
  const { group, groupVersion, name: plural, kind, namespaced } = resource;
  const row = MINIMAL_OBJECTS[group === "" ? plural : `${plural}.${group}`];
  assert.ok(row !== undefined, "no row in e2e/fixtures/minimal-objects.ts");
  const base = groupVersion.includes("/") ? `/apis/${groupVersion}` : `/api/${groupVersion}`;
  const collection = `${base}${namespaced ? `/namespaces/${MINIMAL_NAMESPACE}` : ""}/${plural}`;
  const objects = [0, 1].map((n) => toObject(row, resource, n));
  const [first] = objects;
  assert.ok(first !== undefined);
  const path = `${collection}/${first.metadata.name}`;

  // Watch from before the first create: the stream must show all that follows.
  const start = (await client.get(collection)).expect(200).object;
  assert.equal(start.kind, `${kind}List`);
  assert.equal(start.apiVersion, groupVersion);
  const stop = new AbortController();
  const since = start.metadata.resourceVersion;
  const events = await client.watch(`${collection}?watch=1&resourceVersion=${since}`, stop.signal);
  const seen = collectEvents(
    events,
    objects.map((object) => String(object.metadata.name)),
  );
  try {
    const created = (await client.post(collection, first)).expect(201, "create").object;
    assert.equal(created.kind, kind);
    assert.equal(created.apiVersion, groupVersion);
    assert.match(String(created.metadata.uid), /^[0-9a-f]{8}-[0-9a-f-]{27}$/);
    assert.match(String(created.metadata.creationTimestamp), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    (await client.post(collection, first)).expect(409, "create again");

    const read = (await client.get(path)).expect(200, "get").object;
    if (row.isMarked !== true) assert.deepEqual(read, created, "get gives what create gave");
    const listed = (await client.get(collection)).expect(200, "list").items;
    assert.ok(listed.some((item) => item.metadata.uid === created.metadata.uid));
    const calm = row.isMarked === true ? await whenMarked(client, path) : read;
    await readOtherForms(client, { path, collection, object: calm });

    const relabelled = withLabel(calm, "step", "replaced");
    const replaced = (await client.put(path, relabelled)).expect(200, "replace").object;
    assert.notEqual(replaced.metadata.resourceVersion, created.metadata.resourceVersion);
    assert.equal(replaced.metadata.labels?.step, "replaced");
    (await client.put(path, withLabel(calm, "step", "stale"))).expect(409, "stale replace");
    const latest = hasStatus ? await writeStatus(client, path, replaced, row) : replaced;
    await patchInAllWays(client, path, latest);

    await eventually(
      "the watch shows ADDED and MODIFIED",
      () =>
        seen.some((e) => e.type === "ADDED" && isSame(e.object, created)) &&
        seen.some((e) => e.type === "MODIFIED" && isSame(e.object, latest)),
    );
    await removeAll(client, { resource, collection, path, objects });
    if (!DELETED_LATER.has(plural)) {
      await eventually("the watch shows DELETED", () =>
        objects.every((o) =>
          seen.some((e) => e.type === "DELETED" && e.object.metadata.name === o.metadata.name),
        ),
      );
    }
    assertOrdered(seen);
  } finally {
    stop.abort();
  }
}

/** The object when a control loop has said in its status how it is, after which it leaves it alone. */
function whenMarked(client: HttpsClient, path: string): Promise<ApiObject> {
  return eventually("a control loop has written the status", async () => {
    const { object } = (await client.get(path)).expect(200);
    const status = object.status as object | undefined;
    return status !== undefined && Object.keys(status).length > 0 ? object : undefined;
  });
}

/** Table and metadata-only forms, of the object and of the list. */
async function readOtherForms(
  client: HttpsClient,
  at: { readonly path: string; readonly collection: string; readonly object: ApiObject },
): Promise<void> {
  const { path, collection, object } = at;
  for (const target of [path, collection]) {
    const table = (await client.get(target, TABLE)).expect(200, "Table").object;
    assert.equal(table.kind, "Table");
    assert.equal(table.apiVersion, "meta.k8s.io/v1");
    const columns = table.columnDefinitions as { name: string }[];
    const rows = table.rows as { cells: unknown[]; object: ApiObject }[];
    // Events are told apart by when and why; their name is a column for wide output.
    const nameAt = columns.findIndex(({ name }) => name === "Name");
    assert.ok(nameAt >= 0, "a column for the name");
    const row = rows.find((one) => one.object.metadata.uid === object.metadata.uid);
    assert.equal(row?.cells.length, columns.length);
    assert.equal(row?.cells[nameAt], object.metadata.name);
    assert.equal(row?.object.kind, "PartialObjectMetadata");
  }
  const metadata = (await client.get(path, METADATA)).expect(200, "metadata").object;
  assert.deepEqual(metadata, {
    kind: "PartialObjectMetadata",
    apiVersion: "meta.k8s.io/v1",
    metadata: object.metadata,
  });
  const list = (await client.get(collection, METADATA_LIST)).expect(200, "metadata list");
  assert.equal(list.object.kind, "PartialObjectMetadataList");
  const item = list.items.find((one) => one.metadata.uid === object.metadata.uid);
  assert.deepEqual(item?.metadata, object.metadata);
}

/** S1-PATCH-01, S1-SSA-05, S1-SSA-36: every kind of patch, in the version that is asked; then one of nothing. */
async function patchInAllWays(
  client: HttpsClient,
  path: string,
  { apiVersion, kind, metadata: { name } }: ApiObject,
): Promise<void> {
  const patch = async (type: string, body: unknown, query = ""): Promise<ApiObject> => {
    const headers = { "content-type": `application/${type}` };
    const answer = await client.request(`${path}${query}`, { method: "PATCH", body, headers });
    const { object } = answer.expect(200, type);
    assert.equal(object.apiVersion, apiVersion, type);
    return object;
  };
  const labels = (step: string) => ({ metadata: { labels: { step } } });
  const cases = [
    ["merge-patch+json", labels("merge")],
    ["strategic-merge-patch+json", labels("strategic-merge")],
    ["json-patch+json", [{ op: "add", path: "/metadata/labels/step", value: "json" }]],
  ] as const;
  for (const [type, body] of cases) {
    const { step } = (await patch(type, body)).metadata.labels ?? {};
    assert.equal(step, type.slice(0, -"-patch+json".length));
  }
  const configuration = { apiVersion, kind, metadata: { name, labels: { applied: "yes" } } };
  const applied = await patch("apply-patch+yaml", configuration, "?fieldManager=verbs");
  assert.equal(applied.metadata.labels?.applied, "yes");
  assert.deepEqual(
    await patch("apply-patch+yaml", configuration, "?fieldManager=verbs"),
    applied,
    "an apply of the same",
  );
  assert.deepEqual(await patch("merge-patch+json", {}), applied, "a patch of nothing");
}

/** S1-CRUD-08: the main path ignores the status, the status path ignores everything else. */
async function writeStatus(
  client: HttpsClient,
  path: string,
  current: ApiObject,
  row: MinimalObject,
): Promise<ApiObject> {
  const condition = {
    type: "Tested",
    status: "True",
    reason: "ByTest",
    message: "said so",
    lastTransitionTime: "2024-01-02T03:04:05Z",
  };
  const wanted = row.status ?? { conditions: [condition] };
  const read = (await client.get(`${path}/status`)).expect(200, "get status").object;
  assert.deepEqual(read, current, "the status path gives the whole object");
  const sent = { ...current, status: { ...(current.status as object), ...wanted } };
  const ignored = (await client.put(path, sent)).expect(200, "replace with status").object;
  assert.deepEqual(ignored.status, current.status, "replace ignores the status");
  const onStatus = withLabel(sent, "step", "status");
  const updated = (await client.put(`${path}/status`, onStatus)).expect(200, "replace status");
  assertContains(updated.object.status, wanted, "status");
  assert.deepEqual(updated.object.spec, current.spec, "the status path ignores the spec");
  return updated.object;
}

async function removeAll(
  client: HttpsClient,
  at: {
    readonly resource: Resource;
    readonly collection: string;
    readonly path: string;
    readonly objects: readonly ApiObject[];
  },
): Promise<void> {
  const { resource, collection, path, objects } = at;
  (await client.delete(path)).expect(200, "delete");
  if (DELETED_LATER.has(resource.name)) {
    const terminating = await client.get(path);
    if (terminating.status === 200) assert.ok(terminating.object.metadata.deletionTimestamp);
    return;
  }
  await untilGone(client, path);
  (await client.get(path)).expect(404, "get after delete");
  (await client.delete(path)).expect(404, "delete again");

  const second = objects[1];
  assert.ok(second !== undefined);
  (await client.post(collection, second)).expect(201, "create another");
  const secondPath = `${collection}/${second.metadata.name}`;
  if (!resource.verbs.includes("deletecollection")) {
    (await client.delete(secondPath)).expect(200);
    return;
  }
  (await client.delete(`${collection}?labelSelector=step%3Dnone`)).expect(200, "of no object");
  (await client.get(secondPath)).expect(200, "not selected, so still there");
  const selector = encodeURIComponent("purpose=verbs");
  (await client.delete(`${collection}?labelSelector=${selector}`)).expect(200, "deletecollection");
  await untilGone(client, secondPath);
  (await client.get(secondPath)).expect(404, "get after deletecollection");
}

/** Some types are given finalizers by the server; the control loops that run beside it remove them. */
async function untilGone(client: HttpsClient, path: string): Promise<void> {
  await eventually(`${path} is gone`, async () => {
    const answer = await client.get(path);
    if (answer.status === 404) return true;
    const { metadata } = answer.expect(200).object;
    assert.ok(metadata.deletionTimestamp !== undefined, "deleted, so gone or terminating");
    assert.ok((metadata.finalizers ?? []).length > 0, "terminating without finalizers");
    return undefined;
  });
}

/** Whether `actual` holds all that `wanted` does; more fields may have been added by defaults. */
function assertContains(actual: unknown, wanted: unknown, where: string): void {
  if (typeof wanted !== "object" || wanted === null) {
    assert.equal(actual, wanted, where);
    return;
  }
  // An empty list may be left out.
  if (actual === undefined && Object.keys(wanted).length === 0) return;
  assert.ok(typeof actual === "object" && actual !== null, `${where} is not stored`);
  for (const [key, value] of Object.entries(wanted)) {
    assertContains((actual as Record<string, unknown>)[key], value, `${where}.${key}`);
  }
}

function toObject(row: MinimalObject, resource: Resource, n: number): ApiObject {
  const name = row.name?.(n) ?? `minimal-${n}`;
  return {
    apiVersion: resource.groupVersion,
    kind: resource.kind,
    metadata: { name, labels: { purpose: "verbs" } },
    ...row.content,
    ...row.forName?.(name),
  };
}

function withLabel(object: ApiObject, key: string, value: string): ApiObject {
  const labels = { ...object.metadata.labels, [key]: value };
  return { ...object, metadata: { ...object.metadata, labels } };
}

function isSame(a: ApiObject, b: ApiObject): boolean {
  return (
    a.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion
  );
}

/** Fills an array with the events about `names` until the watch ends. */
function collectEvents(
  events: AsyncGenerator<WatchEvent, void>,
  names: readonly string[],
): WatchEvent[] {
  const seen: WatchEvent[] = [];
  const run = async () => {
    for await (const event of events) {
      if (names.includes(String(event.object.metadata.name))) seen.push(event);
    }
  };
  // Aborted at the end of the test; what was missed shows in `seen`.
  run().catch(() => {});
  return seen;
}

/** Ordered and Unique: resource versions of one watch grow. */
function assertOrdered(events: readonly WatchEvent[]): void {
  const versions = events.map((event) => BigInt(String(event.object.metadata.resourceVersion)));
  for (const [index, version] of versions.entries()) {
    const previous = versions[index - 1];
    assert.ok(previous === undefined || version > previous, `events out of order: ${versions}`);
  }
}

/** All resources of all groups and versions, from the legacy discovery documents. */
async function discover(client: HttpsClient): Promise<Resource[]> {
  const groups = (await client.get("/apis")).expect(200).object as unknown as {
    groups: { name: string; versions: { groupVersion: string }[] }[];
  };
  const paths = ["/api/v1"].concat(
    groups.groups.flatMap(({ versions }) => versions.map((v) => `/apis/${v.groupVersion}`)),
  );
  const lists = await within(
    "discovery",
    Promise.all(
      paths.map(async (path) => {
        const list = (await client.get(path)).expect(200, path).object as unknown as {
          groupVersion: string;
          resources: Omit<Resource, "group" | "groupVersion">[];
        };
        const { groupVersion } = list;
        const group = groupVersion.includes("/") ? (groupVersion.split("/")[0] ?? "") : "";
        return list.resources.map((resource) => ({ ...resource, group, groupVersion }));
      }),
    ),
  );
  return lists.flat();
}
