/**
 * Discovery as clients see it: the documents of kube-apiserver for well-known types, and the
 * choice between the two forms.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import type { JsonObject } from "../../api/meta.js";
import { createNaming } from "../../api/naming.js";
import { StatusError } from "../../api/status.js";
import { API_RELEASE } from "../../schema/lifecycle.js";
import type { ResourceFact } from "../../schema/model.js";
import { servedByDefault } from "../testing/served-by-default.js";
import { toApiGroupDiscoveryList } from "./aggregated.js";
import { createDiscovery, type Discovery } from "./discovery.js";
import { type DocumentHeaders, documentHeaders, gatherBody } from "./document.js";

const ALL_VERBS = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
];

function discoveryOf(vendor?: string, isServed?: (fact: ResourceFact) => boolean): Discovery {
  return createDiscovery({
    releases: { emulated: API_RELEASE, minCompatibility: API_RELEASE },
    ...servedByDefault(vendor, isServed),
    build: { version: "0.1.0", commit: "abc", buildDate: "2026-01-02T03:04:05Z" },
    serverAddress: () => "127.0.0.1:6443",
    otherPaths: ["/healthz"],
  });
}

async function answer(discovery: Discovery, path: string, headers: DocumentHeaders = {}) {
  const response = await discovery.handle(path, headers);
  assert.ok(response !== undefined, `${path} is served`);
  return { ...response, body: await gatherBody(response.body) };
}

async function json(discovery: Discovery, path: string, accept?: string): Promise<JsonObject> {
  const { body } = await answer(discovery, path, { accept });
  return JSON.parse(body.toString());
}

function itemNamed(list: JsonObject, member: string, key: string, name: string): unknown {
  const items = list[member] as JsonObject[];
  return items.find((item) => item[key] === name);
}

test("S1-GEN-24: /api and /apis list the versions and groups, preferred first", async () => {
  const discovery = discoveryOf();
  assert.deepEqual(await json(discovery, "/api"), {
    kind: "APIVersions",
    versions: ["v1"],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: "127.0.0.1:6443" }],
  });
  const groups = await json(discovery, "/apis");
  const names = (groups.groups as JsonObject[]).map(({ name }) => name);
  assert.deepEqual(names.slice(0, 3), ["apiregistration.k8s.io", "apps", "events.k8s.io"]);
  const autoscaling = {
    name: "autoscaling",
    versions: [
      { groupVersion: "autoscaling/v2", version: "v2" },
      { groupVersion: "autoscaling/v1", version: "v1" },
    ],
    preferredVersion: { groupVersion: "autoscaling/v2", version: "v2" },
  };
  assert.deepEqual(itemNamed(groups, "groups", "name", "autoscaling"), autoscaling);
  assert.deepEqual(await json(discovery, "/apis/autoscaling/"), {
    kind: "APIGroup",
    apiVersion: "v1",
    ...autoscaling,
  });
});

test("S1-GEN-06: a resource list maps resource names to kinds, in kube-apiserver's members and order", async () => {
  const list = await json(discoveryOf(), "/api/v1");
  assert.deepEqual(Object.keys(list), ["kind", "groupVersion", "resources"]);
  assert.equal(list.groupVersion, "v1");
  const names = (list.resources as JsonObject[]).map(({ name }) => String(name));
  assert.deepEqual(names, names.toSorted());
  assert.equal(
    JSON.stringify(itemNamed(list, "resources", "name", "configmaps")),
    JSON.stringify({
      name: "configmaps",
      singularName: "configmap",
      namespaced: true,
      kind: "ConfigMap",
      verbs: ALL_VERBS,
      shortNames: ["cm"],
      storageVersionHash: "qFsyl6wFWjQ=",
    }),
  );
  assert.deepEqual(itemNamed(list, "resources", "name", "pods/eviction"), {
    name: "pods/eviction",
    singularName: "",
    namespaced: true,
    group: "policy",
    version: "v1",
    kind: "Eviction",
    verbs: ["create"],
  });
});

test("S1-PATH-13, S2-VERS-05: named groups carry apiVersion, subresources their own verbs", async () => {
  const list = await json(discoveryOf(), "/apis/apps/v1");
  assert.equal(list.apiVersion, "v1");
  assert.equal(list.groupVersion, "apps/v1");
  assert.deepEqual(itemNamed(list, "resources", "name", "deployments"), {
    name: "deployments",
    singularName: "deployment",
    namespaced: true,
    kind: "Deployment",
    verbs: ALL_VERBS,
    shortNames: ["deploy"],
    categories: ["all"],
    storageVersionHash: "8aSe+NMegvE=",
  });
  assert.deepEqual(itemNamed(list, "resources", "name", "deployments/scale"), {
    name: "deployments/scale",
    singularName: "",
    namespaced: true,
    group: "autoscaling",
    version: "v1",
    kind: "Scale",
    verbs: ["get", "patch", "update"],
  });
});

const V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const V2BETA1 = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

test("S1-GEN-25: the aggregated form nests subresources and says that it is current", async () => {
  const discovery = discoveryOf();
  const { headers, body } = await answer(discovery, "/apis", {
    accept: `${V2},${V2BETA1},application/json`,
  });
  assert.equal(headers["Content-Type"], V2);
  const list = JSON.parse(body.toString());
  assert.equal(list.kind, "APIGroupDiscoveryList");
  assert.equal(list.apiVersion, "apidiscovery.k8s.io/v2");
  const apps = list.items.find((item: JsonObject) => (item.metadata as JsonObject).name === "apps");
  assert.equal(apps.versions[0].freshness, "Current");
  const deployments = itemNamed(apps.versions[0], "resources", "resource", "deployments");
  assert.deepEqual(deployments, {
    resource: "deployments",
    responseKind: { group: "", version: "", kind: "Deployment" },
    scope: "Namespaced",
    singularResource: "deployment",
    verbs: ALL_VERBS,
    shortNames: ["deploy"],
    categories: ["all"],
    subresources: [
      {
        subresource: "scale",
        responseKind: { group: "autoscaling", version: "v1", kind: "Scale" },
        verbs: ["get", "patch", "update"],
      },
      {
        subresource: "status",
        responseKind: { group: "", version: "", kind: "Deployment" },
        verbs: ["get", "patch", "update"],
      },
    ],
  });
  const core = JSON.parse((await answer(discovery, "/api", { accept: V2BETA1 })).body.toString());
  assert.equal(core.apiVersion, "apidiscovery.k8s.io/v2beta1");
  assert.equal(core.items.length, 1);
});

test("S1-GEN-25: a version whose server has not answered yet has no resources, not none", () => {
  const stale = {
    group: "a",
    version: "v1",
    resources: [],
    facts: [],
    freshness: "Stale" as const,
  };
  const list = toApiGroupDiscoveryList(createNaming("kubernetes"), "v2", [
    { name: "a", versions: [stale] },
  ]);
  assert.deepEqual(list.items, [
    { metadata: { name: "a" }, versions: [{ version: "v1", freshness: "Stale" }] },
  ]);
});

test("S1-GEN-25: the Accept header chooses the form, best quality first", async () => {
  const discovery = discoveryOf();
  const cases: readonly (readonly [string | undefined, string])[] = [
    [undefined, "application/json"],
    ["*/*", "application/json"],
    ["application/json, */*", "application/json"],
    [`application/json;q=0.5,${V2};q=0.9`, V2],
    [`${V2};q=0,application/json`, "application/json"],
    [
      "application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList,application/json",
      "application/json",
    ],
    ["application/yaml", "application/yaml"],
  ];
  for (const [accept, expected] of cases) {
    const { headers } = await answer(discovery, "/apis", { accept });
    assert.equal(headers["Content-Type"], expected, accept);
  }
  const plain = await answer(discovery, "/apis/apps/v1", { accept: `${V2},application/json` });
  assert.equal(plain.headers["Content-Type"], "application/json");
});

