/** The second API of a process begins with what the first one made, and is as much an API of its own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Keelson } from "../../server/start-keelson.js";
import { type ApiObject, HttpsClient } from "../harness/https-client.js";
import { startKeelson } from "../harness/start-api.js";

const COLLECTIONS = [
  "/api/v1/namespaces",
  "/api/v1/serviceaccounts",
  "/apis/rbac.authorization.k8s.io/v1/clusterroles",
  "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
  "/apis/rbac.authorization.k8s.io/v1/roles",
  "/apis/rbac.authorization.k8s.io/v1/rolebindings",
  "/apis/scheduling.k8s.io/v1/priorityclasses",
  "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
  "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
  "/apis/apiregistration.k8s.io/v1/apiservices",
];
const TIME = /"(creationTimestamp|lastTransitionTime|time)":"[^"]*"/g;

test("People 45: a second API of a process has the objects of the first one, with uids and times of its own, and none of what its user made", async () => {
  await using first = await startKeelson();
  const made = { metadata: { name: "made" }, rules: [] };
  await using client = clientOf(first);
  (await client.post(COLLECTIONS[2] ?? "", made)).expect(201);
  const startedAt = Date.now();
  await using second = await startKeelson();
  const [ofFirst, ofSecond] = [await objectsOf(first), await objectsOf(second)];
  assert.deepEqual(ofSecond.map(alike), ofFirst.filter(isNotMade).map(alike));
  assert.ok(ofSecond.length > 150);
  // In few transactions, where the first one had one for each.
  assert.ok((await revisionOf(second)) * 2 < (await revisionOf(first)));
  const uids = new Set([...ofFirst, ...ofSecond].map(({ metadata }) => metadata.uid));
  assert.equal(uids.size, ofFirst.length + ofSecond.length);
  for (const { metadata } of ofSecond) {
    assert.ok(Date.parse(metadata.creationTimestamp ?? "") >= startedAt - 1_000, metadata.name);
  }
});

test("People 45: an API with other flags begins with objects of its own", async () => {
  await using _first = await startKeelson();
  await using other = await startKeelson({ flags: { vendor: "acme" } });
  await using client = clientOf(other);
  const groups = (await client.get("/apis")).expect(200).object.groups as { name: string }[];
  const [registration = ""] = groups.map(({ name }) => name).filter((name) => /^apireg/.test(name));
  const { items } = (await client.get(`/apis/${registration}/v1/apiservices`)).expect(200);
  assert.ok(items.length > 10);
  assert.deepEqual(
    items.filter(({ metadata }) => metadata.name?.endsWith(".k8s.io")),
    [],
  );
});

function clientOf({ url, ca, cert, key }: Keelson): HttpsClient & AsyncDisposable {
  const client = new HttpsClient(url, { ca, cert, key });
  return Object.assign(client, { [Symbol.asyncDispose]: async () => client.close() });
}

async function objectsOf(api: Keelson): Promise<ApiObject[]> {
  await using client = clientOf(api);
  const lists = await Promise.all(COLLECTIONS.map((path) => client.get(path)));
  return lists.flatMap((list) => list.expect(200).items);
}

async function revisionOf(api: Keelson): Promise<number> {
  await using client = clientOf(api);
  const list = (await client.get(COLLECTIONS[0] ?? "")).expect(200).object;
  return Number(list.metadata.resourceVersion);
}

function isNotMade({ metadata }: ApiObject): boolean {
  return metadata.name !== "made";
}

/** Without what is each one's own. */
function alike(object: ApiObject): string {
  const { uid: _uid, resourceVersion: _version, ...metadata } = object.metadata;
  return JSON.stringify({ ...object, metadata }).replace(TIME, "");
}
