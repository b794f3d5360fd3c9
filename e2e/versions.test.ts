/** API versions and their life, from outside: warnings, records and what the flags turn on. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "./harness/eventually.js";
import { Kubectl } from "./harness/kubectl.js";
import { startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";

const ENDPOINTS = "/api/v1/namespaces/default/endpoints";
const USE_SLICES = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
const RANGES = "/apis/networking.k8s.io/v1beta1/servicecidrs";
const RANGES_GO =
  "networking.k8s.io/v1beta1 ServiceCIDR is deprecated in v1.34+, unavailable in v1.37+";

interface AuditEvent {
  readonly auditID: string;
  readonly stage: string;
  readonly annotations: Readonly<Record<string, string>>;
}

test("S2-DEP-12: componentstatuses says how the store and the control loops are, in every form", async () => {
  await using server = await startServer({ flags: ["--run-controllers"] });
  const { client } = server;
  const path = "/api/v1/componentstatuses";
  await eventually("a process runs the control loops", async () => {
    const { text } = (await client.get(`${path}/controller-manager`)).expect(200);
    return /"status":"True"/.test(text);
  });
  const healthy = { type: "Healthy", status: "True", message: "ok" };
  const warning = '299 - "v1 ComponentStatus is deprecated in v1.19+"';
  const list = (await client.get(path)).expect(200);
  assert.equal(list.headers.warning, warning);
  assert.deepEqual(JSON.parse(list.text), {
    kind: "ComponentStatusList",
    apiVersion: "v1",
    metadata: { resourceVersion: "" },
    items: ["controller-manager", "etcd-0"].map((name) => ({
      metadata: { name },
      conditions: [healthy],
    })),
  });
  const one = (await client.get(`${path}?fieldSelector=metadata.name%3Detcd-0`)).expect(200);
  assert.deepEqual(JSON.parse(one.text).items.length, 1);
  (await client.get(`${path}/scheduler`)).expect(404);
  (await client.post(path, { metadata: { name: "x" } })).expect(405);
  (await client.get(`${path}?watch=1`)).expect(405);
  await using kubectl = await Kubectl.open(server);
  const { stdout, stderr } = await kubectl.run(["get", "componentstatuses"]);
  assert.match(stderr, /^Warning: v1 ComponentStatus is deprecated in v1\.19\+\n$/);
  assert.deepEqual(
    stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.trimEnd().split(/ {2,}/)),
    [
      ["NAME", "STATUS", "MESSAGE", "ERROR"],
      ["controller-manager", "Healthy", "ok"],
      ["etcd-0", "Healthy", "ok"],
    ],
  );
  await kubectl.ok(["get", "cs", "etcd-0", "-o", "yaml"]);
});

test("S2-DEP-12, S2-DEP-13, S2-DEP-14: who asks for what is deprecated gets it, with a warning, and is recorded", async () => {
  await using folder = await makeTempDir("versions");
  const file = join(folder.path, "audit.log");
  const ids = new Map<string, string>();
  {
    await using server = await startServer({
      flags: [`--audit-log-path=${file}`, "--runtime-config=networking.k8s.io/v1beta1"],
    });
    const { client } = server;
    const slices = { metadata: { name: "old" } };
    const watch = `${ENDPOINTS}?watch=1&timeoutSeconds=1`;
    const requests = [
      ["created", client.post(ENDPOINTS, slices), 201, USE_SLICES],
      ["listed", client.get(ENDPOINTS), 200, USE_SLICES],
      ["missing", client.get(`${ENDPOINTS}/none`), 404, USE_SLICES],
      ["watched", client.get(watch), 200, USE_SLICES],
      ["going", client.get(RANGES), 200, RANGES_GO],
      ["current", client.get("/apis/networking.k8s.io/v1/servicecidrs"), 200, undefined],
    ] as const;
    for (const [what, request, status, warning] of requests) {
      const { headers } = (await request).expect(status, what);
      assert.equal(headers.warning, warning && `299 - "${warning}"`, what);
      ids.set(what, String(headers["audit-id"]));
    }
    const { text } = (await client.get("/metrics")).expect(200);
    const counted = text
      .split("\n")
      .filter((line) => line.startsWith("apiserver_requested_deprecated_apis{"));
    assert.deepEqual(counted.sort(), [
      'apiserver_requested_deprecated_apis{group="",version="v1",resource="endpoints",subresource="",removed_release=""} 1',
      'apiserver_requested_deprecated_apis{group="networking.k8s.io",version="v1beta1",resource="servicecidrs",subresource="",removed_release="1.37"} 1',
    ]);
    await using kubectl = await Kubectl.open(server);
    const { stderr } = await kubectl.run(["get", "endpoints"]);
    assert.equal(stderr.split("\n")[0], `Warning: ${USE_SLICES}`);
    await server.stop();
  }
  const events = (await readFile(file, "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as AuditEvent)
    .filter(({ stage }) => stage === "ResponseComplete");
  const noted = (what: string) => {
    const { annotations = {} } = events.find(({ auditID }) => auditID === ids.get(what)) ?? {};
    return [annotations["k8s.io/deprecated"], annotations["k8s.io/removed-release"]];
  };
  assert.deepEqual(noted("created"), ["true", undefined]);
  assert.deepEqual(noted("watched"), ["true", undefined]);
  assert.deepEqual(noted("missing"), ["true", undefined]);
  assert.deepEqual(noted("going"), ["true", "1.37"]);
  assert.deepEqual(noted("current"), [undefined, undefined]);
});
