/** RequestInfo: method and URL to the API's terms. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { StatusError } from "../api/status.js";
import { isLongRunning, isReadOnly, originForm, parseRequestInfo } from "./request-info.js";

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

/** Method and URL; then verb, group and version, resource with its subresource, namespace, name, the path below. */
const RESOURCES: readonly (readonly string[])[] = [
  ["GET", "/api/v1/namespaces", "list", "v1", "namespaces"],
  ["GET", "/api/v1/namespaces/a", "get", "v1", "namespaces", "a", "a"],
  ["PUT", "/api/v1/namespaces/a/status", "update", "v1", "namespaces/status", "a", "a"],
  ["PUT", "/api/v1/namespaces/a/finalize", "update", "v1", "namespaces/finalize", "a", "a"],
  ["GET", "/api/v1/namespaces/a/pods", "list", "v1", "pods", "a"],
  ["GET", "/api/v1/namespaces/a/pods/", "list", "v1", "pods", "a"],
  ["HEAD", "/api/v1/namespaces/a/pods/b", "get", "v1", "pods", "a", "b"],
  ["GET", "/api/v1/namespaces/a/pods/b/log", "get", "v1", "pods/log", "a", "b"],
  ["GET", "/api/v1/namespaces/a/pods/b/proxy/x/y", "get", "v1", "pods/proxy", "a", "b", "/x/y"],
  ["GET", "/api/v1/pods", "list", "v1", "pods"],
  ["POST", "/api/v1/namespaces/a/pods", "create", "v1", "pods", "a"],
  ["PATCH", "/apis/batch/v1/namespaces/a/jobs/b", "patch", "batch/v1", "jobs", "a", "b"],
  ["DELETE", "/apis/batch/v1/namespaces/a/jobs/b", "delete", "batch/v1", "jobs", "a", "b"],
  ["DELETE", "/apis/batch/v1/namespaces/a/jobs", "deletecollection", "batch/v1", "jobs", "a"],
  ["GET", "/apis/apps/v1/deployments", "list", "apps/v1", "deployments"],
  ["GET", "/api/v1/watch/pods", "watch", "v1", "pods"],
  ["GET", "/api/v1/watch/namespaces/a/pods/b", "watch", "v1", "pods", "a", "b"],
  ["GET", "/api/v1/watch", "list", "v1", "watch"],
  [
    "GET",
    "/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Db",
    "list",
    "v1",
    "pods",
    "a",
    "b",
  ],
  [
    "GET",
    "/api/v1/pods?watch=1&fieldSelector=spec.nodeName=n,metadata.name==b",
    "watch",
    "v1",
    "pods",
    "",
    "b",
  ],
  ["GET", "/api/v1/pods?fieldSelector=metadata.name!=b", "list", "v1", "pods"],
  ["GET", "/api/v1/pods?fieldSelector=metadata.name=..", "list", "v1", "pods"],
  ["GET", "/api/v1/namespaces/a%2Fpods", "list", "v1", "pods", "a"],
  ["OPTIONS", "/api/v1/pods", "", "v1", "pods"],
];

test("S1-PATH-01..09, S1-GEN-17, S2-AZ-11..14: a resource's URL has its parts and its verb", () => {
  for (const row of RESOURCES) {
    const [method = "", url = "", verb = "", groupVersion = "", path = "", ...below] = row;
    const [version, group = ""] = groupVersion.split("/").reverse();
    const [resource, subresource = ""] = path.split("/");
    const [namespace = "", name = "", subpath = ""] = below;
    const {
      query: _,
      depth: __,
      isLegacyPath: ___,
      path: ____,
      ...info
    } = parseRequestInfo(method, url);
    const apiPrefix = group === "" ? "api" : "apis";
    const parts = { apiPrefix, group, version, resource, subresource, namespace, name, subpath };
    assert.deepEqual(info, { isResourceRequest: true, method, verb, ...parts }, `${method} ${url}`);
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

test("a target in absolute form is its path, and what is neither a path nor a URL is known as that", () => {
  assert.equal(originForm("https://example.test/version?x"), "/version?x");
  assert.equal(originForm("https://example.test?x"), "/?x");
  assert.equal(originForm("/a//b"), "/a//b");
  assert.equal(originForm("*"), "*");
  assert.deepEqual(["garbage", ""].map(originForm), [undefined, undefined]);
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
      // kube-apiserver has the same ambiguity for a namespace named like a subresource of namespaces.
      assert.equal(info.namespace, namespace);
      assert.equal(info.name, name);
      assert.equal(info.query.get("fieldManager"), value);
    }),
  );
});
