/** The control loops of a control plane that is loaded again: they look at everything only where something may be left undone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "./harness/eventually.js";
import { startServer } from "./harness/server-process.js";

const KIND = "/apis/tenancy.k8s.io/v1alpha1/controlplanes";
const NAMESPACES = "/clusters/calm/api/v1/namespaces";

test("44: a control plane in which nothing was written since its loops rested begins with rest, others do not", async () => {
  await using server = await startServer({ flags: ["--enable-control-planes"] });
  const { client } = server;
  const gauge = async (name: string): Promise<number> => {
    const { text } = (await client.get("/metrics")).expect(200);
    return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
  };
  const suspend = async (suspended: boolean): Promise<void> => {
    const headers = { "content-type": "application/merge-patch+json" };
    const patch = { method: "PATCH", headers, body: { spec: { suspended } } };
    (await client.request(`${KIND}/calm`, patch)).expect(200);
    const wanted = suspended ? 403 : 200;
    await eventually(`the status ${wanted}`, async () => {
      return (await client.get(NAMESPACES)).status === wanted;
    });
  };
  const loadAgain = async (): Promise<void> => {
    await suspend(true);
    await suspend(false);
    assert.equal(await gauge("keelson_control_planes_loaded"), 1);
  };
  const of = { apiVersion: "tenancy.k8s.io/v1alpha1", kind: "ControlPlane" };
  (await client.post(KIND, { ...of, metadata: { name: "calm" } })).expect(201);
  (await client.get(NAMESPACES)).expect(200);
  await loadAgain();
  assert.equal(await gauge("keelson_control_planes_resting"), 1);
  (await client.post(NAMESPACES, { metadata: { name: "new" } })).expect(201);
  await eventually("the account", async () => {
    return (await client.get(`${NAMESPACES}/new/serviceaccounts/default`)).status === 200;
  });
  await loadAgain();
  await eventually("its loops are awake", async () => {
    return (await gauge("keelson_control_planes_resting")) === 0;
  });
});
