/** Walks in turns visit every object once and in order, wherever they pause. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { nextTurn } from "../../../storage/base/next-turn.js";
import { ObjectTree, STOP } from "../../../storage/cache/object-tree.js";
import { toRevision } from "../../../storage/kv/store.js";
import { decodeStoredObject } from "../../../storage/objects/decode-object.js";
import { objectPath } from "../../../storage/objects/keys.js";
import { PAUSE, visitInTurns } from "./visit-in-turns.js";

function treeOf(count: number): ObjectTree {
  const tree = new ObjectTree();
  for (let i = 0; i < count; i++) {
    const name = `o-${String(i).padStart(4, "0")}`;
    for (const namespace of ["a", "b"]) {
      const key = { path: objectPath(namespace, name), namespace, name };
      const value = Buffer.from(
        JSON.stringify({ kind: "X", apiVersion: "v1", metadata: { name, namespace } }),
      );
      tree.set(decodeStoredObject(key, value, toRevision(1), undefined));
    }
  }
  return tree;
}

test("S1-LIST-10: a walk meets every object behind its start once and in order, with any rests and turns", async () => {
  const objects = 50;
  const tree = treeOf(objects);
  const walks = fc.record({
    start: fc.integer({ min: -1, max: objects - 1 }),
    visitsMax: fc.integer({ min: 1, max: 2 * objects }),
    perPause: fc.integer({ min: 1, max: 2 * objects }),
  });
  await fc.assert(
    fc.asyncProperty(walks, async ({ start, visitsMax, perPause }) => {
      const nameOf = (index: number) => `a/o-${String(index).padStart(4, "0")}`;
      const seen: string[] = [];
      let gathered = 0;
      const isComplete = await visitInTurns(
        { tree, namespace: "a", after: start < 0 ? "" : nameOf(start), nextTurn, visitsMax },
        ({ path }) => {
          if (gathered === perPause) return PAUSE;
          gathered++;
          seen.push(path);
          return undefined;
        },
        async () => {
          gathered = 0;
          return true;
        },
      );
      const expected = Array.from({ length: objects }, (_, index) => nameOf(index));
      assert.deepEqual([isComplete, seen], [true, expected.slice(start + 1)]);
    }),
  );
});

test("a walk ends where the visitor stops it, or where its rest says so", async () => {
  const tree = treeOf(3);
  const walk = { tree, namespace: "a", after: "", nextTurn };
  const seen: string[] = [];
  const stopsAtSecond = await visitInTurns(walk, ({ name }) => {
    seen.push(name);
    return seen.length === 2 ? STOP : undefined;
  });
  assert.deepEqual([stopsAtSecond, seen], [false, ["o-0000", "o-0001"]]);
  let rests = 0;
  const givesUp = await visitInTurns(
    walk,
    () => PAUSE,
    async () => ++rests < 3,
  );
  assert.deepEqual([givesUp, rests], [false, 3]);
  assert.equal(await visitInTurns({ ...walk, namespace: "none" }, () => STOP), true);
});

test("a turn that is over lets others have theirs", async () => {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const walk = { tree: treeOf(10), namespace: "", after: "", nextTurn, visitsMax: 2 };
  await visitInTurns(walk, () => undefined);
  isOver = true;
  assert.ok(turns >= 9, `${turns}`);
});

test("39.2: a turn of a visitor that parses objects ends behind the one that took long", async () => {
  let ms = 0;
  const perTurn: number[] = [];
  let visited = 0;
  const time = { now: () => ms };
  const endTurn = async () => {
    perTurn.push(visited);
    visited = 0;
  };
  const walk = { tree: treeOf(20), namespace: "a", after: "", nextTurn: endTurn, time };
  const parse = () => {
    ms += 4;
    visited++;
    return undefined;
  };
  await visitInTurns({ ...walk, isParsing: true }, parse);
  assert.deepEqual([...perTurn, visited], Array(10).fill(2));
});

test("39.2: a turn ends when its visits have taken long, whatever they look at", async () => {
  let ms = 0;
  let perTurn = 0;
  let most = 0;
  let visited = 0;
  const endTurn = () => {
    perTurn = 0;
  };
  const time = { now: () => ms };
  await visitInTurns({ tree: treeOf(500), namespace: "a", after: "", nextTurn, time }, () => {
    if (perTurn++ === 0) setImmediate(endTurn);
    most = Math.max(most, perTurn);
    ms += 0.5;
    visited++;
    return undefined;
  });
  assert.equal(visited, 500);
  assert.ok(most <= 32, `${most} visits in one turn`);
});
