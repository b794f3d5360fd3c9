/** A24: who is told that the server is ready finds everything that it makes itself, and is not disturbed by it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openAdmissionHook } from "../server/admission/testing/admission-webhook.js";
import { createNaming, DEFAULT_VENDOR } from "../server/api/naming.js";
import { mandatoryObjects, suggestedObjects } from "../server/flowcontrol/default-objects.js";
import { startServer } from "./harness/server-process.js";

const FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1";
const naming = createNaming(DEFAULT_VENDOR);

test("A24: flow schemas, levels, APIServices, roles and classes are there at readiness", async () => {
  await using server = await startServer();
  const { client } = server;
  const names = async (path: string) =>
    (await client.get(path)).items.map(({ metadata }) => metadata.name).sort();
  const [schemas, levels, services, maps] = await Promise.all([
    names(`${FLOW}/flowschemas`),
    names(`${FLOW}/prioritylevelconfigurations`),
    names("/apis/apiregistration.k8s.io/v1/apiservices"),
    names("/api/v1/namespaces/kube-system/configmaps"),
  ]);
  const [mandatory, suggested] = [mandatoryObjects(naming), suggestedObjects(naming)];
  const wanted = (kind: "schemas" | "levels") =>
    [...mandatory[kind], ...suggested[kind]].map(({ metadata }) => metadata.name).sort();
  assert.deepEqual(schemas, wanted("schemas"));
  assert.deepEqual(levels, wanted("levels"));
  const groups = JSON.parse((await client.get("/apis")).text) as {
    groups: { name: string; versions: { version: string }[] }[];
  };
  const served = groups.groups.flatMap(({ name, versions }) =>
    versions.map(({ version }) => `${version}.${name}`),
  );
  const own = served.filter((name) => !name.endsWith(".apiregistration.k8s.io"));
  assert.deepEqual(services, ["v1.", ...own].sort());
  assert.ok(maps.includes("extension-apiserver-authentication"));
});

test("A24: in the first second, in a new namespace and beside a new kind, a webhook is called once for each create", async () => {
  await using hook = await openAdmissionHook();
  await using server = await startServer();
  const { client } = server;
  const webhooks = [
    {
      name: "count.example.com",
      clientConfig: hook.clientConfig(),
      rules: [
        { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] },
      ],
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
    },
  ];
  const rules = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  (await client.post(rules, { metadata: { name: "count" }, webhooks })).expect(201);
  (await client.post("/api/v1/namespaces", { metadata: { name: "fresh" } })).expect(201);
  const names = Array.from({ length: 20 }, (_, index) => `map-${index}`);
  for (const name of names) {
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
    (await client.post("/api/v1/namespaces/fresh/configmaps", map)).expect(201);
  }
  const asked = hook.requests.map(({ name }) => name).filter((name) => name?.startsWith("map-"));
  assert.deepEqual(asked, names);
});
