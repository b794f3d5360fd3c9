/**
 * Promises about collections as clients meet them: pages, tables of pages, versions of lists, and that
 * every list has a kind of its own.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { ApiObject } from "./harness/https-client.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";

const SECRETS = "/api/v1/namespaces/pages/secrets";
const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
const COUNT = 7;

interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

describe("lists", () => {
  let server: ServerProcess;
  before(async () => {
    server = await startServer();
    const { client } = server;
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "pages" } };
    (await client.post("/api/v1/namespaces", namespace)).expect(201);
    for (let index = 0; index < COUNT; index++) {
      const object = { apiVersion: "v1", kind: "Secret", metadata: { name: `page-${index}` } };
      (await client.post(SECRETS, object)).expect(201);
    }
  });
  after(() => server[Symbol.asyncDispose]());

  const metaOf = (object: ApiObject) => object.metadata as unknown as ListMeta;

  test("S1-TABLE-04, S1-QP-07, S1-LIM-05: pages have the size asked for, also as tables, and go on where they ended", async () => {
    for (const accept of ["application/json", TABLE]) {
      const names: string[] = [];
      const versions = new Set<string>();
      const left: (number | undefined)[] = [];
      let token = "";
      do {
        const next = token === "" ? "" : `&continue=${encodeURIComponent(token)}`;
        const { object } = (await server.client.get(`${SECRETS}?limit=3${next}`, accept)).expect(
          200,
        );
        assert.equal(object.kind, accept === TABLE ? "Table" : "SecretList");
        const page =
          accept === TABLE
            ? (object.rows as { object: ApiObject }[]).map((row) => row.object)
            : (object.items as ApiObject[]);
        names.push(...page.map(({ metadata }) => metadata.name ?? ""));
        const meta = metaOf(object);
        versions.add(meta.resourceVersion);
        left.push(meta.remainingItemCount);
        token = meta.continue ?? "";
        assert.equal(page.length, token === "" ? 1 : 3);
      } while (token !== "");
      assert.deepEqual(
        names,
        Array.from({ length: COUNT }, (_, index) => `page-${index}`),
      );
      assert.equal(versions.size, 1);
      assert.deepEqual(left, [4, 1, undefined]);
    }
    const broken = await server.client.get(`${SECRETS}?limit=3&continue=broken`);
    broken.expect(400);
  });

  test("S1-RV-30: a client can tell from a list whether its version was kept", async () => {
    const { client } = server;
    const first = metaOf((await client.get(SECRETS)).expect(200).object).resourceVersion;
    const object = { apiVersion: "v1", kind: "Secret", metadata: { name: "later" } };
    (await client.post(SECRETS, object)).expect(201);
    const list = async (query: string) => {
      const answer = (await client.get(`${SECRETS}?${query}`)).expect(200);
      return { version: metaOf(answer.object).resourceVersion, count: answer.items.length };
    };
    // From here on memory has the new one: what is asked for with a version is not read afresh.
    assert.equal((await list("")).count, COUNT + 1);
    // Exact: the version of the answer is the one asked for, with a limit and without.
    for (const limit of ["", "&limit=100"]) {
      const exact = await list(`resourceVersion=${first}&resourceVersionMatch=Exact${limit}`);
      assert.deepEqual(exact, { version: first, count: COUNT });
      const newer = await list(
        `resourceVersion=${first}&resourceVersionMatch=NotOlderThan${limit}`,
      );
      assert.equal(newer.count, COUNT + 1);
      assert.ok(Number(newer.version) > Number(first));
    }
    // Without a match, as servers that do not know the parameter have it.
    const unset = await list(`resourceVersion=${first}`);
    assert.equal(unset.count, COUNT + 1);
    // What is too old is said so, with and without a limit: then a client lists afresh.
    for (const limit of ["", "&limit=100"]) {
      const gone = await client.get(
        `${SECRETS}?resourceVersion=1&resourceVersionMatch=Exact${limit}`,
      );
      assert.ok([200, 410].includes(gone.status), gone.text);
      if (gone.status === 200) assert.equal(metaOf(gone.object).resourceVersion, "1");
    }
    (await client.delete(`${SECRETS}/later`)).expect(200);
  });

  test("S1-VER-03, S1-GEN-15: versions of one type are in one order over all namespaces", async () => {
    const { client } = server;
    const make = async (namespace: string) => {
      const path = `/api/v1/namespaces/${namespace}/secrets`;
      const body = { apiVersion: "v1", kind: "Secret", metadata: { generateName: "v-" } };
      const { metadata } = (await client.post(path, body)).expect(201).object;
      return Number(metadata.resourceVersion);
    };
    const versions: number[] = [];
    for (const namespace of ["pages", "default", "pages", "default"]) {
      versions.push(await make(namespace));
    }
    assert.deepEqual(
      versions,
      [...versions].sort((a, b) => a - b),
    );
    const all = (await client.get("/api/v1/secrets")).expect(200);
    assert.ok(Number(metaOf(all.object).resourceVersion) >= Math.max(...versions));
    const gone = await client.delete(SECRETS);
    assert.equal(gone.expect(200).items.length, COUNT + 2);
    assert.deepEqual((await client.get(SECRETS)).items, []);
  });

  test("S1-GEN-23: no list has the kind List", async () => {
    const { client } = server;
    const groups = (await client.get("/apis")).object.groups as {
      versions: { groupVersion: string }[];
    }[];
    const paths = [
      "/api/v1",
      ...groups
        .flatMap(({ versions }) => versions)
        .map(({ groupVersion }) => `/apis/${groupVersion}`),
    ];
    let lists = 0;
    for (const path of paths) {
      const { resources } = (await client.get(path)).expect(200).object as unknown as {
        resources: { name: string; kind: string; verbs: string[] }[];
      };
      for (const { name, kind, verbs } of resources) {
        assert.notEqual(kind, "List");
        if (!verbs.includes("list")) continue;
        const { object } = (await client.get(`${path}/${name}`)).expect(200);
        assert.equal(object.kind, `${kind}List`, name);
        lists++;
      }
    }
    assert.ok(lists > 50);
  });
});
