/** Documents of services are fetched by ETag, cached while unchanged, and stale on failure. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { test } from "node:test";
import { TestAuthority } from "../../e2e/harness/test-authority.js";
import { systemClock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import { NO_IDENTITY } from "../outbound/tls-connections.js";
import type { RemoteService } from "./api-services.js";
import { RemoteDocuments } from "./remote-documents.js";
import { RemoteServer } from "./remote-server.js";
import { RemoteSpecs } from "./remote-specs.js";

const SERVICE: RemoteService = Object.freeze({
  name: "v1.shop.example.com",
  group: "shop.example.com",
  version: "v1",
  namespace: "default",
  service: "shop",
  port: 443,
  caBundle: "",
  skipsVerification: true,
  groupPriority: 1_000,
  versionPriority: 10,
});
const RESOURCES = "/apis/shop.example.com/v1";

/** What else a resource has, and which odd values are none of it. */
const MEMBERS: readonly (readonly [string, (odd: unknown) => boolean])[] = [
  ...["singularName", "kind", "group", "version", "storageVersionHash"].map(
    (name) => [name, (odd: unknown) => odd === null] as const,
  ),
  ["namespaced", (odd) => odd === null],
  ...["verbs", "shortNames", "categories"].map(
    (name) =>
      [name, (odd: unknown) => odd === null || (Array.isArray(odd) && odd.length === 0)] as const,
  ),
];

test("discovery and OpenAPI are asked for by ETag, and are the same value until one changes", async () => {
  const stub = createStub();
  const documents = new RemoteDocuments();
  stub.publish(RESOURCES, resourceList("carts"));
  stub.publish("/openapi/v3", partsWith("1"));
  assert.equal(await documents.refresh(stub.server), true);
  const first = documents.of(SERVICE);
  assert.deepEqual(
    first?.served.facts.map(({ resource }) => resource),
    ["carts"],
  );
  assert.deepEqual([first?.served.freshness, first?.openApiHash], ["Current", "1"]);

  assert.equal(await documents.refresh(stub.server), false);
  assert.equal(documents.of(SERVICE), first);
  assert.deepEqual(stub.answered.splice(0).slice(2), [`304 ${RESOURCES}`, "304 /openapi/v3"]);

  stub.publish("/openapi/v3", partsWith("2"));
  assert.equal(await documents.refresh(stub.server), true);
  assert.equal(documents.of(SERVICE)?.openApiHash, "2");
  stub.publish(RESOURCES, resourceList("carts", "orders"));
  assert.equal(await documents.refresh(stub.server), true);
  assert.equal(documents.of(SERVICE)?.served.facts.length, 2);
  assert.deepEqual(stub.answered, [
    `304 ${RESOURCES}`,
    "200 /openapi/v3",
    `200 ${RESOURCES}`,
    "304 /openapi/v3",
  ]);
});

test("what a service said last is stale as soon as it fails, and current when it answers again", async () => {
  const stub = createStub();
  const documents = new RemoteDocuments();
  await assert.rejects(documents.refresh(stub.server), /^Error: bad status from https:.*: 404$/);
  assert.equal(documents.of(SERVICE), undefined);
  stub.publish(RESOURCES, resourceList("carts"));
  await documents.refresh(stub.server);
  for (const [garbage, expected] of [
    ["{{", /JSON/],
    ['{"kind":"Status"}', /expected an APIResourceList of shop\.example\.com\/v1/],
    [
      " ".repeat(2 * 1024 * 1024),
      /the answer of https:.*\/apis\/shop\.example\.com\/v1 has more than 1048576 bytes/,
    ],
    ...[null, 42, [], {}, [null], [1], { "0": "a" }].flatMap((odd) =>
      MEMBERS.filter(([, isRight]) => !isRight(odd)).map(
        ([member]) =>
          [
            resourceList("carts").replace("}]", `,"${member}":${JSON.stringify(odd)}}]`),
            new RegExp(`a resource: ${member} is of a wrong type`),
          ] as const,
      ),
    ),
    [resourceList("carts").replace(/"resources":.*/, '"resources":[null]}'), /expected an object/],
  ] as const) {
    stub.publish(RESOURCES, garbage);
    await assert.rejects(documents.refresh(stub.server), expected);
    const { served } = documents.of(SERVICE) ?? {};
    assert.deepEqual([served?.freshness, served?.facts.length], ["Stale", 1]);
  }
  stub.publish(RESOURCES, resourceList("carts"));
  assert.equal(await documents.refresh(stub.server), true);
  assert.equal(documents.of(SERVICE)?.served.freshness, "Current");
});

