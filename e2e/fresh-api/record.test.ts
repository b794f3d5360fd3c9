/** The recorder over HTTP: what it keeps of writes, refusals and watches, and who may read it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  Explanation,
  RecordedWrite,
  RecordStatus,
  Timeline,
} from "../../server/recorder/record-types.js";
import { HttpsClient } from "../harness/https-client.js";
import { shareApi } from "./running-api.js";

const theApi = shareApi({ record: true, users: [{ name: "reader" }, { name: "nobody" }] });
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

async function ask<T>(client: HttpsClient, path: string): Promise<T> {
  const { status, bytes } = await client.get(path);
  assert.equal(status, 200, String(bytes));
  return JSON.parse(String(bytes)) as T;
}

async function writesOf(client: HttpsClient, name: string): Promise<readonly RecordedWrite[]> {
  const path = `/debug/record/timeline?resource=configmaps&namespace=default&name=${name}`;
  return (await ask<Timeline>(client, path)).writes;
}

/** The parts of a record that do not differ from run to run. */
function told({ verb, outcome, status, reason, changedPaths, changedAnything }: RecordedWrite) {
  return [verb, outcome, status, reason, changedPaths.join(" "), changedAnything];
}

test("each write is recorded with its outcome and the paths that it changed, refusals and conflicts too", async () => {
  const { admin } = theApi();
  const made = await admin.post(CONFIG_MAPS, { metadata: { name: "told" }, data: { a: "b" } });
  const stored = JSON.parse(String(made.bytes));
  await admin.request(`${CONFIG_MAPS}/told`, { method: "PUT", body: stored });
  const next = { ...stored, data: { a: "c", "d.e": "f" } };
  await admin.request(`${CONFIG_MAPS}/told`, { method: "PUT", body: next });
  await admin.request(`${CONFIG_MAPS}/told`, { method: "PUT", body: next });
  await admin.request(`${CONFIG_MAPS}/told?dryRun=All`, { method: "DELETE" });
  await admin.post(CONFIG_MAPS, { metadata: { name: "told" }, data: { a: 1 } });
  await admin.delete(`${CONFIG_MAPS}/told`);
  const writes = await writesOf(admin, "told");
  const inTime = [...writes].sort(
    (a, b) => Number(a.id.split("w")[1]) - Number(b.id.split("w")[1]),
  );
  assert.deepEqual(inTime.map(told), [
    ["create", "created", 201, "", "", true],
    ["update", "unchanged", 200, "", "", false],
    ["update", "changed", 200, "", 'data.a data["d.e"]', true],
    ["update", "conflict", 409, "Conflict", "", false],
    ["create", "refused", 400, "BadRequest", "", false],
    ["delete", "deleted", 200, "", "", true],
  ]);
  const [created, same, changed, conflict] = inTime;
  assert.equal(changed?.base, created?.revision);
  assert.equal(same?.base, created?.revision);
  assert.equal(changed?.previousRevision, created?.revision);
  assert.equal(conflict?.base, created?.revision);
  assert.doesNotMatch(JSON.stringify(writes), /"[bcf]"/);
});

test("a write names what it was made upon: exact, where its client was sent that by a watch", async () => {
  const { admin, api } = theApi();
  const follower = new HttpsClient(api.url, api);
  const watch = await follower.watch(`${CONFIG_MAPS}?watch=1`);
  const made = await admin.post(CONFIG_MAPS, { metadata: { name: "upon" }, data: { a: "b" } });
  const stored = JSON.parse(String(made.bytes));
  for await (const { object } of watch) {
    if ((object as typeof stored).metadata.name === "upon") break;
  }
  const next = { ...stored, data: { a: "c" } };
  await follower.request(`${CONFIG_MAPS}/upon`, { method: "PUT", body: next });
  const path = "/debug/record/why?resource=configmaps&namespace=default&name=upon";
  const { steps, writes } = await ask<Explanation>(admin, path);
  const [first] = steps;
  const [exact] = first?.exact ?? [];
  assert.equal(exact?.certainty, "exact");
  assert.equal(exact?.by, "resourceVersion");
  assert.equal(exact?.revision, stored.metadata.resourceVersion);
  assert.notEqual(exact?.deliveredTime, "");
  assert.equal(writes.find(({ id }) => id === exact?.to)?.verb, "create");
  follower.close();
});

test("who may not read an object sees none of its records, and how many are hidden; anonymous requests see nothing", async () => {
  const { admin, api } = theApi();
  await admin.post("/api/v1/namespaces/default/secrets", {
    metadata: { name: "hush" },
    stringData: { password: "correct horse" },
  });
  await admin.request("/api/v1/namespaces/default/secrets/hush", {
    method: "PATCH",
    body: { stringData: { password: "battery staple" } },
    headers: { "content-type": "application/merge-patch+json" },
  });
  await admin.post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", {
    metadata: { name: "maps" },
    rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }],
  });
  await admin.post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", {
    metadata: { name: "maps" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "maps" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "reader" }],
  });
  const all = await ask<Timeline>(admin, "/debug/record/timeline?resource=secrets&name=hush");
  assert.deepEqual(
    all.writes.map(({ changedPaths }) => changedPaths),
    [[], ["data"]],
  );
  assert.doesNotMatch(JSON.stringify(all), /horse|staple|password/);

  for (const [name, resources] of [
    ["reader", ["configmaps"]],
    ["nobody", []],
  ] as const) {
    const { url, ca, token } = api.as(name);
    const client = new HttpsClient(url, { ca });
    const answer = await client.request("/debug/record/timeline?limit=5000", {
      headers: { authorization: `Bearer ${token}` },
    });
    const timeline = JSON.parse(String(answer.bytes)) as Timeline;
    assert.deepEqual([...new Set(timeline.writes.map(({ resource }) => resource))], resources);
    assert.ok(timeline.hidden > 0);
    client.close();
  }
  const anonymous = new HttpsClient(api.url, { ca: api.ca });
  assert.equal((await anonymous.get("/debug/record/timeline")).status, 403);
  anonymous.close();
});

test("the recorder says what it holds, and where nobody records there is no such path", async () => {
  const { admin } = theApi();
  const status = await ask<RecordStatus>(admin, "/debug/record");
  assert.equal(status.bytesMax, 64 * 1024 * 1024);
  assert.ok(status.bytes > 0 && status.writes > 0);
  assert.equal((await admin.get("/debug/record/none")).status, 404);
  assert.equal((await admin.post("/debug/record", {})).status, 405);
});
