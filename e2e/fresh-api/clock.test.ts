/** Time that a test moves forward: tokens, TTLs, events, schedules, and a node that is gone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../harness/eventually.js";
import { HttpsClient } from "../harness/https-client.js";
import { shareApi } from "./running-api.js";

const theApi = shareApi({ simulate: { nodes: 2 } });

const NAMESPACE = "/api/v1/namespaces/default";
const BATCH = "/apis/batch/v1/namespaces/default";
const HOUR_MS = 3_600_000;

const template = {
  spec: { restartPolicy: "Never", containers: [{ name: "app", image: "app:1" }] },
};

test("People 6: time jumps forward, and never beyond a year or back", async () => {
  const { api, admin } = theApi();
  const before = await api.clock.now();
  const after = await api.clock.advance("1h30m");
  assert.ok(after.getTime() - before.getTime() >= 1.5 * HOUR_MS);
  const made = await admin.post(`${NAMESPACE}/configmaps`, { metadata: { name: "later" } });
  const created = Date.parse(made.expect(201).object.metadata.creationTimestamp ?? "");
  assert.ok(created - before.getTime() >= 1.5 * HOUR_MS - 1_000);
  await assert.rejects(api.clock.advance("yesterday"), RangeError);
  await assert.rejects(api.clock.advance(-1), RangeError);
  await assert.rejects(api.clock.advance(400 * 24 * HOUR_MS), /advanceMs: not a number/);
});

test("People 6: a token ends, and a new one is good", async () => {
  const { api, admin } = theApi();
  await api.settled();
  const tokenOf = async () => {
    const request = { spec: { expirationSeconds: 600 } };
    const answer = await admin.post(`${NAMESPACE}/serviceaccounts/default/token`, request);
    return (answer.expect(201).object.status as { token: string }).token;
  };
  const statusWith = async (token: string) => {
    const client = new HttpsClient(api.url, { ca: api.ca });
    const headers = { authorization: `Bearer ${token}` };
    const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    const { status } = await client.request(path, { method: "POST", body: {}, headers });
    client.close();
    return status;
  };
  const token = await tokenOf();
  assert.equal(await statusWith(token), 201);
  await api.clock.advance("11m");
  assert.equal(await statusWith(token), 401);
  assert.equal(await statusWith(await tokenOf()), 201);
});

test("People 6: Jobs and events reach the end of their TTL, and a CronJob is due", async () => {
  const { api, admin } = theApi();
  const job = { metadata: { name: "short" }, spec: { ttlSecondsAfterFinished: 1_800, template } };
  (await admin.post(`${BATCH}/jobs`, job)).expect(201);
  const event = {
    metadata: { name: "something.1" },
    involvedObject: { kind: "Pod", name: "x", namespace: "default" },
    ...{ reason: "Happened", type: "Normal" },
  };
  (await admin.post(`${NAMESPACE}/events`, event)).expect(201);
  const cron = {
    metadata: { name: "daily" },
    spec: { schedule: "@daily", jobTemplate: { spec: { template } } },
  };
  (await admin.post(`${BATCH}/cronjobs`, cron)).expect(201);
  await api.settled();
  const { status } = (await admin.get(`${BATCH}/jobs/short`)).expect(200).object;
  assert.equal((status as { succeeded: number }).succeeded, 1);
  await api.clock.advance("24h");
  await eventually("the event and the job are gone", async () => {
    const found = await Promise.all(
      [`${NAMESPACE}/events/something.1`, `${BATCH}/jobs/short`].map((path) => admin.get(path)),
    );
    return found.every((answer) => answer.status === 404);
  });
  await eventually("the CronJob had a success", async () => {
    const { status: seen } = (await admin.get(`${BATCH}/cronjobs/daily`)).expect(200).object;
    return (seen as { lastSuccessfulTime?: string }).lastSuccessfulTime !== undefined;
  });
  await admin.delete(`${BATCH}/cronjobs/daily`);
});

test("People 6: the pods of a node that is gone are made anew when their toleration ends", async () => {
  const { api, admin } = theApi();
  const labels = { app: "moving" };
  const spec = {
    replicas: 2,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: template.spec.containers } },
  };
  (
    await admin.post("/apis/apps/v1/namespaces/default/deployments", {
      metadata: { name: "moving" },
      spec,
    })
  ).expect(201);
  await api.settled();
  const places = async () => {
    const pods = (await admin.get(`${NAMESPACE}/pods?labelSelector=app%3Dmoving`)).expect(
      200,
    ).items;
    return pods
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map((pod) => (pod.spec as { nodeName?: string }).nodeName)
      .sort();
  };
  assert.deepEqual(await places(), ["simulated-1", "simulated-2"]);
  const gone = { metadata: { annotations: { "simulation.keelson.dev/gone": "true" } } };
  await admin.patch("/api/v1/nodes/simulated-1", gone);
  await api.settled();
  assert.deepEqual(await places(), ["simulated-1", "simulated-2"]);
  await api.clock.advance("5m1s");
  await eventually("both are on the other node", async () => {
    return (await places()).join() === "simulated-2,simulated-2";
  });
});
