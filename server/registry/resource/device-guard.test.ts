/** Administrators' access and the parts of a claim's status, by every way to write, on a whole registry. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { AdmissionChain } from "../../admission/chain.js";
import { applyMergePatch } from "../../api/merge-patch.js";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import { StatusError } from "../../api/status.js";
import type { AuthorizedRequest, Authorizer } from "../../authz/authorizer.js";
import { createUser, type UserInfo } from "../../request/user-info.js";
import type { Registry } from "../registry.js";
import { plainWrites } from "../testing/plain-writes.js";
import {
  inputOf,
  noSignal,
  openRegistryHarness,
  writeOptions,
} from "../testing/registry-harness.js";
import { patchObject, updateObject } from "../write/update.js";
import { createDeviceGuard } from "./device-guard.js";

const GROUP = "resource.k8s.io";

const harness = await openRegistryHarness();
after(() => harness[Symbol.asyncDispose]());

/** What was asked, and what is allowed, as "verb subresource namespace/name". */
const asked: string[] = [];
const allowed: string[] = [];
const allow = (...questions: readonly string[]) => allowed.splice(0, allowed.length, ...questions);
const authorizer: Authorizer = {
  name: "listed",
  authorize({ info }) {
    const { verb, subresource, namespace, name }: AuthorizedRequest = info;
    const question = `${verb} ${subresource} ${namespace}/${name}`;
    asked.push(question);
    return { decision: allowed.includes(question) ? "allow" : "no-opinion", reason: "" };
  },
};

const registry: Registry = {
  ...harness.registry,
  admission: new AdmissionChain([
    createDeviceGuard({
      view: harness.registry.view,
      naming: harness.registry.naming,
      authorizer,
      hasStatusRights: true,
    }),
  ]),
};

const jane = createUser({ name: "jane" });

const writes = plainWrites(harness, { on: registry });

async function create(group: string, resource: string, namespace: string, value: JsonObject) {
  await writes.create(group, resource, value, namespace);
  await registry.freshness.fresh();
}

await create("", "namespaces", "", { metadata: { name: "shop" } });
await create("", "namespaces", "", {
  metadata: { name: "admin", labels: { "resource.kubernetes.io/admin-access": "true" } },
});

const spec = (adminAccess = false): JsonObject => ({
  devices: {
    requests: [
      { name: "a", exactly: { deviceClassName: "c" } },
      { name: "b", exactly: { deviceClassName: "c", ...(adminAccess && { adminAccess }) } },
    ],
  },
});

async function messageOf(run: () => Promise<unknown>): Promise<string> {
  try {
    await run();
    return "";
  } catch (error) {
    assert.ok(error instanceof StatusError, String(error));
    assert.equal(error.status.code, 422);
    return error.status.message ?? "";
  }
}

const NEEDS_LABEL =
  "Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace";

test("A16: a claim or template asks for administrators' access only in a namespace with the label", async () => {
  const claim = (namespace: string, name: string) =>
    messageOf(() =>
      create(GROUP, "resourceclaims", namespace, { metadata: { name }, spec: spec(true) }),
    );
  const template = (namespace: string, name: string) =>
    messageOf(() =>
      create(GROUP, "resourceclaimtemplates", namespace, {
        metadata: { name },
        spec: { spec: spec(true) },
      }),
    );
  const at = "spec.devices.requests[1].adminAccess";
  assert.equal(
    await claim("shop", "c"),
    `ResourceClaim.resource.k8s.io "c" is invalid: ${at}: ${NEEDS_LABEL}`,
  );
  assert.equal(
    await template("shop", "t"),
    `ResourceClaimTemplate.resource.k8s.io "t" is invalid: ${at}: ${NEEDS_LABEL}`,
  );
  assert.deepEqual([await claim("admin", "c"), await template("admin", "t")], ["", ""]);
});

