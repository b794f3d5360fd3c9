/** What the columns of a definition may cost (39.2): they are the client's, as the objects are. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { JsonValue } from "../api/meta.js";
import { customPrinter } from "./custom-table.js";

const times = <Item>(count: number, item: (at: number) => Item) =>
  Array.from({ length: count }, (_, at) => item(at));

function cellsOf(paths: readonly string[], object: JsonValue) {
  const printer = customPrinter(
    paths.map((jsonPath, at) => ({ name: `C${at}`, type: "string", jsonPath })),
  );
  const bytes = Buffer.from(JSON.stringify(object));
  const { cells } = printer.row({ name: "a", bytes } as unknown as StoredObject, 0);
  assert.equal(cells.length, printer.columns.length);
  return cells.slice(1);
}

const shown = (cells: readonly unknown[]) => cells.filter((cell) => cell !== null).length;

test("39.2: the columns of a row share what they visit, and the others are empty", () => {
  const any = times(9_000, (at) => ({ a: `${at}` }));
  assert.equal(shown(cellsOf([".any[*].a", ".any[*].a", ".any[8999].a"], { any })), 3);
  const paths = [".any[*].a", "..a", ".any[?(@.a!='')].a", ".any[0:9000].a", ".any[*,0].a"];
  for (const path of paths) {
    const count = shown(cellsOf([...times(200, () => path), ".any"], { any }));
    assert.ok(count < 12, `${path}: ${count}`);
  }
});

test("39.2: what is visited is counted within a step, so that one of them is not walked to its end", () => {
  const any = times(200_000, () => 1);
  assert.deepEqual(cellsOf([...times(8, () => ".any[*]"), ".any[0]"], { any }).at(-1), "1");
  assert.deepEqual(cellsOf([".any[?(@==2)]", ".any[0]"], { any }), [null, null]);
});

test("39.2: texts that are compared count by their length, the longer one too", () => {
  const list = [{ t: "x".repeat(1_000_000), u: "a", n: "1" }];
  for (const filter of ["@.u<@.t", "@.t>@.u", "@.t==@.t"]) {
    const count = shown(
      cellsOf([...times(20, () => `.list[?(${filter})].n`), ".list[0].n"], { list }),
    );
    assert.ok(count > 0 && count < 8, `${filter}: ${count}`);
  }
});

test("39.2: the cells of a row show three megabytes of text at most", () => {
  const object = { text: "x".repeat(1_000_000), list: times(100_000, () => "1234567") };
  for (const path of [".text", ".", ".list"]) {
    const count = shown(
      cellsOf(
        times(1_000, () => path),
        object,
      ),
    );
    assert.ok(count > 0 && count <= 3, `${path}: ${count}`);
  }
});

test("39.2: a definition whose paths are too long to be compiled in a turn has the default columns", () => {
  const created = { metadata: { creationTimestamp: "1970-01-01T00:00:00Z" } };
  assert.equal(
    cellsOf(
      times(9_000, () => ".any[*]"),
      created,
    ).length,
    9_000,
  );
  assert.deepEqual(
    cellsOf(
      times(12_000, () => ".any[*]"),
      created,
    ),
    ["0s"],
  );
  const nested = `.a${"[?(@".repeat(11)}${")]".repeat(11)}`;
  assert.deepEqual(cellsOf([nested], created), ["0s"]);
});
