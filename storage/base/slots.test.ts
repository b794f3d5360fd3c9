import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Slots } from "./slots.js";

test("what was added and not removed is there, and slots are used again", () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(20)), { maxLength: 200 }), (steps) => {
      const slots = new Slots<number>();
      const model = new Map<number, number>();
      let most = 0;
      for (const [number, removed] of steps.entries()) {
        const slot = [...model.keys()][removed ?? -1];
        if (slot === undefined) {
          const added = slots.add(number);
          assert.ok(!model.has(added));
          model.set(added, number);
        } else {
          slots.remove(slot);
          model.delete(slot);
        }
        most = Math.max(most, model.size);
        assert.equal(slots.size, model.size);
        assert.ok([...model.keys()].every((taken) => taken < most));
      }
      assert.deepEqual(new Set(slots), new Set(model.values()));
    }),
  );
});
