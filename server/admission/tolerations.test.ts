import assert from "node:assert/strict";
import { test } from "node:test";
import { mergeTolerations, type Toleration } from "./tolerations.js";

const exists = (key: string): Toleration => ({ key, operator: "Exists" });

test("a toleration that another one covers is left out", () => {
  const narrow = { ...exists("a"), effect: "NoSchedule" };
  assert.deepEqual(mergeTolerations([narrow, exists("b")], [exists("a"), exists("b")]), [
    exists("b"),
    exists("a"),
  ]);
});

test("39.2: of very many, each is compared with no other, and none is lost or there twice", () => {
  let reads = 0;
  const counted = (at: number): Toleration => ({
    operator: "Exists",
    get key() {
      reads++;
      return `k${at}`;
    },
  });
  const many = Array.from({ length: 5_000 }, (_, at) => counted(at));
  const merged = mergeTolerations(many, [exists("k7"), exists("other")]);
  assert.deepEqual(
    merged.map(({ key }) => key),
    [...many.map(({ key }) => key), "other"],
  );
  assert.ok(reads <= 4 * many.length, `${reads}`);
});
