/** What a limit of bytes has to know of the objects that are written. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RegistryView } from "../../storage/cache/registry-view.js";
import { toRevision } from "../../storage/kv/store.js";
import type { AdmissionAttributes } from "../admission/admission.js";
import { LimitGuard } from "./limit-guard.js";

const LIMIT = 1_000;

function openGuard(used: number) {
  const view = { partitions: [{ size: 1, objectBytes: used }], revision: toRevision(1) };
  const guard = new LimitGuard(view as unknown as RegistryView, () => ({ bytes: LIMIT }));
  let measured = 0;
  /** An object whose JSON has that many bytes. */
  const object = (bytes: number) => ({
    toJSON() {
      measured++;
      return "x".repeat(bytes - 2);
    },
  });
  const update = (from: number, to: number) => {
    const resource = { group: "", resource: "configmaps" };
    const attributes = { operation: "UPDATE", resource, name: "a", options: { isDryRun: false } };
    const objects = { object: object(to), oldObject: object(from), sideWrites: [], write: {} };
    guard.validate({ ...attributes, ...objects } as unknown as AdmissionAttributes);
  };
  return { update, measured: () => measured };
}

test("44: what an object replaces is measured only where the limit is near", () => {
  const { update, measured } = openGuard(500);
  update(300, 300);
  assert.equal(measured(), 1);
  // 500 and at most 300 more leave too little room: now both that are under way are looked at.
  update(400, 410);
  assert.equal(measured(), 4);
});

test("44: updates under way count by what they add, however long their objects are", () => {
  const { update } = openGuard(900);
  for (let turn = 0; turn < 5; turn++) update(700, 710);
  assert.throws(() => update(700, 751), /has 950 bytes, its limit is 1000, and this is 51 more/);
  update(700, 750);
  assert.throws(() => update(700, 701), /has 1000 bytes, its limit is 1000/);
  update(700, 699);
});
