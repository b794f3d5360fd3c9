import assert from "node:assert/strict";
import { test } from "node:test";
import { type GraphObject, toGraph } from "./object-graph.js";

const object = (uid: string, ...owners: string[]): GraphObject => {
  return { uid, kind: "Kind", namespace: "x", name: uid, href: undefined, owners };
};

test("owners stand left of an object and what it owns right of it, near ones first", () => {
  const all = [
    object("pod-1", "set"),
    object("set", "deployment"),
    object("deployment", "gone"),
    object("pod-2", "set"),
    object("other"),
    object("other-pod", "other"),
  ];
  const graph = toGraph(all, "set", 100);
  assert.deepEqual(
    graph.objects.map(({ uid, column, row }) => [uid, column, row]),
    [
      ["set", 1, 0],
      ["deployment", 0, 0],
      ["pod-1", 2, 0],
      ["pod-2", 2, 1],
    ],
  );
  assert.deepEqual(graph.edges, [
    [1, 0],
    [0, 2],
    [0, 3],
  ]);
  assert.equal(toGraph(all, "set", 3).leftOut, 1);
  const circle = toGraph([object("a", "b"), object("b", "a")], "a", 9);
  assert.equal(circle.objects.length, 2);
});
