/** People 1: a snapshot of a running API, and the way back to it while clients stay connected. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ANYTHING, definitionOf, versionOf } from "../fixtures/definitions.js";
import type { ApiObject, HttpsClient } from "../harness/https-client.js";
import { shareApi } from "./running-api.js";

const theApi = shareApi();

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const GADGETS = "/apis/example.com/v1/gadgets";

async function read(client: HttpsClient, path: string): Promise<ApiObject> {
  const { status, bytes } = await client.get(path);
  assert.equal(status, 200, `${path}: ${bytes}`);
  return JSON.parse(String(bytes));
}

async function make(client: HttpsClient, path: string, body: object): Promise<ApiObject> {
  const { status, bytes } = await client.post(path, body);
  assert.equal(status, 201, String(bytes));
  return JSON.parse(String(bytes));
}

/** All that an object has but its version. */
function content({ metadata: { resourceVersion: _, ...metadata }, ...object }: ApiObject) {
  return { ...object, metadata };
}

function definition(plural: string, kind: string) {
  const spec = { scope: "Cluster", versions: [versionOf(ANYTHING)] };
  return definitionOf(`${plural}.example.com`, kind, spec);
}

test("People 1: a watch sees what a reset changes, and uids, finalizers and pending deletions are as they were", async () => {
  const { api, admin } = theApi();
  const kept = await make(admin, CONFIG_MAPS, { metadata: { name: "kept" }, data: { a: "1" } });
  await make(admin, CONFIG_MAPS, { metadata: { name: "deleted", finalizers: ["a/b"] } });
  await make(admin, CONFIG_MAPS, { metadata: { name: "replaced" } });
  await make(admin, CONFIG_MAPS, { metadata: { name: "same" } });
  await admin.delete(`${CONFIG_MAPS}/deleted`);
  const names = ["kept", "deleted", "replaced", "same"];
  const readAll = () => Promise.all(names.map((name) => read(admin, `${CONFIG_MAPS}/${name}`)));
  const before = await readAll();
  assert.ok(before[1]?.metadata.deletionTimestamp);

  const snapshot = await api.snapshot();
  await admin.put(`${CONFIG_MAPS}/kept`, { ...kept, data: { a: "2" } });
  const { metadata, ...rest } = before[1] as ApiObject;
  await admin.put(`${CONFIG_MAPS}/deleted`, { ...rest, metadata: { ...metadata, finalizers: [] } });
  await admin.delete(`${CONFIG_MAPS}/replaced`);
  await make(admin, CONFIG_MAPS, { metadata: { name: "replaced" } });
  await make(admin, CONFIG_MAPS, { metadata: { name: "new", finalizers: ["a/b"] } });

  const from = (await read(admin, CONFIG_MAPS)).metadata.resourceVersion;
  const ending = new AbortController();
  const path = `${CONFIG_MAPS}?watch=1&resourceVersion=${from}`;
  const events = await admin.watch(path, ending.signal);
  assert.deepEqual(await api.reset(snapshot), { deleted: 2, added: 2, modified: 1 });
  const seen: string[] = [];
  for await (const { type, object } of events) {
    seen.push(`${type} ${object.metadata.name}`);
    if (seen.length === 5) break;
  }
  ending.abort();
  assert.deepEqual(seen.slice(0, 2).sort(), ["DELETED new", "DELETED replaced"]);
  assert.deepEqual(seen.slice(2).sort(), ["ADDED deleted", "ADDED replaced", "MODIFIED kept"]);
  const then = await readAll();
  assert.deepEqual(then.map(content), before.map(content));
  assert.equal(then[3]?.metadata.resourceVersion, before[3]?.metadata.resourceVersion);

  assert.deepEqual(await api.reset(snapshot), { deleted: 0, added: 0, modified: 0 });
  await admin.delete(`${CONFIG_MAPS}/kept`);
  assert.deepEqual(await api.reset(snapshot), { deleted: 0, added: 1, modified: 0 });
});

test("People 1: definitions come and go with their objects, rules with what they judge, and garbage collection leaves owners' dependents", async () => {
  const { api, admin } = theApi();
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const rules = "/apis/admissionregistration.k8s.io/v1";
  await make(admin, definitions, definition("gadgets", "Gadget"));
  await api.settled();
  const gadget = { apiVersion: "example.com/v1", kind: "Gadget" };
  const owner = await make(admin, GADGETS, { ...gadget, metadata: { name: "owner" }, n: 9 });
  const { name, uid } = owner.metadata;
  const ownerReferences = [{ apiVersion: "example.com/v1", kind: "Gadget", name, uid }];
  for (const child of ["a-child", "z-child"]) {
    await make(admin, GADGETS, { ...gadget, metadata: { name: child, ownerReferences } });
  }
  await api.settled();
  const snapshot = await api.snapshot();

  await admin.delete(`${definitions}/gadgets.example.com`);
  await make(admin, definitions, definition("others", "Other"));
  await api.settled();
  assert.equal((await admin.get(GADGETS)).status, 404);
  const other = { apiVersion: "example.com/v1", kind: "Other", metadata: { name: "o" } };
  await make(admin, "/apis/example.com/v1/others", other);
  await make(admin, `${rules}/validatingadmissionpolicies`, {
    metadata: { name: "never" },
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["secrets"] },
        ],
      },
      validations: [{ expression: "false", message: "never" }],
    },
  });
  await make(admin, `${rules}/validatingadmissionpolicybindings`, {
    metadata: { name: "never" },
    spec: { policyName: "never", validationActions: ["Deny"] },
  });
  const secret = { metadata: { name: "s" } };
  const secrets = "/api/v1/namespaces/default/secrets";
  assert.equal((await admin.post(secrets, secret)).status, 422);

  await api.reset(snapshot);
  assert.equal((await admin.post(secrets, secret)).status, 201);
  assert.equal((await admin.get("/apis/example.com/v1/others")).status, 404);
  await api.settled();
  const list = (await read(admin, GADGETS)) as ApiObject & { items: ApiObject[] };
  assert.deepEqual(
    list.items.map(({ metadata }) => metadata.name),
    ["a-child", "owner", "z-child"],
  );
  assert.deepEqual(content(await read(admin, `${GADGETS}/owner`)), content(owner));
  await admin.delete(`${GADGETS}/owner`);
  await api.settled();
  assert.equal(((await read(admin, GADGETS)) as ApiObject & { items: [] }).items.length, 0);
});

test("People 1: of a snapshot that is not kept it is said so", async () => {
  const { api } = theApi();
  const unknown = { id: "no", resourceVersion: "1", objects: 0 };
  await assert.rejects(api.reset(unknown), { message: /there is no snapshot "no"; .* \(400\)/ });
});
