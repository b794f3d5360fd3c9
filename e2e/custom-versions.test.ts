/**
 * Versions of one kind whose objects have one shape: each has fields, defaults and selectors of its own.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { definitionOf } from "./fixtures/definitions.js";
import { eventually } from "./harness/eventually.js";
import type { HttpsClient } from "./harness/https-client.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const at = (version: string) => `/apis/example.com/${version}/namespaces/default/shirts`;

const version = (name: string, storage: boolean, spec: object, field: string) => ({
  name,
  served: true,
  storage,
  selectableFields: [{ jsonPath: `.spec.${field}` }],
  schema: {
    openAPIV3Schema: {
      type: "object",
      properties: { spec: { type: "object", ...spec } },
    },
  },
});
const text = { type: "string" };

const DEFINITION = definitionOf("shirts.example.com", "Shirt", {
  versions: [
    version("v1", true, { properties: { color: { ...text, default: "red" } } }, "color"),
    version(
      "v2",
      false,
      { properties: { color: text, hue: { ...text, default: "warm" } }, required: ["color"] },
      "hue",
    ),
  ],
});

describe("versions of one shape", () => {
  let server: ServerProcess;
  let client: HttpsClient;

  before(async () => {
    server = await startServer({ flags: ["--run-controllers"] });
    client = server.client;
    await eventually("the default namespace is there", async () => {
      return (await client.get("/api/v1/namespaces/default")).status === 200;
    });
    (await client.post(DEFINITIONS, DEFINITION)).expect(201);
  });
  after(() => server?.[Symbol.asyncDispose]());

  const create = async (of: string, name: string, spec: object) => {
    const object = { apiVersion: `example.com/${of}`, kind: "Shirt", metadata: { name }, spec };
    return await client.post(at(of), object);
  };
  const specOf = async (of: string, name: string) =>
    (await client.get(`${at(of)}/${name}`)).expect(200).object.spec;

  test("D15: defaults of the stored version do not make a new object valid, nor does it show others", async () => {
    const refused = (await create("v2", "bare", {})).expect(422).object;
    assert.match(String(refused.message), /spec\.color: Required value/);
    (await create("v2", "a", { color: "blue", hue: "cold" })).expect(201);
    assert.deepEqual(await specOf("v1", "a"), { color: "blue" });
  });

  test("D5: a selector asks the fields of the version that is asked", async () => {
    (await create("v1", "b", {})).expect(201);
    const find = async (of: string, selector: string) => {
      const found = await client.get(`${at(of)}?fieldSelector=${encodeURIComponent(selector)}`);
      return found.expect(200).items.map(({ metadata }) => metadata.name);
    };
    assert.deepEqual(await find("v1", "spec.color=red"), ["b"]);
    // What the stored version does not know, nobody has in the other one either.
    assert.deepEqual(await find("v2", "spec.hue!=cold"), ["a", "b"]);
    (await client.get(`${at("v2")}?fieldSelector=spec.color%3Dred`)).expect(400);
  });
});
