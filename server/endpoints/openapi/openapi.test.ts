/**
 * OpenAPI as clients see it: the documents of kube-apiserver for well-known types, resolvable
 * references, and addresses with hashes.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import type { JsonValue } from "../../api/meta.js";
import { StatusError } from "../../api/status.js";
import type { ResourceFact } from "../../schema/model.js";
import { type DocumentHeaders, gatherBody } from "../discovery/document.js";
import { servedByDefault } from "../testing/served-by-default.js";
import { createOpenApi, type OpenApi, type SharedDocuments } from "./openapi.js";

const V3_PROTOBUF = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";

function openApiOf(
  vendor?: string,
  isServed?: (fact: ResourceFact) => boolean,
  shared?: SharedDocuments,
): OpenApi {
  const served = servedByDefault(vendor, isServed);
  return createOpenApi({
    ...served,
    title: "Keelson",
    apiVersion: "v1.36.0",
    objectMediaTypes: ["application/json", "application/yaml", served.naming.protobufMediaType],
    versionMembers: ["major", "minor"],
    shared,
  });
}

const openApi = openApiOf();

/** GET of an address with an optional hash. */
async function answer(api: OpenApi, address: string, headers: DocumentHeaders = {}) {
  const [path = "", hash] = address.split("?hash=");
  const response = await api.handle(path, headers, hash);
  assert.ok(response !== undefined, `${path} is served`);
  return { ...response, body: await gatherBody(response.body) };
}

// biome-ignore lint/suspicious/noExplicitAny: documents are read by path in assertions only
type Parsed = any;

async function parsed(path: string, api = openApi): Promise<Parsed> {
  return JSON.parse((await answer(api, path)).body.toString());
}

/** A schema without descriptions, which are this server's own. */
function shapeOf(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return value;
  const isSchema = "type" in value || "$ref" in value || "allOf" in value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !(isSchema && name === "description"))
      .map(([name, member]) => [name, shapeOf(member as JsonValue)]),
  );
}

const META = "io.k8s.apimachinery.pkg.apis.meta.v1";

test("APIs of the same built-in kinds have one copy of each document, and others have their own", async () => {
  const shared: SharedDocuments = new Map();
  const [first, second] = [
    openApiOf(undefined, undefined, shared),
    openApiOf(undefined, undefined, shared),
  ];
  const packed = async (api: OpenApi) =>
    (await api.handle("/openapi/v3/apis/apps/v1", { acceptEncoding: "gzip" }))?.body;
  const body = await packed(first);
  assert.equal(await packed(second), body);
  assert.notEqual(await packed(openApiOf()), body);
});

test("S1-GEN-26: v3 schemas have the members that kube-apiserver publishes for ConfigMap", async () => {
  const { components } = await parsed("/openapi/v3/api/v1");
  assert.deepEqual(shapeOf(components.schemas["io.k8s.api.core.v1.ConfigMap"]), {
    type: "object",
    properties: {
      kind: { type: "string" },
      apiVersion: { type: "string" },
      metadata: {
        allOf: [{ $ref: `#/components/schemas/${META}.ObjectMeta` }],
        default: {},
      },
      immutable: { type: "boolean" },
      data: { type: "object", additionalProperties: { type: "string", default: "" } },
      binaryData: { type: "object", additionalProperties: { type: "string", format: "byte" } },
    },
    "x-kubernetes-group-version-kind": [{ group: "", kind: "ConfigMap", version: "v1" }],
  });
});

test("S1-GEN-26: lists publish how they merge and which keys tell items apart", async () => {
  const { components } = await parsed("/openapi/v3/api/v1");
  const { properties: pod } = components.schemas["io.k8s.api.core.v1.PodSpec"];
  assert.deepEqual(shapeOf(pod.containers), {
    type: "array",
    items: {
      allOf: [{ $ref: "#/components/schemas/io.k8s.api.core.v1.Container" }],
      default: {},
    },
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "x-kubernetes-patch-strategy": "merge",
    "x-kubernetes-patch-merge-key": "name",
  });
  assert.equal(pod.volumes["x-kubernetes-patch-strategy"], "merge,retainKeys");
  const { properties: service } = components.schemas["io.k8s.api.core.v1.ServiceSpec"];
  assert.deepEqual(service.ports["x-kubernetes-list-map-keys"], ["port", "protocol"]);
  assert.equal(service.ports["x-kubernetes-patch-merge-key"], "port");
  assert.deepEqual(service.type.enum, ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]);
  assert.equal(service.selector["x-kubernetes-map-type"], "atomic");
  const { properties: port } = components.schemas["io.k8s.api.core.v1.ContainerPort"];
  assert.deepEqual(shapeOf(port.protocol), {
    type: "string",
    default: "TCP",
    enum: ["SCTP", "TCP", "UDP"],
  });
  const seccomp = components.schemas["io.k8s.api.core.v1.SeccompProfile"];
  assert.deepEqual(seccomp["x-kubernetes-unions"], [
    {
      discriminator: "type",
      "fields-to-discriminateBy": { localhostProfile: "LocalhostProfile" },
    },
  ]);
});

