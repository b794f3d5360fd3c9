/**
 * An upgrade replica by replica: two that emulate the older release, one after the other made new. What
 * is written on one is the same on the other in every version that both serve, and nothing is lost.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { MINIMAL_OBJECTS } from "./fixtures/minimal-objects.js";
import type { HttpsClient } from "./harness/https-client.js";
import { startServer } from "./harness/server-process.js";
import { openStore } from "./harness/stores.js";

const FLAGS = ["--runtime-config=api/beta=true", "--run-controllers=false"];
const OLDER = [...FLAGS, "--emulated-version=1.35"];

const POLICIES = (version: string) =>
  `/apis/admissionregistration.k8s.io/${version}/mutatingadmissionpolicies`;
const SCALERS = (version: string) =>
  `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers`;
const MERGE = "application/merge-patch+json";

const policy = {
  metadata: { name: "p" },
  ...(MINIMAL_OBJECTS["mutatingadmissionpolicies.admissionregistration.k8s.io"]?.content as object),
};
const behavior = { scaleDown: { stabilizationWindowSeconds: 7 } };
const scaler = {
  metadata: { name: "s" },
  spec: {
    scaleTargetRef: { kind: "Deployment", name: "web", apiVersion: "apps/v1" },
    maxReplicas: 3,
    behavior,
  },
};

async function read(client: HttpsClient, path: string) {
  const { object } = (await client.get(path)).expect(200, path);
  return object;
}

async function label(client: HttpsClient, path: string, name: string): Promise<void> {
  const headers = { "content-type": MERGE };
  const body = { metadata: { labels: { [name]: "yes" } } };
  const url = `${path}?fieldManager=${name}`;
  (await client.request(url, { method: "PATCH", headers, body })).expect(200, name);
}

test("S2-VERS-08, S2-DEP-02, S2-DEP-04: replicas of two releases serve the same objects side by side, and lose nothing", async () => {
  await using store = await openStore("etcd");
  const { etcdEndpoints } = store.etcd;
  assert.ok(etcdEndpoints);
  await using first = await startServer({ etcdEndpoints, flags: OLDER });
  {
    await using second = await startServer({ etcdEndpoints, flags: OLDER });
    (await first.client.get(POLICIES("v1"))).expect(404);
    (await first.client.post(POLICIES("v1beta1"), policy)).expect(201);
    (
      await second.client.post(SCALERS("v1"), {
        ...scaler,
        spec: { ...scaler.spec, behavior: undefined },
      })
    ).expect(201);
    await label(second.client, `${POLICIES("v1beta1")}/p`, "second");
    await second.stop();
  }
  await using renewed = await startServer({ etcdEndpoints, flags: FLAGS });
  const older = await read(first.client, `${POLICIES("v1beta1")}/p`);
  const newer = await read(renewed.client, `${POLICIES("v1")}/p`);
  assert.deepEqual({ ...newer, apiVersion: older.apiVersion }, older);
  assert.deepEqual(await read(renewed.client, `${POLICIES("v1beta1")}/p`), older);

  // The new replica writes in a version that the old one has never heard of.
  await label(renewed.client, `${POLICIES("v1")}/p`, "renewed");
  (await renewed.client.post(POLICIES("v1"), { ...policy, metadata: { name: "q" } })).expect(201);
  await label(first.client, `${POLICIES("v1beta1")}/q`, "first");
  await label(first.client, `${POLICIES("v1beta1")}/p`, "first");
  const { metadata } = await read(renewed.client, `${POLICIES("v1")}/p`);
  assert.deepEqual(metadata.labels, { second: "yes", renewed: "yes", first: "yes" });
  const { managedFields = [] } = metadata as { managedFields?: Record<string, string>[] };
  const owners = managedFields.map(({ manager, apiVersion = "" }) => [
    manager,
    apiVersion.split("/")[1],
  ]);
  for (const owner of [
    ["second", "v1beta1"],
    ["renewed", "v1"],
    ["first", "v1beta1"],
  ]) {
    assert.ok(
      owners.some((one) => `${one}` === `${owner}`),
      `${owner} of ${owners.join("; ")}`,
    );
  }

  // The older shape says the rest in annotations, and a write through it takes nothing away.
  const body = { spec: { behavior } };
  const headers = { "content-type": MERGE };
  const patch = { method: "PATCH", headers, body };
  (await renewed.client.request(`${SCALERS("v2")}/s`, patch)).expect(200);
  const scalerBefore = await read(renewed.client, `${SCALERS("v2")}/s`);
  await label(first.client, `${SCALERS("v1")}/s`, "first");
  const scalerAfter = await read(renewed.client, `${SCALERS("v2")}/s`);
  assert.deepEqual(scalerAfter.spec, scalerBefore.spec);

  const all = async (client: HttpsClient) =>
    (await client.get(POLICIES("v1beta1"))).expect(200).items.map(({ metadata: { name } }) => name);
  assert.deepEqual(await all(first.client), ["p", "q"]);
  assert.deepEqual(await all(renewed.client), ["p", "q"]);
  await first.stop();
  await renewed.stop();
});
