/** What control planes of one process have together. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { POOLED_BYTES } from "../server/endpoints/chunk-pool.js";
import { HttpsClient } from "./harness/https-client.js";
import { startKeelson } from "./harness/start-api.js";

const COUNT = 12;
const KIND = "/apis/tenancy.k8s.io/v1alpha1/controlplanes";
const MIB = 2 ** 20;

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

test("44: recent changes of all control planes have one bound, and who holds little keeps its own", async () => {
  const flags = { "watch-cache-bytes": MIB };
  await using api = await startKeelson({ controlPlanes: true, flags });
  const client = new HttpsClient(api.url, api);
  const write = async (plane: string, name: string, bytes: number) => {
    const data = { text: randomBytes(bytes).toString("base64") };
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
    const path = `/clusters/${plane}/api/v1/namespaces/default/configmaps`;
    return (await client.post(path, object)).expect(201).object.metadata?.resourceVersion ?? "";
  };
  const open = async (name: string) => {
    const metadata = { name };
    const made = { apiVersion: "tenancy.k8s.io/v1alpha1", kind: "ControlPlane", metadata };
    (await client.post(KIND, made)).expect(201);
    return await write(name, "first", 100);
  };
  const firstEvent = async (plane: string, version: string) => {
    const query = `watch=1&resourceVersion=${version}&timeoutSeconds=2`;
    const path = `/clusters/${plane}/api/v1/namespaces/default/configmaps?${query}`;
    for await (const event of await client.watch(path)) return event;
    return undefined;
  };
  const quiet = await open("quiet");
  await write("quiet", "second", 100);
  const loud = Array.from({ length: 6 }, (_, index) => `loud-${index}`);
  const began = await Promise.all(loud.map(open));
  // Each of them stays below the bound: a storm may take four times --watch-cache-bytes.
  for (let index = 0; index < 75; index++) {
    await Promise.all(loud.map((plane) => write(plane, `map-${index}`, 20_000)));
    const { held, bound } = await heldEvents(client);
    assert.ok(held <= bound, `${held} of ${bound} bytes`);
  }
  const { held, bound } = await heldEvents(client);
  assert.equal(bound, 4 * MIB);
  assert.ok(held > 3 * MIB, `${held} bytes`);
  assert.equal((await firstEvent("quiet", quiet))?.object.metadata?.name, "second");
  const ends = await Promise.all(
    loud.map((plane, index) => firstEvent(plane, began[index] as string)),
  );
  assert.ok(
    ends.some((event) => event?.type === "ERROR" && event.object.code === 410),
    "those who wrote most gave way",
  );
  client.close();
});

async function heldEvents(client: HttpsClient) {
  const text = (await client.get("/metrics")).text;
  const read = (name: string) =>
    Number(new RegExp(`^${name}{kind="events"} (.*)$`, "m").exec(text)?.[1]);
  return {
    held: read("keelson_shared_memory_bytes"),
    bound: read("keelson_shared_memory_limit_bytes"),
  };
}