test("S1-GEN-26: required members, numbers and defaults of a Deployment's parts", async () => {
  const { components } = await parsed("/openapi/v3/apis/apps/v1");
  const spec = components.schemas["io.k8s.api.apps.v1.DeploymentSpec"];
  assert.deepEqual(spec.required, ["selector", "template"]);
  assert.deepEqual(shapeOf(spec.properties.replicas), { type: "integer", format: "int32" });
  assert.deepEqual(shapeOf(spec.properties.strategy), {
    allOf: [{ $ref: "#/components/schemas/io.k8s.api.apps.v1.DeploymentStrategy" }],
    default: {},
    "x-kubernetes-patch-strategy": "retainKeys",
  });
  const condition = components.schemas["io.k8s.api.apps.v1.DaemonSetCondition"];
  assert.deepEqual(condition.required, ["type", "status"]);
  assert.deepEqual(shapeOf(condition.properties.lastTransitionTime), {
    allOf: [{ $ref: `#/components/schemas/${META}.Time` }],
  });
  assert.deepEqual(shapeOf(condition.properties.status), { type: "string", default: "" });
});

test("S1-GEN-26: an int-or-string and a quantity are what both versions of OpenAPI can say", async () => {
  const v2 = (await parsed("/openapi/v2")).definitions;
  const v3 = (await parsed("/openapi/v3/apis/apps/v1")).components.schemas;
  const intOrString = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
  const quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity";
  assert.deepEqual(shapeOf(v2[intOrString]), { type: "string", format: "int-or-string" });
  assert.deepEqual(v3[intOrString].oneOf, [{ type: "integer" }, { type: "string" }]);
  assert.equal(v3[intOrString].format, "int-or-string");
  assert.deepEqual(shapeOf(v2[quantity]), { type: "string" });
  assert.deepEqual(v3[quantity].oneOf, [{ type: "string" }, { type: "number" }]);
});

test("descriptions are words, and what the facts know: enum values, defaults, keys", async () => {
  const { components } = await parsed("/openapi/v3/apis/apps/v1");
  const { properties: spec } = components.schemas["io.k8s.api.apps.v1.DeploymentSpec"];
  assert.equal(spec.replicas.description, "How many pods are wanted. Defaults to 1.");
  assert.equal(spec.paused.description, "Whether changes of the template are left alone for now.");
  const { properties: strategy } = components.schemas["io.k8s.api.apps.v1.DeploymentStrategy"];
  assert.equal(
    strategy.type.description,
    'Recreate, or RollingUpdate. Defaults to "RollingUpdate". Possible enum values:\n - `"Recreate"`\n - `"RollingUpdate"`',
  );
  const { properties: pod } = components.schemas["io.k8s.api.core.v1.PodSpec"];
  assert.equal(
    pod.containers.description,
    "The containers of the pod; at least one. They cannot be added or removed later. " +
      "Items are told apart by name.",
  );
});

test("S1-GEN-26: operations carry action, kind and the parameters that kubectl looks for", async () => {
  const { paths } = await parsed("/openapi/v3/apis/apps/v1");
  const item = paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"];
  assert.deepEqual(Object.keys(item).sort(), ["delete", "get", "parameters", "patch", "put"]);
  const { patch } = item;
  assert.equal(patch.operationId, "patchAppsV1NamespacedDeployment");
  assert.equal(patch["x-kubernetes-action"], "patch");
  assert.deepEqual(patch["x-kubernetes-group-version-kind"], {
    group: "apps",
    kind: "Deployment",
    version: "v1",
  });
  assert.deepEqual(
    patch.parameters.map(({ name }: { name: string }) => name),
    ["dryRun", "fieldManager", "fieldValidation", "force"],
  );
  assert.deepEqual(Object.keys(patch.requestBody.content).sort(), [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
  ]);
  assert.deepEqual(Object.keys(patch.responses), ["200", "201", "401"]);
  const scale = paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"].get;
  assert.equal(scale.operationId, "readAppsV1NamespacedDeploymentScale");
  assert.deepEqual(scale["x-kubernetes-group-version-kind"], {
    group: "autoscaling",
    kind: "Scale",
    version: "v1",
  });
  const all = paths["/apis/apps/v1/deployments"].get;
  assert.equal(all.operationId, "listAppsV1DeploymentForAllNamespaces");
  assert.ok("application/json;stream=watch" in all.responses["200"].content);
});

