/** The v2 document with other servers' parts: names, and the definitions taken over. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import { type Entries, entriesOf, type OpenApiDocument } from "./documents.js";
import { mergeV2, partBelow } from "./merge-v2.js";
import type { SchemaObject } from "./schema-object.js";

const ref = (name: string) => ({ $ref: `#/definitions/${name}` });
const size = (description: string) => ({ type: "integer", description });
const get = (name: string, parameters: JsonObject[] = []): JsonObject => ({
  get: { parameters, responses: { "200": { description: "OK", schema: ref(name) } } },
});

function ours(definitions: Record<string, JsonObject>, parameters: JsonObject = {}) {
  const sorted = Object.entries(definitions).sort(([a], [b]) => (a < b ? -1 : 1));
  const schemas = new Map(sorted) as unknown as ReadonlyMap<string, SchemaObject>;
  return {
    version: "v2",
    head: { swagger: "2.0", parameters },
    paths: entriesOf([["/apis/own/v1/widgets", get("Widget")]]),
    schemas: entriesOf(schemas),
    schemaOf: (name) => schemas.get(name),
  } satisfies OpenApiDocument;
}

function theirs(definitions: JsonObject, paths: JsonObject, parameters: JsonObject = {}) {
  return partBelow({ swagger: "2.0", paths, definitions, parameters }, "/apis/other/v1/");
}

async function plain({ paths, schemas, head }: OpenApiDocument) {
  return {
    paths: await gathered(paths),
    schemas: Object.fromEntries(await gathered(schemas)) as Record<string, JsonValue>,
    parameters: head.parameters,
  };
}

async function gathered<Value>(entries: Entries<Value>): Promise<Map<string, Value>> {
  const found = new Map<string, Value>();
  for await (const [name, value] of entries) found.set(name, value);
  assert.deepEqual([...found.keys()], [...found.keys()].sort());
  return found;
}

test("of another server's document only what is below its group-version is taken, with what that refers to", () => {
  const part = theirs(
    { Car: { properties: { wheel: ref("Wheel") } }, Wheel: {}, Unused: {}, Loop: ref("Loop") },
    {
      "/apis/other/v1/cars": get("Car", [{ $ref: "#/parameters/limit" }]),
      "/apis/other/v12/cars": get("Unused"),
      "/api/v1/pods": get("Loop"),
    },
    { limit: { name: "limit", in: "query" }, unused: {} },
  );

  assert.deepEqual([...part.paths.keys()], ["/apis/other/v1/cars"]);
  assert.deepEqual([...part.definitions.keys()].sort(), ["Car", "Wheel"]);
  assert.deepEqual([...part.parameters.keys()], ["limit"]);
});

test("a definition that says the same is shared, one that says something else gets another name", async () => {
  const kind = (group: string) => [{ group, version: "v1", kind: "Meta" }];
  const merged = await plain(
    mergeV2(
      ours({
        Meta: { type: "object", "x-kubernetes-group-version-kind": kind("own") },
        Widget: { properties: { size: size("ours"), meta: ref("Meta") } },
      }),
      [
        theirs(
          {
            Meta: { type: "object", "x-kubernetes-group-version-kind": kind("other") },
            Widget: { properties: { size: size("theirs"), meta: ref("Meta") } },
          },
          { "/apis/other/v1/widgets": get("Widget") },
        ),
      ],
    ),
  );

  assert.deepEqual(Object.keys(merged.schemas), ["Meta", "Widget", "Widget_v2"]);
  assert.deepEqual(merged.schemas.Widget_v2, {
    properties: { size: size("theirs"), meta: ref("Meta") },
  });
  assert.deepEqual(merged.schemas.Meta, {
    type: "object",
    "x-kubernetes-group-version-kind": [...kind("own"), ...kind("other")],
  });
  assert.deepEqual([...merged.paths.keys()], ["/apis/other/v1/widgets", "/apis/own/v1/widgets"]);
});

test("a definition that is the same but refers to one that is not gets another name as well", async () => {
  const list = { items: ref("Item") };
  const document = mergeV2(ours({ List: list, Item: size("ours") }), [
    theirs({ List: list, Item: size("theirs") }, { "/apis/other/v1/x": get("List") }),
    theirs({ List: list, Item: size("a third") }, { "/apis/other/v1/y": get("List") }),
  ]);
  const { schemas, paths } = await plain(document);

  assert.deepEqual(schemas, {
    Item: size("ours"),
    Item_v2: size("theirs"),
    Item_v3: size("a third"),
    List: list,
    List_v2: { items: ref("Item_v2") },
    List_v3: { items: ref("Item_v3") },
  });
  assert.deepEqual(paths.get("/apis/other/v1/y"), get("List_v3"));
});

test("shared parameters are kept apart as definitions are, and paths that are there stay", async () => {
  const limit = (description: string) => ({ name: "limit", in: "query", description });
  const use = [{ $ref: "#/parameters/limit" }];
  const document = mergeV2(ours({ Widget: {} }, { limit: limit("ours") }), [
    theirs({ Widget: {} }, { "/apis/other/v1/x": get("Widget", use) }, { limit: limit("theirs") }),
    partBelow({ swagger: "2.0", paths: { "/apis/own/v1/widgets": {} } }, "/apis/own/v1/"),
  ]);

  const { parameters, paths } = await plain(document);
  assert.deepEqual(parameters, {
    limit: limit("ours"),
    limit_v2: limit("theirs"),
  });
  assert.deepEqual(
    paths.get("/apis/other/v1/x"),
    get("Widget", [{ $ref: "#/parameters/limit_v2" }]),
  );
  assert.deepEqual(paths.get("/apis/own/v1/widgets"), get("Widget"));
});

test("whatever a server says is merged or refused, and every reference of the result leads somewhere", async () => {
  const names = fc.constantFrom("A", "B", "C", "A_v2", "__proto__");
  const schema = fc.letrec((tie) => ({
    node: fc.oneof(
      { maxDepth: 3 },
      fc.record({ $ref: names.map((name) => `#/definitions/${name}`) }),
      fc.record({ type: fc.constantFrom("string", "integer") }),
      fc.record({ properties: fc.dictionary(names, tie("node"), { maxKeys: 3 }) }),
    ),
  })).node as fc.Arbitrary<JsonObject>;
  const definitions = fc.dictionary(names, schema, { maxKeys: 4 });
  await fc.assert(
    fc.asyncProperty(definitions, fc.array(definitions, { maxLength: 3 }), async (own, others) => {
      const specs = others.map((other, index) =>
        theirs(other, { [`/apis/other/v1/${index}`]: get("A") }),
      );
      const schemas = await gathered(mergeV2(ours(own), specs).schemas);
      for (const [name, value] of Object.entries(own)) {
        const { "x-kubernetes-group-version-kind": _, ...rest } = schemas.get(
          name,
        ) as unknown as JsonObject;
        assert.deepEqual(rest, { ...value });
      }
      // References that were dangling before still are.
      const known = new Set([own, ...others].flatMap((one) => Object.keys(one)));
      for (const reference of JSON.stringify([...schemas]).matchAll(/#\/definitions\/(\w+)/g)) {
        const name = reference[1] ?? "";
        assert.ok(schemas.has(name) || !known.has(name) || !Object.hasOwn(own, name), name);
      }
    }),
    { numRuns: 300 },
  );
  for (const wild of [null, [], "x", {}, { swagger: "2.0" }, { swagger: "2.0", paths: 7 }]) {
    assert.throws(() => partBelow(wild as JsonValue, "/apis/other/v1/"));
  }
});
