/** API versions and their life, from outside: warnings, records and what the flags turn on. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createNaming, DEFAULT_VENDOR } from "../server/api/naming.js";
import { removedVersions } from "../server/types/testing/removed-versions.js";
import { eventually } from "./harness/eventually.js";
import { Kubectl } from "./harness/kubectl.js";
import { startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";

const ENDPOINTS = "/api/v1/namespaces/default/endpoints";
const USE_SLICES = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
const RANGES = "/apis/networking.k8s.io/v1beta1/servicecidrs";
const RANGES_GO =
  "networking.k8s.io/v1beta1 ServiceCIDR is deprecated in v1.34+, unavailable in v1.37+";

const CLAIMS = (version: string) =>
  `/apis/resource.k8s.io/${version}/namespaces/default/resourceclaims`;
const SLICES = (version: string) => `/apis/resource.k8s.io/${version}/resourceslices`;

test("S2-VERS-08, S2-VERS-06: an object is one and the same in every version, whatever the shape", async () => {
  await using server = await startServer({ flags: ["--runtime-config=api/beta,api/alpha=true"] });
  const { client } = server;
  const since = (await client.get(CLAIMS("v1"))).expect(200).object.metadata.resourceVersion;
  const request = { name: "gpu", deviceClassName: "gpu.example.com", adminAccess: false };
  const claim = { metadata: { name: "c" }, spec: { devices: { requests: [request] } } };
  const older = (await client.post(CLAIMS("v1beta1"), claim)).expect(201);
  assert.match(String(older.headers.warning), /v1beta1 ResourceClaim is deprecated in v1\.35\+/);
  const { name, ...exactly } = { ...request, allocationMode: "ExactCount", count: 1 };
  const requestsIn = async (version: string) => {
    const { object } = (await client.get(`${CLAIMS(version)}/c`)).expect(200, version);
    assert.equal(object.apiVersion, `resource.k8s.io/${version}`);
    return (object.spec as { devices: { requests: unknown } }).devices.requests;
  };
  assert.deepEqual(await requestsIn("v1beta1"), [{ name, ...exactly }]);
  for (const version of ["v1", "v1beta2"]) {
    assert.deepEqual(await requestsIn(version), [{ name, exactly }], version);
  }
  const labels = { metadata: { labels: { seen: "yes" } } };
  const headers = { "content-type": "application/strategic-merge-patch+json" };
  const patch = { method: "PATCH", headers, body: labels };
  (await client.request(`${CLAIMS("v1beta1")}/c`, patch)).expect(200);
  assert.deepEqual(await requestsIn("v1"), [{ name, exactly }]);
  const watch = `${CLAIMS("v1beta1")}?watch=1&timeoutSeconds=1&resourceVersion=${since}`;
  const events = (await client.get(watch)).expect(200).text.trimEnd().split("\n");
  const last = JSON.parse(events.at(-1) ?? "").object;
  assert.deepEqual(
    [last.apiVersion, last.spec.devices.requests],
    ["resource.k8s.io/v1beta1", [{ name, ...exactly }]],
  );

  const device = { name: "d", basic: { attributes: { model: { string: "x" } } } };
  const pool = { name: "p", generation: 1, resourceSliceCount: 1 };
  const slice = {
    metadata: { name: "s" },
    spec: { driver: "gpu.example.com", pool, nodeName: "n", devices: [device] },
  };
  (await client.post(SLICES("v1beta1"), slice)).expect(201);
  const stored = (await client.get(`${SLICES("v1")}/s`)).expect(200).object;
  const { devices } = stored.spec as { devices: unknown };
  assert.deepEqual(devices, [{ name: "d", ...device.basic }]);
  const again = (await client.get(`${SLICES("v1beta1")}/s`)).expect(200).object;
  assert.deepEqual((again.spec as { devices: unknown }).devices, [device]);
  const put = { method: "PUT", headers: { "content-type": "application/json" }, body: again };
  const written = await client.request(`${SLICES("v1beta1")}/s`, put);
  assert.equal(written.expect(200).object.metadata.generation, stored.metadata.generation);

  // A19: what is wrong is told once, in the places of v1.
  const wrong = async (path: string, spec: object, at = "") => {
    const refused = (await client.post(path, { metadata: { name: "w" }, spec })).expect(422);
    const { causes } = refused.object.details as {
      causes: { field: string; reason: string }[];
    };
    return causes.map(({ field, reason }) => `${field.slice(at.length)} ${reason}`).sort();
  };
  const badRequest = {
    name: "r",
    deviceClassName: "gpu",
    allocationMode: "Some",
    selectors: [{ cel: { expression: "" } }],
    tolerations: [{ key: "a", operator: "In" }],
  };
  const badClaim = { devices: { requests: [badRequest] } };
  const ofRequest = [
    "allocationMode FieldValueNotSupported",
    "selectors[0].cel.expression FieldValueInvalid",
    "tolerations[0].operator FieldValueNotSupported",
  ];
  const exactlyAt = "spec.devices.requests[0].exactly.";
  assert.deepEqual(await wrong(CLAIMS("v1beta1"), badClaim, exactlyAt), ofRequest);
  const templates = `${CLAIMS("v1beta1").slice(0, -1)}templates`;
  assert.deepEqual(await wrong(templates, { spec: badClaim }, `spec.${exactlyAt}`), ofRequest);
  const taints = [{ key: "a", effect: "X" }];
  const consumesCounters = [{ counterSet: "", counters: {} }];
  const badSlice = { ...slice.spec, devices: [{ name: "d", basic: { taints, consumesCounters } }] };
  assert.deepEqual(await wrong(SLICES("v1beta1"), badSlice, "spec.devices[0]."), [
    "consumesCounters[0].counterSet FieldValueRequired",
    "consumesCounters[0].counters FieldValueRequired",
    "taints[0].effect FieldValueNotSupported",
  ]);
});

test("S2-REM-01..07: what was removed is 404 and in no discovery document, though everything is turned on, and its successor is there", async () => {
  await using server = await startServer({ flags: ["--runtime-config=api/all=true"] });
  const { client } = server;
  const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const { items } = (await client.get("/apis", accept)).expect(200);
  const discovered = new Set(
    (items as unknown as DiscoveredGroup[]).flatMap(({ metadata: { name }, versions }) =>
      versions.flatMap(({ version, resources }) =>
        resources.map(({ resource }) => `${name}/${version} ${resource}`),
      ),
    ),
  );
  assert.ok(discovered.has("resource.k8s.io/v1beta1 resourceclaims"));
  for (const [id, gone, now] of removedVersions(createNaming(DEFAULT_VENDOR))) {
    const path = `/apis/${gone.replace(" ", "/")}`;
    (await client.get(path)).expect(404, `${id} ${gone}`);
    (await client.post(path, {})).expect(404, `${id} ${gone}`);
    assert.equal(discovered.has(gone), false, gone);
    if (now === "") continue;
    const successor = gone.replace(/\/\S+/, `/${now}`);
    assert.ok(discovered.has(successor), successor);
    // What is only created cannot be listed.
    const { status } = await client.get(`/apis/${successor.replace(" ", "/")}`);
    assert.ok([200, 405].includes(status), `${successor}: ${status}`);
  }
});

interface DiscoveredGroup {
  readonly metadata: { readonly name: string };
  readonly versions: readonly {
    readonly version: string;
    readonly resources: readonly { readonly resource: string }[];
  }[];
}

test("S2-DEP-15: setting a stable gate warns at the start, unless only errors are logged", async () => {
  const gate = "--feature-gates=DryRun=true";
  const warning =
    /warn\s+Setting GA feature gate DryRun=true\. It will be removed in a future release\./;
  await using server = await startServer({ flags: [gate] });
  assert.match(server.logs, warning);
  await using quiet = await startServer({ flags: [gate, "--log-level=error"] });
  assert.doesNotMatch(quiet.logs, /DryRun/);
});

test("S2-REM-08, S2-VERS-06: an emulated release, and versions that are turned off, are absent from discovery, OpenAPI and routing", async () => {
  await using server = await startServer({
    flags: ["--emulated-version=1.33", "--runtime-config=batch/v1=false,v1/podtemplates=false"],
  });
  const { client } = server;
  const version = JSON.parse((await client.get("/version")).expect(200).text);
  assert.deepEqual(
    [version.minor, version.emulationMinor, version.minCompatibilityMinor],
    ["36", "33", "33"],
  );
  for (const path of ["/apis/resource.k8s.io/v1", "/apis/batch/v1", "/apis/batch"]) {
    (await client.get(path)).expect(404, path);
  }
  for (const path of [CLAIMS("v1"), "/apis/batch/v1/jobs", "/api/v1/podtemplates"]) {
    (await client.get(path)).expect(404, path);
    (await client.post(path, {})).expect(404, path);
  }
  const groups = (await client.get("/apis")).expect(200).text;
  assert.doesNotMatch(groups, /"batch"|resource\.k8s\.io/);
  assert.match(groups, /"apps"/);
  assert.doesNotMatch((await client.get("/api/v1")).expect(200).text, /podtemplates/);
  const documents = (await client.get("/openapi/v3")).expect(200).text;
  assert.doesNotMatch(documents, /apis\/batch|resource\.k8s\.io/);
  assert.doesNotMatch(
    (await client.get("/openapi/v2")).expect(200).text,
    /"\/apis\/batch|podtemplates/,
  );
});

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
