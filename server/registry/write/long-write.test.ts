/** Writes of large objects end their turn of the event loop between stages. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { nextStage, pauseOf } from "./long-write.js";

function requestOf(bodyBytes: number) {
  const turns = { count: 0 };
  const request = {
    bodyBytes,
    async nextTurn() {
      turns.count++;
    },
  };
  return { request, turns };
}

test("a small write goes on in its turn", () => {
  const { request } = requestOf(1_000);
  const pause = pauseOf(request, 1_000);
  assert.equal(pause, undefined);
  assert.equal(
    nextStage(pause, 1, (made) => made + 1),
    2,
  );
  assert.equal(pauseOf(undefined), undefined);
});

test("a large body or a large current object makes each stage wait for a turn", async () => {
  for (const [body, current] of [
    [100_000, 0],
    [10, 100_000],
  ] as const) {
    const { request, turns } = requestOf(body);
    const pause = pauseOf(request, current);
    const first = nextStage(pause, 1, (made) => nextStage(pause, made + 1, (next) => next * 10));
    assert.ok(first instanceof Promise);
    assert.equal(await first, 20);
    assert.equal(turns.count, 2);
  }
});
