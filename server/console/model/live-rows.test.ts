import assert from "node:assert/strict";
import { test } from "node:test";
import { LiveRows, type Row } from "./live-rows.js";

const row = (namespace: string, name: string, cell = ""): Row => {
  return { uid: name, namespace, name, cells: [cell], createdAtMs: 0, movedAtMs: 0 };
};

test("rows stay in order, whichever order they come in, and a name has one row", () => {
  const rows = new LiveRows();
  for (const name of ["c", "a", "b", "d", "a"]) rows.put(row("x", name, `${name}!`));
  rows.put(row("w", "z"));
  rows.put(row("x", "b", "New"));
  rows.remove({ namespace: "x", name: "c" });
  rows.remove({ namespace: "x", name: "none" });
  assert.deepEqual(
    rows.all.map(({ namespace, name }) => namespace + name),
    ["wz", "xa", "xb", "xd"],
  );
  assert.deepEqual(
    rows.matching("new").map(({ name }) => name),
    ["b"],
  );
  rows.clear();
  assert.equal(rows.all.length, 0);
});

test("#46 rows that are shown stay as they are while others come", () => {
  const rows = new LiveRows();
  const shown = rows.matching("");
  rows.put(row("x", "a"));
  assert.deepEqual(shown, []);
  assert.equal(rows.matching("").length, 1);
});
