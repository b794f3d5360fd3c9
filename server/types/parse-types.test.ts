/** Structs are parsed when they are asked for, once, and say where a line is wrong. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { LazyMap } from "./lazy-map.js";
import { parseTypes } from "./parse-types.js";

const HEAD = '@group "shop.example"\n@version v1\n@stability ga\n@served yes\n';

test("a line that is wrong is told with its file and number, at once or when its struct is asked for", () => {
  assert.throws(
    () => parseTypes("shop.v1", `${HEAD}nonsense here`),
    /shop\.v1\.types:5: .*"nonsense here"/,
  );
  const { types } = parseTypes("shop.v1", `${HEAD}type A  kind\n    1  name  string  zz\n`);
  assert.throws(() => types.get("A"), /shop\.v1\.types:6: .*bad flags of name/);
});

test("types come in the order of their file, whether they were asked for or not", () => {
  const { types } = parseTypes(
    "shop.v1",
    `${HEAD}type B  kind\n    1  a  A  ..\nenum E string "x"\ntype A\n    1  name  string  oe\n`,
  );
  assert.equal(types.get("A"), types.get("A"));
  assert.deepEqual([...types.keys()], ["B", "E", "A"]);
  assert.deepEqual(
    [...types.values()].map(({ form }) => form),
    ["struct", "enum", "struct"],
  );
});

test("a lazy map makes each value once, however it is read", () => {
  let made = 0;
  const open = () => {
    made = 0;
    const map = new LazyMap<string, number>();
    map.setLazy("a", () => ++made);
    map.set("b", 7);
    map.setLazy("c", () => ++made);
    return map;
  };
  assert.deepEqual(
    [...open()],
    [
      ["a", 1],
      ["b", 7],
      ["c", 2],
    ],
  );
  assert.deepEqual([...open().values()], [1, 7, 2]);
  const visited: [string, number][] = [];
  const map = open();
  map.forEach((value, key) => {
    visited.push([key, value]);
  });
  assert.deepEqual(visited, [...map]);
  assert.equal(made, 2);
  assert.equal(map.get("d"), undefined);
});