async function patchStatus(name: string, status: JsonObject, user: UserInfo, namespace = "shop") {
  asked.length = 0;
  const resource = harness.part(GROUP, "v1", "resourceclaims", "status");
  const patch = (current: JsonValue) => applyMergePatch(current, { status });
  const options = writeOptions({ user });
  const target = { resource, namespace, name, subresource: "status", options, patch };
  const written = await patchObject(registry, target, noSignal);
  await registry.freshness.fresh();
  return written;
}

const result = (parts: JsonObject = {}): JsonObject => ({
  request: "a",
  driver: "d.example",
  pool: "p",
  device: "dev",
  ...parts,
});

test("A16: a status that allocates with administrators' access needs the label as well", async () => {
  await create(GROUP, "resourceclaims", "shop", { metadata: { name: "plain" }, spec: spec() });
  allow("patch binding /");
  const results = [result(), result({ device: "other", adminAccess: true })];
  const allocation = { devices: { results } };
  assert.equal(
    await messageOf(() => patchStatus("plain", { allocation }, jane)),
    `ResourceClaim.resource.k8s.io "plain" is invalid: status.allocation.devices.results[1].adminAccess: ${NEEDS_LABEL}`,
  );
  await patchStatus("c", { allocation }, jane, "admin");
});

test("A17: allocation and reservedFor need the right to bind claims, in the whole cluster", async () => {
  await create(GROUP, "resourceclaims", "shop", { metadata: { name: "bound" }, spec: spec() });
  const allocation = { devices: { results: [result()] } };
  allow("patch binding shop/", "update binding /");
  const refusal =
    'status.allocation: Forbidden: changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="patch" permission: resourceclaims.resource.k8s.io is forbidden: User "jane" cannot patch resource "resourceclaims/binding" in API group "resource.k8s.io" at the cluster scope';
  for (const status of [{ allocation }, { allocation, reservedFor: [] }]) {
    assert.equal(
      await messageOf(() => patchStatus("bound", status, jane)),
      `ResourceClaim.resource.k8s.io "bound" is invalid: ${refusal}`,
    );
  }
  allow("patch binding /");
  const reservedFor = [{ resource: "pods", name: "p", uid: "u" }];
  await patchStatus("bound", { allocation, reservedFor }, jane);
  assert.deepEqual(asked, ["patch binding /"]);
  allow();
  await patchStatus("bound", { reservedFor }, jane);
  assert.deepEqual(asked, [], "nothing changed");
  assert.match(
    await messageOf(() => patchStatus("bound", { reservedFor: null }, jane)),
    /changing status.allocation or status.reservedFor/,
  );
});

test("A16, A17: who may not is told so before what else is wrong, in one answer", async () => {
  const fieldsOf = async (run: () => Promise<unknown>) => {
    try {
      await run();
    } catch (error) {
      assert.ok(error instanceof StatusError, String(error));
      return error.status.details?.causes?.map(({ field, reason }) => `${field} ${reason}`);
    }
    return assert.fail("the write went through");
  };
  await create(GROUP, "resourceclaims", "shop", { metadata: { name: "odd" }, spec: spec() });
  allow();
  const results = [result({ request: "zz", adminAccess: true })];
  assert.deepEqual(
    await fieldsOf(() => patchStatus("odd", { allocation: { devices: { results } } }, jane)),
    [
      "status.allocation.devices.results[0].adminAccess FieldValueForbidden",
      "status.allocation FieldValueForbidden",
      "status.allocation.devices.results[0].request FieldValueInvalid",
    ],
  );
  // Nothing asks about rights here, so the answer needs no waiting.
  const value = { metadata: { name: "Odd_" }, spec: spec(true) };
  assert.deepEqual(await fieldsOf(() => create(GROUP, "resourceclaims", "shop", value)), [
    "spec.devices.requests[1].adminAccess FieldValueForbidden",
    "metadata.name FieldValueInvalid",
  ]);
  // Who may is told what is wrong, and nothing else.
  allow("patch binding /");
  const wrong = { devices: { results: [result({ request: "zz" })] } };
  assert.deepEqual(await fieldsOf(() => patchStatus("odd", { allocation: wrong }, jane)), [
    "status.allocation.devices.results[0].request FieldValueInvalid",
  ]);
});