test("S1-GEN-26: verbs decide which operations exist", async () => {
  const { paths } = await parsed("/openapi/v2");
  const reviews = paths["/apis/authorization.k8s.io/v1/subjectaccessreviews"];
  assert.deepEqual(Object.keys(reviews).sort(), ["parameters", "post"]);
  assert.equal(reviews.post.operationId, "createAuthorizationV1SubjectAccessReview");
  const namespaces = paths["/api/v1/namespaces"];
  assert.deepEqual(Object.keys(namespaces).sort(), ["get", "parameters", "post"]);
  const exec = paths["/api/v1/namespaces/{namespace}/pods/{name}/exec"];
  assert.equal(exec.post.operationId, "connectCoreV1PostNamespacedPodExec");
  const proxy = paths["/api/v1/nodes/{name}/proxy/{path}"];
  assert.equal(proxy.put.operationId, "connectCoreV1PutNodeProxyWithPath");
});

test("S1-GEN-04, S1-GEN-26: watches have paths of their own, as clients that are made from the document need", async () => {
  const { paths } = await parsed("/openapi/v2");
  const watches = (base: string) =>
    Object.keys(paths)
      .filter((path) => path.startsWith(`${base}/watch/`) && /\/(pods|nodes)\b/.test(path))
      .map((path) => [path, paths[path].get.operationId, paths[path].get["x-kubernetes-action"]]);
  assert.deepEqual(watches("/api/v1").sort(), [
    ["/api/v1/watch/namespaces/{namespace}/pods", "watchCoreV1NamespacedPodList", "watchlist"],
    ["/api/v1/watch/namespaces/{namespace}/pods/{name}", "watchCoreV1NamespacedPod", "watch"],
    ["/api/v1/watch/nodes", "watchCoreV1NodeList", "watchlist"],
    ["/api/v1/watch/nodes/{name}", "watchCoreV1Node", "watch"],
    ["/api/v1/watch/pods", "watchCoreV1PodListForAllNamespaces", "watchlist"],
  ]);
  const { get } = paths["/api/v1/watch/pods"];
  assert.match(get.responses["200"].schema.$ref, /WatchEvent$/);
  assert.ok(get.produces.includes("application/json;stream=watch"));
  assert.equal(paths["/apis/authorization.k8s.io/v1/watch/subjectaccessreviews"], undefined);
});

test("S1-GEN-26, S1-DRY-01: what older kubectls look for in v2 stands in the operation itself", async () => {
  const { paths } = await parsed("/openapi/v2");
  const { patch } = paths["/api/v1/namespaces/{namespace}/configmaps/{name}"];
  const names = patch.parameters.flatMap(({ name }: Parsed) => name ?? []);
  assert.deepEqual(names, ["body", "dryRun", "fieldValidation"]);
});

test("operation ids are unique", async () => {
  const { paths } = await parsed("/openapi/v2");
  const ids = Object.values<Parsed>(paths).flatMap((item) =>
    Object.values<Parsed>(item).flatMap(({ operationId }) => operationId ?? []),
  );
  assert.equal(new Set(ids).size, ids.length);
});

test("every reference resolves and every path parameter is declared, in v2 and v3", async () => {
  const { paths } = await parsed("/openapi/v3");
  const documents: Parsed[] = [await parsed("/openapi/v2")];
  for (const { serverRelativeURL } of Object.values<Parsed>(paths)) {
    documents.push(await parsed(serverRelativeURL));
  }
  let references = 0;
  for (const document of documents) {
    for (const reference of referencesIn(document)) {
      references += 1;
      const target = reference
        .slice(2)
        .split("/")
        .reduce((value: Parsed, key) => value?.[key], document);
      assert.ok(target !== undefined, reference);
    }
    for (const [path, item] of Object.entries<Parsed>(document.paths)) {
      const declared = (item.parameters ?? []).map((parameter: Parsed) =>
        parameter.$ref === undefined
          ? parameter.name
          : document.parameters[parameter.$ref.split("/").at(-1)].name,
      );
      for (const [, name] of path.matchAll(/\{(\w+)\}/g)) assert.ok(declared.includes(name), path);
    }
  }
  assert.ok(references > 1000);
});

