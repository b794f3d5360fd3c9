/** The adversary's search for the worst turn: what it makes, and what it keeps. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cook, newRecipe, randomOf } from "./adversary/generator.js";
import { kindsIn, searchWorst } from "./adversary/search.js";

const KINDS = kindsIn({
  paths: {
    "/apis/example.com/v1/namespaces/{namespace}/cars": {
      post: {
        requestBody: { content: { "*/*": { schema: { $ref: "#/components/schemas/Car" } } } },
        "x-kubernetes-group-version-kind": { group: "example.com", version: "v1", kind: "Car" },
      },
    },
  },
  components: {
    schemas: {
      Car: {
        type: "object",
        properties: {
          metadata: {
            type: "object",
            properties: { labels: { additionalProperties: { type: "string" } } },
          },
          wheels: { type: "array", items: { allOf: [{ $ref: "#/components/schemas/Wheel" }] } },
        },
      },
      Wheel: {
        type: "object",
        required: ["side"],
        properties: {
          side: { type: "string" },
          bolts: { type: "array", items: { type: "integer" } },
        },
      },
    },
  },
});

test("bodies are objects of their kind with one large list or map, the same for the same seed", () => {
  const random = randomOf(7);
  const places = new Set<string>();
  for (let count = 0; count < 60; count++) {
    const recipe = newRecipe(KINDS, random);
    if (recipe === undefined) continue;
    places.add(recipe.place.join("."));
    const body = cook(KINDS, recipe);
    assert.equal(cook(KINDS, recipe), body);
    assert.ok(body.length < 3_000_000, JSON.stringify(recipe));
    const { apiVersion, kind } = JSON.parse(body);
    assert.deepEqual({ apiVersion, kind }, { apiVersion: "example.com/v1", kind: "Car" });
  }
  assert.deepEqual([...places].sort(), ["metadata.labels", "wheels", "wheels.[].bolts"]);
});

test("the search keeps what held the thread longest, and tries it changed", async () => {
  let left = 200;
  const measure = async (_: string, body: string) => {
    left--;
    const { wheels } = JSON.parse(body);
    return wheels === undefined ? 1 : wheels.length;
  };
  const found = await searchWorst({ kinds: KINDS, seed: 1, measure, isOver: () => left === 0 });
  assert.deepEqual(found[0]?.recipe.place, ["wheels"]);
  assert.ok((found[0]?.workMs ?? 0) > 30_000);
  assert.deepEqual(
    found.map(({ workMs }) => workMs),
    found.map(({ workMs }) => workMs).sort((a, b) => b - a),
  );
});