test("A17: a PUT asks for the verb update", async () => {
  await create(GROUP, "resourceclaims", "shop", { metadata: { name: "put" }, spec: spec() });
  asked.length = 0;
  allow();
  const resource = harness.part(GROUP, "v1", "resourceclaims", "status");
  const value = {
    metadata: { name: "put" },
    spec: spec(),
    status: { allocation: { devices: { results: [result()] } } },
  };
  const options = writeOptions({ user: jane });
  const target = { resource, namespace: "shop", name: "put", subresource: "status", options };
  assert.match(
    await messageOf(() => updateObject(registry, { ...target, input: inputOf(value) }, noSignal)),
    /verb="update" permission/,
  );
  assert.deepEqual(asked, ["update binding /"]);
});

test("A17: entries of devices need a right for their driver, near or far from the node", async () => {
  await create(GROUP, "resourceclaims", "shop", { metadata: { name: "used" }, spec: spec() });
  const nodeSelector = {
    nodeSelectorTerms: [
      { matchFields: [{ key: "metadata.name", operator: "In", values: ["node1"] }] },
    ],
  };
  const other = result({ request: "b", driver: "e.example" });
  allow("patch binding /");
  await patchStatus(
    "used",
    { allocation: { devices: { results: [result(), other] }, nodeSelector } },
    jane,
  );
  const entry = (driver: string, ready: string): JsonObject => ({
    driver,
    pool: "p",
    device: "dev",
    conditions: [
      {
        type: "Ready",
        status: ready,
        reason: "Said",
        message: "",
        lastTransitionTime: "2026-01-01T00:00:00Z",
      },
    ],
  });
  const both = { devices: [entry("e.example", "True"), entry("d.example", "True")] };
  allow("arbitrary-node:patch driver shop/e.example");
  assert.equal(
    await messageOf(() => patchStatus("used", both, jane)),
    'ResourceClaim.resource.k8s.io "used" is invalid: status.devices: Forbidden: changing status.devices requires resource="resourceclaims/driver", verb="[arbitrary-node:patch]" permission: resourceclaims.resource.k8s.io "d.example" is forbidden: User "jane" cannot arbitrary-node:patch resource "resourceclaims/driver" in API group "resource.k8s.io" in the namespace "shop"',
  );
  const account = (node: string) =>
    createUser({
      name: "system:serviceaccount:drivers:d",
      extra: { "authentication.kubernetes.io/node-name": [node] },
    });
  const near = ["d.example", "e.example"].map(
    (driver) => `associated-node:patch driver shop/${driver}`,
  );
  allow(...near);
  assert.match(
    await messageOf(() => patchStatus("used", both, account("node2"))),
    /verb="\[arbitrary-node:patch\]"/,
  );
  await patchStatus("used", both, account("node1"));
  assert.deepEqual(asked, near);

  allow();
  const changed = { devices: [entry("e.example", "True"), entry("d.example", "False")] };
  assert.match(
    await messageOf(() => patchStatus("used", changed, account("node1"))),
    /verb="\[associated-node:patch arbitrary-node:patch\]" permission: .*cannot associated-node:patch/,
  );
  assert.deepEqual(asked, [
    "associated-node:patch driver shop/d.example",
    "arbitrary-node:patch driver shop/d.example",
  ]);
  allow("arbitrary-node:patch driver shop/e.example");
  await patchStatus("used", { devices: [entry("d.example", "True")] }, jane);
  assert.deepEqual(asked, allowed, "an entry that goes");

  allow("patch binding /");
  const { stored } = await patchStatus("used", { allocation: null }, jane);
  assert.deepEqual(asked, allowed);
  assert.deepEqual(stored.status, {}, "entries go with the allocation");
});
