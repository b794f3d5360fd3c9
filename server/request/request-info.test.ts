/** RequestInfo: method and URL to the API's terms. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { StatusError } from "../api/status.js";
import { isLongRunning, isReadOnly, parseRequestInfo, type RequestInfo } from "./request-info.js";

const NOTHING = {
  apiPrefix: "",
  group: "",
  version: "",
  namespace: "",
  resource: "",
  subresource: "",
  name: "",
  subpath: "",
};

type Expected = Partial<Omit<RequestInfo, "query">>;

/** method, URL, what is expected beyond NOTHING */
const RESOURCES: readonly [string, string, Expected][] = [
  [
    "GET",
    "/api/v1/namespaces",
    { verb: "list", apiPrefix: "api", version: "v1", resource: "namespaces" },
  ],
  [
    "GET",
    "/api/v1/namespaces/a",
    {
      verb: "get",
      apiPrefix: "api",
      version: "v1",
      resource: "namespaces",
      namespace: "a",
      name: "a",
    },
  ],
  [
    "PUT",
    "/api/v1/namespaces/a/status",
    {
      verb: "update",
      apiPrefix: "api",
      version: "v1",
      resource: "namespaces",
      namespace: "a",
      name: "a",
      subresource: "status",
    },
  ],
  [
    "PUT",
    "/api/v1/namespaces/a/finalize",
    {
      verb: "update",
      apiPrefix: "api",
      version: "v1",
      resource: "namespaces",
      namespace: "a",
      name: "a",
      subresource: "finalize",
    },
  ],
  [
    "GET",
    "/api/v1/namespaces/a/pods",
    { verb: "list", apiPrefix: "api", version: "v1", resource: "pods", namespace: "a" },
  ],
  [
    "GET",
    "/api/v1/namespaces/a/pods/",
    { verb: "list", apiPrefix: "api", version: "v1", resource: "pods", namespace: "a" },
  ],
  [
    "HEAD",
    "/api/v1/namespaces/a/pods/b",
    { verb: "get", apiPrefix: "api", version: "v1", resource: "pods", namespace: "a", name: "b" },
  ],
  [
    "GET",
    "/api/v1/namespaces/a/pods/b/log",
    {
      verb: "get",
      apiPrefix: "api",
      version: "v1",
      resource: "pods",
      namespace: "a",
      name: "b",
      subresource: "log",
    },
  ],
  [
    "GET",
    "/api/v1/namespaces/a/pods/b/proxy/x/y",
    {
      verb: "get",
      apiPrefix: "api",
      version: "v1",
      resource: "pods",
      namespace: "a",
      name: "b",
      subresource: "proxy",
      subpath: "/x/y",
    },
  ],
  ["GET", "/api/v1/pods", { verb: "list", apiPrefix: "api", version: "v1", resource: "pods" }],
  [
    "POST",
    "/api/v1/namespaces/a/pods",
    { verb: "create", apiPrefix: "api", version: "v1", resource: "pods", namespace: "a" },
  ],
  [
    "PATCH",
    "/apis/apps/v1/namespaces/a/deployments/b",
    {
      verb: "patch",
      apiPrefix: "apis",
      group: "apps",
      version: "v1",
      resource: "deployments",
      namespace: "a",
      name: "b",
    },
  ],
  [
    "DELETE",
    "/apis/apps/v1/namespaces/a/deployments/b",
    {
      verb: "delete",
      apiPrefix: "apis",
      group: "apps",
      version: "v1",
      resource: "deployments",
      namespace: "a",
      name: "b",
    },
  ],
  [
    "DELETE",
    "/apis/apps/v1/namespaces/a/deployments",
    {
      verb: "deletecollection",
      apiPrefix: "apis",
      group: "apps",
      version: "v1",
      resource: "deployments",
      namespace: "a",
    },
  ],
  [
    "GET",
    "/apis/apps/v1/deployments",
    { verb: "list", apiPrefix: "apis", group: "apps", version: "v1", resource: "deployments" },
  ],
  [
    "GET",
    "/api/v1/watch/pods",
    { verb: "watch", apiPrefix: "api", version: "v1", resource: "pods" },
  ],
  [
    "GET",
    "/api/v1/watch/namespaces/a/pods/b",
    { verb: "watch", apiPrefix: "api", version: "v1", resource: "pods", namespace: "a", name: "b" },
  ],
  ["GET", "/api/v1/watch", { verb: "list", apiPrefix: "api", version: "v1", resource: "watch" }],
  [
    "GET",
    "/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Db",
    { verb: "list", apiPrefix: "api", version: "v1", resource: "pods", namespace: "a", name: "b" },
  ],
  [
    "GET",
    "/api/v1/pods?watch=1&fieldSelector=spec.nodeName=n,metadata.name==b",
    { verb: "watch", apiPrefix: "api", version: "v1", resource: "pods", name: "b" },
  ],
  [
    "GET",
    "/api/v1/pods?fieldSelector=metadata.name!=b",
    { verb: "list", apiPrefix: "api", version: "v1", resource: "pods" },
  ],
  [
    "GET",
    "/api/v1/pods?fieldSelector=metadata.name=..",
    { verb: "list", apiPrefix: "api", version: "v1", resource: "pods" },
  ],
  [
    "GET",
    "/api/v1/namespaces/a%2Fpods",
    { verb: "list", apiPrefix: "api", version: "v1", resource: "pods", namespace: "a" },
  ],
  ["OPTIONS", "/api/v1/pods", { verb: "", apiPrefix: "api", version: "v1", resource: "pods" }],
];