test("CVE-2022-3172: discovery and OpenAPI of a service are asked of it alone, wherever it redirects", async () => {
  const elsewhere: string[] = [];
  const other = createServer(({ url }, response) => {
    elsewhere.push(String(url));
    response.end(resourceList("carts"));
  });
  let status = 302;
  const identity = await (await TestAuthority.create("root")).issue({
    ...{ commonName: "shop", hosts: ["shop.default.svc"], usage: "server" },
  });
  const server = createSecureServer(identity, ({ url }, response) => {
    const { port } = other.address() as AddressInfo;
    response.writeHead(status, { location: `http://127.0.0.1:${port}${url}` }).end();
  });
  for (const one of [other, server]) await once(one.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const remote = new RemoteServer({
    ...{ service: SERVICE, locate: () => ({ host: "127.0.0.1", port }) },
    identity: () => NO_IDENTITY,
  });
  const documents = new RemoteDocuments();
  try {
    for (status of [301, 302, 303, 307, 308]) {
      await assert.rejects(documents.refresh(remote), new RegExp(`bad status from .*: ${status}$`));
      for (const path of ["/openapi/v2", "/openapi/v3"]) {
        assert.equal((await documents.fetch(remote, path, "")).status, status);
      }
    }
    assert.deepEqual(elsewhere, []);
    assert.equal(documents.of(SERVICE), undefined);
  } finally {
    remote.close();
    for (const one of [other, server]) one.close();
  }
});

test("what a service said is kept when it is configured anew, and forgotten when it is another one's", async () => {
  const stub = createStub();
  const documents = new RemoteDocuments();
  stub.publish(RESOURCES, resourceList("carts"));
  await documents.refresh(stub.server);
  const known = documents.of(SERVICE);
  const renewed = { ...SERVICE, caBundle: "another" };
  documents.keepOnly(new Set([renewed]));
  assert.deepEqual([documents.of(SERVICE), documents.of(renewed)], [undefined, known]);
  const moved = { ...renewed, service: "elsewhere" };
  documents.keepOnly(new Set([moved]));
  assert.equal(documents.of(moved), undefined);
});

test("a server is asked once for the OpenAPI v2 of all its group-versions, and a failure leaves what it said", async () => {
  const other = { ...SERVICE, name: "v2.shop.example.com", version: "v2" };
  const all = [SERVICE, other];
  const path = (version: string) => `/apis/shop.example.com/${version}/carts`;
  const document = (...versions: string[]) =>
    JSON.stringify({
      swagger: "2.0",
      paths: Object.fromEntries(versions.map((one) => [path(one), {}])),
    });
  const stub = createStub();
  const documents = new RemoteDocuments();
  let nowMs = 0;
  const specs = new RemoteSpecs({
    fetch: (remote, asked, etag) => documents.fetch(remote, asked, etag),
    serverOf: () => stub.server,
    clock: { ...systemClock, monotonic: () => nowMs },
    logger: silentLogger,
  });
  const refreshAll = async () => {
    nowMs += 30_000;
    for (const service of all) await specs.refresh(service, all);
    return stub.answered.splice(0);
  };
  stub.publish("/openapi/v2", document("v1", "v2", "v3"));
  assert.deepEqual(await refreshAll(), ["200 /openapi/v2"]);
  const first = specs.current;
  assert.deepEqual(
    first.map(({ paths }) => [...paths.keys()]),
    [[path("v1")], [path("v2")]],
  );
  assert.deepEqual(await refreshAll(), ["304 /openapi/v2"]);
  assert.equal(specs.current, first);
  stub.publish("/openapi/v2", "{{");
  await refreshAll();
  assert.equal(specs.current, first);
  stub.publish("/openapi/v2", document("v1"));
  await refreshAll();
  assert.deepEqual(
    specs.current.map(({ paths }) => paths.size),
    [1, 0],
  );
  specs.keepOnly([]);
  assert.deepEqual(specs.current, []);
});

/** A server that answers with what is published, by ETag. */
function createStub() {
  const bodies = new Map<string, { body: string; etag: string }>();
  const answered: string[] = [];
  let count = 0;
  const request = async ({ path, headers }: { path: string; headers: string[] }) => {
    const found = bodies.get(path);
    const sent = headers[headers.indexOf("if-none-match") + 1];
    const isKnown = headers.includes("if-none-match") && sent === found?.etag;
    const statusCode = found === undefined ? 404 : isKnown ? 304 : 200;
    answered.push(`${statusCode} ${path}`);
    const body = Readable.from(statusCode === 200 ? [Buffer.from(found?.body ?? "")] : []);
    return { statusCode, headers: { etag: found?.etag }, body };
  };
  return {
    answered,
    publish: (path: string, body: string) => bodies.set(path, { body, etag: `"${++count}"` }),
    server: {
      service: SERVICE,
      url: "https://10.0.0.1:443",
      pool: () => ({ request }),
    } as unknown as RemoteServer,
  };
}

function resourceList(...names: string[]): string {
  const resources = names.map((name) => ({ name, kind: name, namespaced: true, verbs: ["get"] }));
  return JSON.stringify({
    kind: "APIResourceList",
    groupVersion: "shop.example.com/v1",
    resources,
  });
}

function partsWith(hash: string): string {
  const serverRelativeURL = `/openapi/v3/apis/shop.example.com/v1?hash=${hash}`;
  return JSON.stringify({ paths: { "apis/shop.example.com/v1": { serverRelativeURL } } });
}