test("an Accept header that nothing satisfies is answered with 406", async () => {
  const discovery = discoveryOf();
  for (const accept of ["text/html", "application/json;as=Table;g=meta.k8s.io;v=v1"]) {
    await assert.rejects(
      discovery.handle("/apis", { accept }),
      (error) => error instanceof StatusError && error.code === 406,
    );
  }
});

test("S1-GEN-25: a client that has the document gets 304 without a body", async () => {
  const discovery = discoveryOf();
  const first = await answer(discovery, "/apis", { accept: V2 });
  assert.match(first.headers.ETag ?? "", /^"[0-9A-F]{128}"$/);
  assert.match(first.headers.Vary ?? "", /^Accept\b/);
  for (const ifNoneMatch of [first.headers.ETag, `"x", W/${first.headers.ETag}`, "*"]) {
    const again = await answer(discovery, "/apis", { accept: V2, ifNoneMatch });
    assert.equal(again.status, 304);
    assert.equal(again.body.length, 0);
    assert.equal(again.headers.ETag, first.headers.ETag);
  }
  const legacy = await answer(discovery, "/apis", { ifNoneMatch: first.headers.ETag });
  assert.equal(legacy.status, 200);
});

test("large documents are compressed for those who accept it", async () => {
  const discovery = discoveryOf();
  const plain = await answer(discovery, "/api/v1");
  const packed = await answer(discovery, "/api/v1", { acceptEncoding: "br, gzip;q=0.8" });
  assert.equal(packed.headers["Content-Encoding"], "gzip");
  assert.deepEqual(gunzipSync(packed.body), plain.body);
  const refused = await answer(discovery, "/api/v1", { acceptEncoding: "gzip;q=0, *" });
  assert.equal(refused.headers["Content-Encoding"], undefined);
});

