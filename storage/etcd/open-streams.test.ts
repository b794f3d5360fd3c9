import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { LeanExchange } from "./lean-exchange.js";
import { OpenStreams } from "./open-streams.js";

function callOn(streamId: number): LeanExchange {
  return { streamId } as LeanExchange;
}

test("streams that open in order and end in any are found as in a map", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(600), { minLength: 1, maxLength: 2_000 }), (ends) => {
      const streams = new OpenStreams();
      const model = new Map<number, LeanExchange>();
      for (const [index, end] of ends.entries()) {
        const call = callOn(2 * index + 1);
        streams.add(call);
        model.set(call.streamId, call);
        // An old stream, or one that has ended already.
        const ended = Math.max(1, call.streamId - 2 * end);
        streams.delete(ended);
        model.delete(ended);
        assert.equal(streams.size, model.size);
        assert.equal(streams.get(ended), undefined);
        assert.equal(streams.get(call.streamId), model.get(call.streamId));
      }
      const byId = (one: LeanExchange, other: LeanExchange) => one.streamId - other.streamId;
      assert.deepEqual(streams.values().sort(byId), [...model.values()]);
      streams.clear();
      assert.deepEqual([streams.size, streams.values()], [0, []]);
    }),
  );
});
