/**
 * Names and namespaces that no object can have, in URLs, bodies and selectors: reads and deletes say
 * that there is no such object, writes say what is wrong with the name, and both stores say the same.
 * None of it reaches the store as a key that it cannot hold.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Answer } from "./harness/https-client.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { openStore, STORE_NAMES_OF_SLOW_TESTS, type StoreForTest } from "./harness/stores.js";

const STRANGE_NAMES: readonly string[] = [
  "\0",
  "a\0b",
  "\u0001",
  "line\nbreak",
  "\u007f",
  "\u0085",
  "\ufeff",
  "ä".repeat(400),
  "a".repeat(254),
  "a".repeat(1_901),
  "a".repeat(10_000),
  "😀".repeat(700),
];

const RBAC = "rbac.authorization.k8s.io/v1";

interface Collection {
  readonly path: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly body?: object;
  /** Names of the type are free: only what no store could hold is refused. */
  readonly takes?: readonly string[];
}

const COLLECTIONS: readonly Collection[] = [
  { path: "/api/v1/namespaces/default/configmaps", apiVersion: "v1", kind: "ConfigMap" },
  { path: "/api/v1/namespaces", apiVersion: "v1", kind: "Namespace" },
  {
    path: `/apis/${RBAC}/clusterroles`,
    apiVersion: RBAC,
    kind: "ClusterRole",
    takes: ["\ufeff", "ä".repeat(400), "a".repeat(254)],
  },
  {
    path: `/apis/${RBAC}/namespaces/default/roles`,
    apiVersion: RBAC,
    kind: "Role",
    takes: ["\ufeff", "ä".repeat(400), "a".repeat(254)],
  },
];

const PATCHES = [
  ["application/merge-patch+json", { metadata: { labels: { a: "b" } } }],
  ["application/strategic-merge-patch+json", { metadata: { labels: { a: "b" } } }],
  ["application/json-patch+json", [{ op: "add", path: "/metadata/labels", value: {} }]],
] as const;

for (const storeName of STORE_NAMES_OF_SLOW_TESTS) {
  describe(`strange names on the ${storeName} store`, () => {
    let store: StoreForTest;
    let server: ServerProcess;
    before(async () => {
      store = await openStore(storeName);
      server = await startServer(store.etcd);
    });
    after(async () => {
      await server[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    });

    const send = (method: string, path: string, body?: unknown, type = "application/json") =>
      server.client.request(path, {
        method,
        ...(body === undefined ? {} : { body, headers: { "content-type": type } }),
      });

    for (const collection of COLLECTIONS) {
      const { path, apiVersion, kind } = collection;
      test(`S1-META-01, S1-ERR-01: every verb on ${path}`, async () => {
        for (const name of STRANGE_NAMES) {
          if (collection.takes?.includes(name) === true) continue;
          const url = `${path}/${encodeURIComponent(name)}`;
          const object = { apiVersion, kind, metadata: { name } };
          const shown = `${kind} ${JSON.stringify(name.slice(0, 20))} of ${name.length}`;
          for (const method of ["GET", "DELETE"]) {
            expectStatus(await send(method, url), [404], `${method} ${shown}`);
          }
          for (const [type, patch] of PATCHES) {
            expectStatus(await send("PATCH", url, patch, type), [404], `${type} ${shown}`);
          }
          const apply = await send(
            "PATCH",
            `${url}?fieldManager=me`,
            object,
            "application/apply-patch+yaml",
          );
          expectStatus(apply, [422], `apply ${shown}`);
          for (const dryRun of ["", "?dryRun=All"]) {
            expectStatus(await send("POST", `${path}${dryRun}`, object), [422], `POST ${shown}`);
            expectStatus(await send("PUT", `${url}${dryRun}`, object), [404, 422], `PUT ${shown}`);
          }
          const unnamed = { apiVersion, kind, metadata: { name: null } };
          expectStatus(await send("PUT", url, unnamed), [400], `PUT without name ${shown}`);
          const selector = encodeURIComponent(`metadata.name=${name}`);
          const list = await send("GET", `${path}?fieldSelector=${selector}`);
          assert.equal(list.status, 200, `list ${shown}: ${list.text}`);
          assert.deepEqual(list.items, []);
          const gone = await send("DELETE", `${path}?fieldSelector=${selector}`);
          assert.ok(gone.status === 200 || gone.status === 405, `${shown}: ${gone.text}`);
        }
      });
    }

    test("S1-META-05: every verb in namespaces that cannot be", async () => {
      const { resourceVersion } = (await send("GET", "/api/v1/namespaces")).object.metadata;
      for (const namespace of STRANGE_NAMES) {
        const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps`;
        const shown = `${JSON.stringify(namespace.slice(0, 20))} of ${namespace.length}`;
        const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" } };
        for (const method of ["GET", "DELETE"]) {
          expectStatus(await send(method, `${path}/x`), [404], `${method} in ${shown}`);
        }
        expectStatus(await send("POST", path, object), [404, 422], `POST in ${shown}`);
        expectStatus(await send("PUT", `${path}/x`, object), [404, 422], `PUT in ${shown}`);
        const apply = await send(
          "PATCH",
          `${path}/x?fieldManager=me`,
          object,
          "application/apply-patch+yaml",
        );
        expectStatus(apply, [404, 422], `apply in ${shown}`);
        for (const query of [
          "",
          "?resourceVersion=0",
          "?limit=1",
          `?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`,
          `?resourceVersion=1&resourceVersionMatch=Exact`,
        ]) {
          const list = await send("GET", `${path}${query}`);
          assert.ok(list.status === 200 || list.status === 410, `list in ${shown}: ${list.text}`);
        }
        assert.equal((await send("DELETE", path)).status, 200);
      }
      const [namespace = ""] = STRANGE_NAMES;
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps`;
      (await send("GET", `${path}?watch=1&timeoutSeconds=1&resourceVersion=0`)).expect(200);
    });

    test("S1-META-01: half a character is no part of a name", async () => {
      for (const { path, apiVersion, kind, takes } of COLLECTIONS) {
        expectStatus(await send("GET", `${path}/%ED%A0%80`), [400], `GET ${kind}`);
        const object = `{"apiVersion":"${apiVersion}","kind":"${kind}","metadata":{"name":"a\\ud800"}}`;
        const answer = await send("POST", path, object);
        if (takes === undefined) {
          expectStatus(answer, [422], `POST ${kind}`);
        } else {
          // As everywhere in JSON it is read as the replacement character.
          assert.equal(answer.expect(201).object.metadata.name, "a\ufffd");
        }
      }
    });

    test("S1-META-01: names of roles are nearly free, and found again", async () => {
      for (const { path, apiVersion, kind, takes = [] } of COLLECTIONS) {
        for (const name of [...takes, ...(takes.length > 0 ? ["a b:c", "😀", "system:x"] : [])]) {
          const url = `${path}/${encodeURIComponent(name)}`;
          const object = { apiVersion, kind, metadata: { name } };
          (await send("POST", path, object)).expect(201);
          assert.equal((await send("GET", url)).expect(200).object.metadata.name, name);
          (await send("DELETE", url)).expect(200);
        }
      }
    });
  });
}

function expectStatus(answer: Answer, codes: readonly number[], shown: string): void {
  const said = `${shown}: ${answer.status} ${answer.text.slice(0, 300)}`;
  assert.ok(codes.includes(answer.status), said);
  assert.equal(answer.object.kind, "Status", said);
}