test("the headers that matter are taken from a Node request", () => {
  const headers = { accept: "a/b", "if-none-match": '"x"', "accept-encoding": "gzip", host: "h" };
  assert.deepEqual(documentHeaders(headers), {
    accept: "a/b",
    ifNoneMatch: '"x"',
    acceptEncoding: "gzip",
    isForPeople: false,
  });
});

test("S1-QP-14: people get discovery indented, and never compressed; the version always so", async () => {
  const discovery = discoveryOf();
  const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  for (const [path, headers] of [
    ["/api/v1", {}],
    ["/apis", { acceptEncoding: "gzip" }],
    ["/apis", { accept }],
  ] as const) {
    const plain = await answer(discovery, path, { ...headers, acceptEncoding: "identity" });
    const indented = await answer(discovery, path, { ...headers, isForPeople: true });
    const text = indented.body.toString();
    assert.equal(text, JSON.stringify(JSON.parse(plain.body.toString()), null, 2));
    const length = String(indented.body.length);
    assert.deepEqual(indented.headers, { ...plain.headers, "Content-Length": length });
  }
  for (const path of ["/version", "/"]) {
    const { body } = await answer(discovery, path);
    assert.match(body.toString(), /^\{\n {2}"/);
  }
});

test("what is not served is absent from every form", async () => {
  const discovery = discoveryOf(
    undefined,
    ({ group, subresource }) => group !== "batch" && subresource !== "scale",
  );
  assert.equal(await discovery.handle("/apis/batch", {}), undefined);
  assert.equal(await discovery.handle("/apis/batch/v1", {}), undefined);
  for (const path of ["/apis", "/apis/apps/v1", "/"]) {
    const text = JSON.stringify(await json(discovery, path));
    assert.doesNotMatch(text, /batch|scale"/, path);
  }
  const aggregated = await answer(discovery, "/apis", { accept: V2 });
  assert.doesNotMatch(aggregated.body.toString(), /batch|"scale"/);
  assert.equal(await discovery.handle("/api/v1/configmaps", {}), undefined);
});

test("another vendor's groups and media types replace the default ones", async () => {
  const discovery = discoveryOf("acme");
  const text = JSON.stringify(await json(discovery, "/apis"));
  assert.match(text, /rbac\.authorization\.acme\.io/);
  assert.doesNotMatch(text, /k8s/);
  const accept = "application/json;g=apidiscovery.acme.io;v=v2;as=APIGroupDiscoveryList";
  const { headers, body } = await answer(discovery, "/apis", { accept });
  assert.equal(headers["Content-Type"], accept);
  assert.doesNotMatch(body.toString(), /k8s/);
  await assert.rejects(discovery.handle("/apis", { accept: V2 }), StatusError);
});

test("S1-GEN-24: /version names the release that clients compare with, and the build", async () => {
  const version = await json(discoveryOf(), "/version");
  assert.equal(version.major, "1");
  assert.equal(version.minor, "36");
  assert.equal(version.gitVersion, "v1.36.0+keelson.0.1.0");
  assert.equal(version.gitCommit, "abc");
  assert.equal(version.buildDate, "2026-01-02T03:04:05Z");
  assert.equal(version.goVersion, `node-${process.version}`);
});

test("the root lists the served paths in order", async () => {
  const { paths } = (await json(discoveryOf(), "/", "text/html")) as { paths: string[] };
  assert.deepEqual(paths, paths.toSorted());
  for (const path of ["/api", "/api/v1", "/apis/apps", "/apis/apps/v1", "/healthz", "/version"]) {
    assert.ok(paths.includes(path), path);
  }
});
