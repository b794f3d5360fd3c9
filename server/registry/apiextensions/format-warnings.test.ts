/** Which unknown formats in a definition's schemas cause warnings. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonSchema } from "../../structural/json-schema.js";
import type { Definition } from "./definition.js";
import { formatWarnings } from "./format-warnings.js";

const definition = (properties: JsonSchema["properties"] = {}): Definition => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "things.example.com" },
  spec: {
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties } },
      },
    ],
  },
});

test("formats that nobody knows are warned of once, and not again when they stay", () => {
  const fields = {
    date: { type: "string", format: "date-time" },
    name: { type: "string", format: "k8s-short-name" },
    count: { type: "integer", format: "int32" },
    share: { type: "number", format: "double" },
  };
  assert.deepEqual(formatWarnings(definition(fields), undefined), []);
  const next = definition({
    ...fields,
    odd: { type: "string", format: "int32" },
    list: { type: "array", items: { type: "string", format: "int32" } },
    port: { type: "integer", format: "uint16" },
    map: { type: "object", format: "date" },
  });
  const warned = ["int32", "uint16", "date"].map((name) => `unrecognized format "${name}"`);
  assert.deepEqual(formatWarnings(next, undefined), warned);
  assert.deepEqual(formatWarnings(next, next), []);
});