function* referencesIn(value: JsonValue | undefined): Generator<string> {
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    // A property of that name (a schema of JSON schemas has one) is an object, not a string.
    if (name === "$ref" && typeof member === "string") yield member;
    else yield* referencesIn(member as JsonValue);
  }
}

test("S1-GEN-26: addresses with the right hash are immutable, a wrong hash leads to the right one", async () => {
  const { paths } = await parsed("/openapi/v3");
  const keys = Object.keys(paths);
  for (const key of ["api", "apis", "version", "api/v1", "apis/apps", "apis/apps/v1"]) {
    assert.ok(keys.includes(key), key);
  }
  const address: string = paths["apis/apps/v1"].serverRelativeURL;
  assert.match(address, /^\/openapi\/v3\/apis\/apps\/v1\?hash=[0-9A-F]{128}$/);
  const hashed = await answer(openApi, address);
  assert.equal(hashed.headers["Cache-Control"], "public, immutable, max-age=31536000");
  assert.equal(hashed.headers.ETag, `"${address.split("=")[1]}"`);
  const wrong = await answer(openApi, "/openapi/v3/apis/apps/v1?hash=00");
  assert.equal(wrong.status, 301);
  assert.equal(wrong.headers.Location, address);
  const protobuf = await answer(openApi, address, { accept: V3_PROTOBUF });
  assert.equal(protobuf.headers["Content-Type"], V3_PROTOBUF);
  assert.equal(protobuf.headers.ETag, hashed.headers.ETag);
});

test("A33: the list of parts has one address, and parts have no other ending", async () => {
  for (const path of ["/openapi/v3/", "/openapi/v3//", "/openapi/v3/api/v1/"]) {
    assert.equal(await openApi.handle(path, {}), undefined, path);
  }
});

test("S1-GEN-26: 304 on a known ETag, gzip on request, 406 for what cannot be made", async () => {
  const first = await answer(openApi, "/openapi/v2");
  const again = await answer(openApi, "/openapi/v2", { ifNoneMatch: first.headers.ETag });
  assert.equal(again.status, 304);
  const packed = await answer(openApi, "/openapi/v2", { acceptEncoding: "gzip" });
  assert.equal(packed.headers["Content-Encoding"], "gzip");
  assert.deepEqual(gunzipSync(packed.body), first.body);
  for (const path of ["/openapi/v2", "/openapi/v3/api/v1"]) {
    await assert.rejects(
      openApi.handle(path, { accept: "text/html" }),
      (error) => error instanceof StatusError && error.code === 406,
    );
  }
  assert.equal(await openApi.handle("/openapi/v3/apis/nothing/v1", {}), undefined);
  assert.equal(await openApi.handle("/openapi/v4", {}), undefined);
});

test("what is not served is absent: paths, schemas that nothing else uses, whole parts", async () => {
  const api = openApiOf(
    undefined,
    ({ group, subresource }) => group !== "batch" && subresource !== "scale",
  );
  assert.equal(await api.handle("/openapi/v3/apis/batch/v1", {}), undefined);
  const { paths, definitions } = await parsed("/openapi/v2", api);
  const names = [...Object.keys(paths), ...Object.keys(definitions)];
  assert.deepEqual(
    names.filter((name) => /batch|\/scale$|autoscaling\.v1\.Scale$/.test(name)),
    [],
  );
});

test("another vendor's groups stand in paths, kinds and media types", async () => {
  const api = openApiOf("acme");
  const document = await parsed("/openapi/v3/apis/rbac.authorization.acme.io/v1", api);
  const path = "/apis/rbac.authorization.acme.io/v1/clusterroles";
  const { get } = document.paths[path];
  assert.equal(get.operationId, "listRbacAuthorizationV1ClusterRole");
  assert.equal(get["x-kubernetes-group-version-kind"].group, "rbac.authorization.acme.io");
  assert.ok("application/vnd.acme.protobuf" in get.responses["200"].content);
  assert.doesNotMatch(JSON.stringify(Object.keys(document.paths)), /k8s/);
});

test("building the large document leaves the event loop free in between", async () => {
  const api = openApiOf();
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const sinceMs = process.cpuUsage().user / 1_000;
  // The second request shares the first one's build.
  await Promise.all([answer(api, "/openapi/v2"), answer(api, "/openapi/v2")]);
  isDone = true;
  const workMs = process.cpuUsage().user / 1_000 - sinceMs;
  assert.ok(turns > workMs / 20, `${turns} turns for ${workMs} ms`);
});
