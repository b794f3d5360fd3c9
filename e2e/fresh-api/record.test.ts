/** The recorder over HTTP: what it keeps of writes, refusals and watches, and who may read it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { blame, explainWhy } from "../../server/commands/why.js";
import type {
  Explanation,
  RecordedWrite,
  RecordStatus,
  Timeline,
} from "../../server/recorder/record-types.js";
import { eventually } from "../harness/eventually.js";
import { grant } from "../harness/grant.js";
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
  await admin.put(`${CONFIG_MAPS}/told`, stored);
  const next = { ...stored, data: { a: "c", "d.e": "f" } };
  await admin.put(`${CONFIG_MAPS}/told`, next);
  await admin.put(`${CONFIG_MAPS}/told`, next);
  await admin.delete(`${CONFIG_MAPS}/told?dryRun=All`);
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
  await follower.put(`${CONFIG_MAPS}/upon`, next);
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

test("#46 who may not read an object sees none of its records, nor that it has some, but how many are hidden of all; anonymous requests see nothing", async () => {
  const { admin, api } = theApi();
  await admin.post("/api/v1/namespaces/default/secrets", {
    metadata: { name: "hush" },
    stringData: { password: "correct horse" },
  });
  await admin.patch("/api/v1/namespaces/default/secrets/hush", {
    stringData: { password: "battery staple" },
  });
  const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }];
  await grant(admin, { name: "maps", to: "User reader", rules, namespace: "default" });
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
    // What is counted of a name, a namespace, a type, a user or a client would tell that it is there, and how busy.
    const writer = all.writes[0]?.client ?? "";
    for (const narrow of [
      "resource=secrets&namespace=default&name=hush",
      "resource=secrets",
      "namespace=default",
      "name=hush",
      `user=${all.clients.find(({ id }) => id === writer)?.user}`,
      `client=${writer}`,
    ]) {
      const asked = await client.request(`/debug/record/timeline?${narrow}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      assert.equal((JSON.parse(String(asked.bytes)) as Timeline).hidden, 0, `${name}: ${narrow}`);
    }
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

const ASKED = { context: undefined, server: undefined, namespace: "default", type: "cm" } as const;
const signal = new AbortController().signal;

test("keelson why and blame tell the chain, the picture and the writers of fields", async () => {
  const { admin, api } = theApi();
  const asked = { ...ASKED, kubeconfig: api.kubeconfigPath, name: "blamed", isLoops: false };
  await admin.post(`${CONFIG_MAPS}?fieldManager=maker`, {
    metadata: { name: "blamed" },
    data: { a: "1", b: "2" },
  });
  await admin.patch(`${CONFIG_MAPS}/blamed?fieldManager=changer`, { data: { b: "3" } });
  const text = await explainWhy({ ...asked, form: "text", revision: "" }, signal);
  assert.match(
    String(text),
    /^patch configmaps default\/blamed \(revision \d+, changed data\.b\)\n/,
  );
  assert.match(String(text), /by changer, /);
  assert.match(String(text), /Nothing that is recorded led to it/);
  const svg = await explainWhy({ ...asked, form: "svg", revision: "" }, signal);
  assert.match(String(svg), /^<svg /);
  const json = await explainWhy({ ...asked, form: "json", revision: "" }, signal);
  assert.equal((JSON.parse(String(json)) as Explanation).steps.length, 1);
  const blamed = await blame({ ...asked, form: "text" }, signal);
  assert.match(blamed, /maker +data\.a: "1"\n/);
  assert.match(blamed, /changer +data\.b: "3"\n/);
  await assert.rejects(
    async () => explainWhy({ ...asked, name: "none", form: "text", revision: "" }, signal),
    /no write of it is recorded/,
  );
});

test("keelson why --loops names writes that change nothing, managers that fight, and a storm of lists", async () => {
  const { admin, api } = theApi();
  const asked = { ...ASKED, kubeconfig: api.kubeconfigPath, name: "", revision: "", isLoops: true };
  const idle = { metadata: { name: "idle" }, data: { a: "b" } };
  await admin.post(CONFIG_MAPS, idle);
  for (let i = 0; i < 6; i++) await admin.put(`${CONFIG_MAPS}/idle`, idle);
  await admin.post(CONFIG_MAPS, { metadata: { name: "fought" }, data: { a: "0" } });
  for (let i = 0; i < 8; i++) {
    await admin.patch(`${CONFIG_MAPS}/fought?fieldManager=${i % 2 ? "left" : "right"}`, {
      data: { a: i % 2 ? "x" : "y" },
    });
  }
  for (let i = 0; i < 12; i++) await admin.get("/api/v1/secrets");
  const told = await explainWhy({ ...asked, form: "text" }, signal);
  assert.ok(typeof told !== "string");
  assert.equal(told.exitCode, 1);
  assert.match(
    told.output,
    /^no-change: .* wrote configmaps default\/idle 6 times and changed nothing/m,
  );
  assert.match(
    told.output,
    /^fight: left .* and right .* change data\.a of configmaps default\/fought/m,
  );
  assert.match(told.output, /^relist: .* began 12 lists and 0 watches of secrets/m);
});

async function why(client: HttpsClient, resource: string, name: string, namespace = "default") {
  const query = `resource=${resource}&name=${name}&namespace=${namespace}`;
  const { steps, writes, end } = await ask<Explanation>(client, `/debug/record/why?${query}`);
  const by = (id: string | undefined) => writes.find((write) => write.id === id);
  const [first] = steps;
  const chain = steps.map(({ write }) => [by(write)?.verb, by(write)?.resource, by(write)?.name]);
  return { chain, end, causedBy: first?.exact[0]?.by, write: by(first?.write) };
}

test("the garbage collector and the end of a namespace name themselves, and what they act upon", async () => {
  const { admin } = theApi();
  const made = await admin.post(CONFIG_MAPS, { metadata: { name: "owner" } });
  const { uid } = JSON.parse(String(made.bytes)).metadata;
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid }];
  await admin.post(CONFIG_MAPS, { metadata: { name: "dependent", ownerReferences } });
  const finalizers = ["example.com/held"];
  await admin.post(CONFIG_MAPS, { metadata: { name: "held", ownerReferences, finalizers } });
  await admin.delete(`${CONFIG_MAPS}/owner`);
  await admin.post("/api/v1/namespaces", { metadata: { name: "ending" } });
  await admin.post("/api/v1/namespaces/ending/configmaps", { metadata: { name: "inside" } });
  await admin.delete("/api/v1/namespaces/ending");
  await eventually("what is deleted is gone", async () => {
    const paths = ["/api/v1/namespaces/ending", `${CONFIG_MAPS}/dependent`];
    const answers = await Promise.all(paths.map((path) => admin.get(path)));
    return answers.every(({ status }) => status === 404);
  });
  const collected = await why(admin, "configmaps", "dependent");
  assert.equal(collected.causedBy, "garbage-collector");
  assert.deepEqual(collected.chain, [
    ["delete", "configmaps", "dependent"],
    ["delete", "configmaps", "owner"],
  ]);
  assert.equal(collected.end, "outer");
  // What a finalizer holds is marked only, which is a deletion as well.
  await eventually("what is held is marked", async () => {
    const { bytes } = await admin.get(`${CONFIG_MAPS}/held`);
    return JSON.parse(String(bytes)).metadata.deletionTimestamp !== undefined;
  });
  const marked = await why(admin, "configmaps", "held");
  assert.deepEqual(marked.chain, [
    ["delete", "configmaps", "held"],
    ["delete", "configmaps", "owner"],
  ]);
  assert.equal(marked.causedBy, "garbage-collector");
  const released = { metadata: { name: "held" } };
  await admin.put(`${CONFIG_MAPS}/held`, released);
  const emptied = await why(admin, "configmaps", "inside", "ending");
  assert.equal(emptied.causedBy, "namespace-deletion", JSON.stringify(emptied));
  assert.deepEqual(emptied.chain, [
    ["delete", "configmaps", "inside"],
    ["delete", "namespaces", "ending"],
  ]);
});

test("defaults and conversions name themselves", async () => {
  const { admin } = theApi();
  const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
  const spec = { maxReplicas: 3, scaleTargetRef };
  const path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
  assert.equal((await admin.post(path, { metadata: { name: "web" }, spec })).status, 201);
  const query = "group=autoscaling&resource=horizontalpodautoscalers&name=web";
  const { writes } = await ask<Timeline>(admin, `/debug/record/timeline?${query}`);
  assert.deepEqual(writes[0]?.causes, [
    {
      by: "defaulting",
      name: "",
      paths: ["spec.minReplicas", "spec.targetCPUUtilizationPercentage"],
    },
    { by: "conversion", name: "from autoscaling/v1" },
  ]);
});

test("timeline() draws what was written lately, for reports of failed tests", async () => {
  const { admin, api } = theApi();
  await admin.post(CONFIG_MAPS, { metadata: { name: "drawn" } });
  const svg = await api.timeline({ lastMs: 60_000, title: "a failed test", lanes: "object" });
  assert.match(svg, /<title>a failed test<\/title>/);
  assert.match(svg, /create {2}configmaps default\/drawn/);
});

test("#46 a timeline without heartbeats has who took a Lease, and not who only renewed it", async () => {
  const { admin } = theApi();
  const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
  const spec = { holderIdentity: "me", renewTime: "2030-01-01T00:00:00.000000Z" };
  await admin.post(leases, { metadata: { name: "beating" }, spec });
  const patch = (change: object) => ({
    method: "PATCH",
    body: { spec: change },
    headers: { "content-type": "application/merge-patch+json" },
  });
  const renewed = { renewTime: "2030-01-01T00:00:10.000000Z" };
  await admin.request(`${leases}/beating`, patch(renewed));
  const taken = { holderIdentity: "you", renewTime: "2030-01-01T00:00:20.000000Z" };
  await admin.request(`${leases}/beating`, patch(taken));
  const changesOf = async (more: string) => {
    const path = `/debug/record/timeline?resource=leases&group=coordination.k8s.io&name=beating${more}`;
    return (await ask<Timeline>(admin, path)).writes.map(({ changedPaths }) => changedPaths.join());
  };
  const [made, beat, took] = await changesOf("");
  assert.deepEqual(
    [made, beat, took],
    ["", "spec.renewTime", "spec.holderIdentity,spec.renewTime"],
  );
  assert.deepEqual(await changesOf("&heartbeats=false"), [made, took]);
});

test("#46 the picture of a chain has its writes and the likeliest of each, and the text ends with it in short", async () => {
  const { admin, api } = theApi();
  const follower = new HttpsClient(api.url, api, { "user-agent": "follower/1" });
  const watch = await follower.watch(`${CONFIG_MAPS}?watch=1`);
  for (const name of ["noise-1", "noise-2", "noise-3", "cause"]) {
    await admin.post(CONFIG_MAPS, { metadata: { name } });
  }
  let uid = "";
  for (let name: unknown; name !== "cause"; ) {
    const { value } = await watch.next();
    name = value?.object.metadata.name;
    uid = String(value?.object.metadata.uid);
  }
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "cause", uid }];
  await follower.post(CONFIG_MAPS, { metadata: { name: "effect", ownerReferences } });
  await watch.return?.(undefined);
  follower.close();
  const options = { ...ASKED, kubeconfig: api.kubeconfigPath, name: "effect", isLoops: false };
  const asked = { ...options, revision: "" };
  const all = JSON.parse(
    String(await explainWhy({ ...asked, form: "json" }, signal)),
  ) as Explanation;
  assert.ok((all.steps[0]?.candidates.length ?? 0) >= 4, "noise is among the candidates");
  const svg = String(await explainWhy({ ...asked, form: "svg" }, signal));
  assert.match(svg, /configmaps default\/cause/);
  assert.doesNotMatch(svg, /noise-1/);
  const text = String(await explainWhy({ ...asked, form: "text" }, signal));
  const short = text.slice(text.indexOf("In short"));
  assert.match(
    short,
    /^In short, each because of the next:\n {2}\d+ +create configmaps default\/effect .*\n {2}\d+ +create configmaps default\/cause .* candidate: it owns the object\n$/,
  );
});
