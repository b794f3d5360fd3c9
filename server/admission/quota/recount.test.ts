/** How a recount shares the thread. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Evaluator } from "./evaluator.js";
import { recount } from "./recount.js";
import { countOf } from "./usage.js";

test("39.3: a recount may be cut before each object, however large it is", async () => {
  const evaluator = {
    uses: (name: string) => name === "pods",
    usage: () => new Map([["pods", countOf(1)]]),
  } as unknown as Evaluator;
  const order: string[] = [];
  function* objects() {
    for (let at = 0; at < 3; at++) {
      order.push("object");
      yield { kind: "Pod", apiVersion: "v1", metadata: { name: `p${at}` } };
    }
  }
  const quota = {
    kind: "ResourceQuota",
    apiVersion: "v1",
    metadata: {},
    spec: { hard: { pods: "5" } },
  };
  const rest = () => void order.push("rest") as undefined;
  const used = await recount(quota, [{ evaluator, objects: objects(), count: 3 }], 0, rest);
  assert.deepEqual(order, ["object", "rest", "object", "rest", "object", "rest"]);
  assert.deepEqual(used.get("pods"), countOf(3));
});