test("S1-PATH-01..09, S1-GEN-17, S2-AZ-11..14: a resource's URL has its parts and its verb", () => {
  for (const [method, url, expected] of RESOURCES) {
    const {
      query: _,
      depth: __,
      isLegacyPath: ___,
      path: ____,
      ...info
    } = parseRequestInfo(method, url);
    assert.deepEqual(
      info,
      { ...NOTHING, isResourceRequest: true, method, ...expected },
      `${method} ${url}`,
    );
  }
});

test("S2-AZ-15: other paths are no resources and their verb is the method in lower case", () => {
  for (const [method, url, verb, path] of [
    ["GET", "/", "get", "/"],
    ["GET", "/healthz", "get", "/healthz"],
    ["POST", "/foo", "post", "/foo"],
    ["HEAD", "/livez/ping?verbose", "head", "/livez/ping"],
    ["GET", "/api", "get", "/api"],
    ["GET", "/api/v1", "get", "/api/v1"],
    ["GET", "/apis/apps", "get", "/apis/apps"],
    ["GET", "/apis/apps/v1/", "get", "/apis/apps/v1/"],
    ["GET", "/apix/v1/pods", "get", "/apix/v1/pods"],
    ["GET", "https://example.test/version?x", "get", "/version"],
    ["GET", "/m%C3%A9trics", "get", "/métrics"],
  ] as const) {
    const { query: _, ...info } = parseRequestInfo(method, url);
    assert.deepEqual(
      info,
      { ...NOTHING, isResourceRequest: false, method, verb, path, depth: 0, isLegacyPath: false },
      url,
    );
  }
});

test("S1-QP-01, S1-GEN-16: three spellings of watch make a list a watch; 0 and false do not", () => {
  for (const spelling of [
    "watch=1",
    "watch",
    "watch=",
    "watch=true",
    "watch=yes",
    "a=b&watch=True",
  ]) {
    assert.equal(parseRequestInfo("GET", `/api/v1/pods?${spelling}`).verb, "watch", spelling);
  }
  for (const spelling of ["", "watch=0", "watch=false", "watch=FALSE", "watching=1"]) {
    assert.equal(parseRequestInfo("GET", `/api/v1/pods?${spelling}`).verb, "list", spelling);
  }
  assert.equal(parseRequestInfo("GET", "/api/v1/namespaces/a/pods/b?watch=1").verb, "get");
});

test("malformed percent-encoding anywhere in the URL is a 400", () => {
  for (const url of [
    "/api/v1/pods/%",
    "/%zz",
    "/%ff",
    "/api/v1/pods?labelSelector=%",
    "/?%e0%a4=1",
  ]) {
    assert.throws(
      () => parseRequestInfo("GET", url),
      (error) => error instanceof StatusError && error.code === 400,
      url,
    );
  }
});

test("watches, proxies and streaming subresources are long-running; only verbs that read are read-only", () => {
  const infoOf = (method: string, url: string) => parseRequestInfo(method, url);
  assert.equal(isLongRunning(infoOf("GET", "/api/v1/pods?watch=1")), true);
  assert.equal(isLongRunning(infoOf("GET", "/api/v1/namespaces/a/pods/b/log")), true);
  assert.equal(isLongRunning(infoOf("GET", "/api/v1/namespaces/a/pods/b")), false);
  assert.equal(isReadOnly(infoOf("GET", "/api/v1/pods")), true);
  assert.equal(isReadOnly(infoOf("DELETE", "/api/v1/pods")), false);
  assert.equal(isReadOnly(infoOf("POST", "/anything")), false);
});

test("any text as a URL gives an info or a StatusError, and names come out as they went in", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), fc.string(), (url, method) => {
      try {
        parseRequestInfo(method, url);
      } catch (error) {
        assert.ok(error instanceof StatusError);
      }
    }),
  );
  const segment = fc
    .string({ unit: "grapheme", minLength: 1 })
    .filter((text) => !text.includes("/"));
  fc.assert(
    fc.property(segment, segment, segment, (namespace, name, value) => {
      const encoded = [namespace, name, value].map(encodeURIComponent);
      const url = `/api/v1/namespaces/${encoded[0]}/configmaps/${encoded[1]}?fieldManager=${encoded[2]}`;
      const info = parseRequestInfo("GET", url);
      // Upstream has the same ambiguity for a namespace named like a subresource of namespaces.
      assert.equal(info.namespace, namespace);
      assert.equal(info.name, name);
      assert.equal(info.query.get("fieldManager"), value);
    }),
  );
});
