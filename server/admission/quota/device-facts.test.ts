/** Device classes by the names of extended resources, and the pods that claims are made for, from the view. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { ApiObject, JsonObject } from "../../api/meta.js";
import { plainWrites } from "../../registry/testing/plain-writes.js";
import { openRegistryHarness } from "../../registry/testing/registry-harness.js";
import { ViewedDevices } from "./device-facts.js";

const GROUP = "resource.k8s.io";
const harness = await openRegistryHarness();
const { registry } = harness;
const writes = plainWrites(harness);
const devices = new ViewedDevices(registry.view, registry.naming);

after(() => harness[Symbol.asyncDispose]());

async function create(group: string, resource: string, namespace: string, value: JsonObject) {
  const made = await writes.create(group, resource, value, namespace);
  await registry.freshness.fresh();
  return made;
}

async function remove(group: string, resource: string, namespace: string, name: string) {
  await writes.remove(group, resource, name, {}, { namespace });
  await registry.freshness.fresh();
}

test("A19: a device class is the extended resource that it names, and the one of its own name", async () => {
  const gpu = { metadata: { name: "gpu" }, spec: { extendedResourceName: "example.com/gpu" } };
  await create(GROUP, "deviceclasses", "", gpu);
  await create(GROUP, "deviceclasses", "", { metadata: { name: "nic" }, spec: {} });
  const names = ["example.com/gpu", "gpu", "nic", "none"].flatMap((name) => [
    name,
    `deviceclass.resource.kubernetes.io/${name}`,
  ]);
  const known = () => names.filter((name) => devices.isExtendedResource(name));
  assert.deepEqual(known(), [
    "example.com/gpu",
    "deviceclass.resource.kubernetes.io/gpu",
    "deviceclass.resource.kubernetes.io/nic",
  ]);
  assert.deepEqual(
    ["gpu", "nic", "none"].map((name) => devices.extendedResourceOf(name)),
    ["example.com/gpu", undefined, undefined],
  );
  await remove(GROUP, "deviceclasses", "", "gpu");
  assert.deepEqual(known(), ["deviceclass.resource.kubernetes.io/nic"]);
});

test("A19: only the first claim made for a pod, or the one that it names, is its pod's", async () => {
  await create("", "namespaces", "", { metadata: { name: "shop" } });
  const gpus = { "example.com/gpu": "1" };
  const pod = await create("", "pods", "shop", {
    metadata: { name: "web" },
    spec: { containers: [{ name: "c", image: "i", resources: { requests: gpus, limits: gpus } }] },
  });
  const { uid = "" } = pod.metadata;
  const claimOf = (name: string, more: JsonObject = {}, owner: JsonObject = {}): JsonObject => ({
    metadata: {
      name,
      annotations: { "resource.kubernetes.io/extended-resource-claim": "true" },
      ownerReferences: [
        { apiVersion: "v1", kind: "Pod", name: "web", uid, controller: true, ...owner },
      ],
      ...more,
    },
    spec: {},
  });
  const inShop = ({ metadata, ...rest }: JsonObject) =>
    ({ ...rest, metadata: { ...(metadata as object), namespace: "shop" } }) as unknown as ApiObject;
  const podOf = (claim: ApiObject) => devices.podOf(claim)?.metadata.uid;
  const isFree = (claim: JsonObject) => podOf(inShop(claim)) === uid;

  assert.ok(isFree(claimOf("b")), "before there is any");
  const first = await create(GROUP, "resourceclaims", "shop", claimOf("b"));
  assert.equal(podOf(first), uid);
  assert.ok(!isFree(claimOf("a")), "a second one, whatever its name");
  const notOfPod: readonly [string, JsonObject][] = [
    ["no annotation", claimOf("c", { annotations: {} })],
    [
      "another value",
      claimOf("c", { annotations: { "resource.kubernetes.io/extended-resource-claim": "True" } }),
    ],
    ["no controller", claimOf("c", {}, { controller: false })],
    ["another kind", claimOf("c", {}, { kind: "Node" })],
    ["another version", claimOf("c", {}, { apiVersion: "v2" })],
    ["no such pod", claimOf("c", {}, { name: "other" })],
    ["an earlier pod of the name", claimOf("c", {}, { uid: "other" })],
  ];
  await remove(GROUP, "resourceclaims", "shop", "b");
  for (const [label, claim] of notOfPod) assert.ok(!isFree(claim), label);
  assert.ok(isFree(claimOf("a")), "again, as the first has gone");

  const extendedResourceClaimStatus = {
    resourceClaimName: "e",
    requestMappings: [{ containerName: "c", resourceName: "example.com/gpu", requestName: "r" }],
  };
  const where = { namespace: "shop", subresource: "status" };
  await writes.merge("", "pods", "web", { status: { extendedResourceClaimStatus } }, where);
  await create(GROUP, "resourceclaims", "shop", claimOf("d"));
  assert.ok(!isFree(claimOf("d")), "the pod names another");
  assert.ok(isFree(claimOf("e")), "the pod names it, although it is not the first");
});
