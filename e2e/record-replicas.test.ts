/** The recorder of two replicas: each asks the other, and answers with what both have recorded, by revision. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { blame, explainWhy } from "../server/commands/why.js";
import type {
  Explanation,
  Loops,
  RecordStatus,
  Timeline,
} from "../server/recorder/record-types.js";
import { eventually } from "./harness/eventually.js";
import { grant } from "./harness/grant.js";
import { HttpsClient } from "./harness/https-client.js";
import { startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { TestAuthority } from "./harness/test-authority.js";
import { startEtcd } from "./tools/etcd.js";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const RECORD = "/debug/record";
const MERGE = { "content-type": "application/merge-patch+json" };
const IDLE_WRITES = 3;
const signal = new AbortController().signal;

async function ask<T>(client: HttpsClient, path: string): Promise<T> {
  return (await client.get(`${RECORD}${path}`)).expect(200).object as unknown as T;
}

test("#46 a write through one replica that a delivery by the other caused is explained by both, with the rights of who asks", async (t) => {
  await using etcd = await startEtcd();
  const options = { etcdEndpoints: [etcd.endpoint], flags: ["--record=memory"] };
  await using a = await startServer(options);
  await using b = await startServer(options);
  await eventually("both replicas know each other", async () => {
    const known = await Promise.all([a, b].map(({ client }) => ask<RecordStatus>(client, "")));
    return known.every(({ replicas }) => replicas.length === 2);
  });

  const made = await a.client.post("/api/v1/namespaces/default/serviceaccounts", {
    metadata: { name: "robot" },
  });
  made.expect(201);
  const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["*"] }];
  const to = "ServiceAccount default/robot";
  await grant(a.client, { name: "maps", to, rules, namespace: "default" });
  const { object } = await a.client.post(
    "/api/v1/namespaces/default/serviceaccounts/robot/token",
    {},
  );
  const { token } = object.status as { readonly token: string };
  const robotAt = ({ url, credentials: { ca } }: typeof a) => {
    const client = new HttpsClient(url, { ca }, { authorization: `Bearer ${token}` });
    t.after(() => client.close());
    return client;
  };
  const [robotAtA, robotAtB] = [robotAt(a), robotAt(b)];

  const watch = await robotAtB.watch(`${CONFIG_MAPS}?watch=1`);
  (await a.client.post(CONFIG_MAPS, { metadata: { name: "cause" } })).expect(201);
  for (let name: unknown; name !== "cause"; ) {
    const { value } = await watch.next();
    assert.ok(value !== undefined, "the watch goes on");
    name = value.object.metadata.name;
  }
  (await robotAtA.post(CONFIG_MAPS, { metadata: { name: "cause-effect" } })).expect(201);
  (
    await a.client.post("/api/v1/namespaces/default/secrets", { metadata: { name: "hush" } })
  ).expect(201);
  const patch = { method: "PATCH", body: { data: { a: "1" } }, headers: MERGE };
  for (let write = 0; write < IDLE_WRITES; write++) {
    for (const { client } of [a, b]) await client.request(`${CONFIG_MAPS}/cause`, patch);
  }

  const why = "/why?resource=configmaps&namespace=default&name=cause-effect";
  for (const client of [a.client, b.client, robotAtA, robotAtB]) {
    const { steps, writes, replicas, reads } = await ask<Explanation>(client, why);
    assert.deepEqual(
      replicas.map(({ isAsked, problem }) => [isAsked, problem]),
      [
        [true, ""],
        [true, ""],
      ],
    );
    const names = steps.map(({ write }) => writes.find(({ id }) => id === write)?.name);
    assert.deepEqual(names, ["cause-effect", "cause"]);
    const [candidate] = steps[0]?.candidates ?? [];
    assert.notEqual(candidate?.deliveredTime, "");
    assert.ok(reads.some(({ id }) => id === candidate?.read));
  }

  // What is not the robot's to read is counted at both, and shown by neither.
  for (const robot of [robotAtA, robotAtB]) {
    const { writes, hidden } = await ask<Timeline>(robot, "/timeline?limit=10000");
    assert.deepEqual([...new Set(writes.map(({ resource }) => resource))], ["configmaps"]);
    assert.ok(hidden > 0);
  }
  const timeline = await ask<Timeline>(b.client, "/timeline?resource=configmaps&limit=10000");
  const revisions = timeline.writes.flatMap(({ revision }) => (revision ? [Number(revision)] : []));
  assert.deepEqual(
    revisions,
    revisions.toSorted((x, y) => x - y),
  );
  const later = await ask<Timeline>(a.client, `/timeline?after=${timeline.next}`);
  const known = new Set(timeline.writes.map(({ id }) => id));
  assert.ok(later.writes.every(({ id }) => !known.has(id)));
  // Five in all, three at each: only both together know it.
  const { loops } = await ask<Loops>(b.client, "/loops");
  assert.ok(loops.some(({ type, name }) => type === "no-change" && name === "cause"));

  const target = { kubeconfig: b.kubeconfig, context: undefined, server: undefined };
  const asked = { ...target, type: "cm", name: "cause-effect", namespace: "default" };
  const command = { ...asked, revision: "", form: "text", isLoops: false } as const;
  assert.match(
    String(await explainWhy(command, signal)),
    /because of create configmaps default\/cause /,
  );
  assert.match(await blame({ ...asked, form: "text" }, signal), /metadata/);

  // One that takes connections and answers nothing.
  a.signal("SIGSTOP");
  const alone = await ask<Timeline>(b.client, "/timeline?name=cause");
  a.signal("SIGCONT");
  assert.ok(alone.writes.length >= IDLE_WRITES);
  const [silent, ...more] = alone.replicas.filter(({ isAsked }) => !isAsked);
  assert.match(silent?.problem ?? "", /before the deadline/);
  assert.deepEqual(more, []);
});

test("#42 replicas with a given certificate, which has no address of theirs, are asked by its name", async () => {
  await using etcd = await startEtcd();
  await using folder = await makeTempDir("given");
  const at = (name: string) => join(folder.path, name);
  const authority = await TestAuthority.create("given");
  for (const [form, hosts] of Object.entries({
    names: ["*.any.example", "api.example", "127.0.0.1"],
    addresses: ["127.0.0.1"],
  })) {
    const { cert, key } = await authority.issue({ commonName: "api", usage: "server", hosts });
    await writeFile(at("tls.crt"), cert + authority.certificate);
    await writeFile(at("tls.key"), key);
    const flags = [
      "--record=memory",
      `--tls-cert-file=${at("tls.crt")}`,
      `--tls-private-key-file=${at("tls.key")}`,
      `--etcd-prefix=/${form}`,
    ];
    const options = { etcdEndpoints: [etcd.endpoint], flags };
    await using a = await startServer(options);
    await using b = await startServer(options);
    (await a.client.post(CONFIG_MAPS, { metadata: { name: "made" } })).expect(201);
    await eventually(`both replicas know each other: ${form}`, async () => {
      const { replicas } = await ask<RecordStatus>(b.client, "");
      return replicas.length === 2;
    });
    const { replicas } = await ask<Timeline>(b.client, "/timeline?limit=1");
    const problems = replicas.map(({ problem }) => problem);
    assert.deepEqual(problems, ["", ""], form);
    const path = "/why?resource=configmaps&namespace=default&name=made";
    assert.equal((await ask<Explanation>(b.client, path)).writes.length, 1, form);
  }
});
