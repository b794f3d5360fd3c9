/** What control planes of one process have together. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { POOLED_BYTES } from "../server/endpoints/chunk-pool.js";
import { HttpsClient } from "./harness/https-client.js";
import { startKeelson } from "./harness/start-api.js";

const COUNT = 12;

test("44: memory that answers are made in is the process's: none stays behind with each control plane that has listed something", async () => {
  await using api = await startKeelson({ controlPlanes: true });
  const client = new HttpsClient(api.url, api);
  const list = async (index: number) =>
    (await client.get(`/clusters/plane-${index}/api/v1/namespaces`)).expect(200);
  for (let index = 0; index < COUNT; index++) {
    const metadata = { name: `plane-${index}` };
    const made = { apiVersion: "tenancy.k8s.io/v1alpha1", kind: "ControlPlane", metadata };
    (await client.post("/apis/tenancy.k8s.io/v1alpha1/controlplanes", made)).expect(201);
    (await client.get(`/clusters/plane-${index}/api/v1/namespaces/default`)).expect(200);
  }
  const before = process.memoryUsage().arrayBuffers;
  for (let index = 0; index < COUNT; index++) await list(index);
  const more = process.memoryUsage().arrayBuffers - before;
  assert.ok(more < (COUNT / 2) * POOLED_BYTES, `${more} bytes`);
  client.close();
});
