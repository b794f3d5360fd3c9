import assert from "node:assert/strict";
import { test } from "node:test";
import { ThreadShare, UsedTime, WINDOW_MS } from "./thread-share.js";

/** Pieces of a millisecond. */
function use(share: ThreadShare, used: UsedTime, pieces: number, nowMs: number): void {
  for (let piece = 0; piece < pieces; piece++) share.add(used, 1, nowMs);
}

const BEGIN_MS = 10 * WINDOW_MS;

test("one of fifty is above its share when it used much more than the others", () => {
  const share = new ThreadShare(0.5);
  const polite = Array.from({ length: 50 }, () => new UsedTime());
  const greedy = new UsedTime();
  for (const used of polite) use(share, used, 2, BEGIN_MS);
  use(share, greedy, 20, BEGIN_MS);
  const nowMs = BEGIN_MS + WINDOW_MS / 2;

  assert.ok(share.isAbove(greedy, nowMs));
  assert.deepEqual(
    polite.filter((used) => share.isAbove(used, nowMs)),
    [],
  );
});

test("44: who used a tenth of what all used is above, however little of the thread's time is counted", () => {
  const share = new ThreadShare(0.5);
  const polite = Array.from({ length: 50 }, () => new UsedTime());
  const greedy = new UsedTime();
  for (const used of polite) for (let at = 0; at < 5; at++) share.add(used, 0.1, BEGIN_MS);
  for (let at = 0; at < 10; at++) share.add(greedy, 0.3, BEGIN_MS);
  const nowMs = BEGIN_MS + WINDOW_MS - 1;

  assert.ok(share.isAbove(greedy, nowMs));
  assert.ok(!polite.some((used) => share.isAbove(used, nowMs)));
});

test("where all use the same, nobody is above, however busy the thread is", () => {
  for (const others of [4, 50, 1_000]) {
    const share = new ThreadShare(1);
    const all = Array.from({ length: others }, () => new UsedTime());
    for (let window = 0; window < 4; window++) {
      const nowMs = BEGIN_MS + window * WINDOW_MS;
      for (const used of all)
        for (let piece = 0; piece < 10; piece++) share.add(used, WINDOW_MS / others / 10, nowMs);
      const above = all.filter((used) => share.isAbove(used, nowMs + WINDOW_MS - 1));
      assert.equal(above.length, 0, `${above.length} of ${others}`);
    }
  }
});

test("who is alone has the most that anybody may have", () => {
  const share = new ThreadShare(0.5);
  const used = new UsedTime();
  use(share, used, 0.9 * WINDOW_MS, BEGIN_MS);
  assert.ok(!share.isAbove(used, BEGIN_MS + 0.9 * WINDOW_MS));
  use(share, used, 0.2 * WINDOW_MS, BEGIN_MS + 0.9 * WINDOW_MS);
  assert.ok(share.isAbove(used, BEGIN_MS + 0.9 * WINDOW_MS));
});

test("what was used is forgotten after the next window", () => {
  const share = new ThreadShare(0.5);
  const used = new UsedTime();
  use(share, used, 3 * WINDOW_MS, BEGIN_MS);

  assert.ok(share.isAbove(used, BEGIN_MS + 2 * WINDOW_MS - 1));
  assert.ok(!share.isAbove(used, BEGIN_MS + 2 * WINDOW_MS));
  share.add(used, 0.1, BEGIN_MS + 2 * WINDOW_MS);
  assert.ok(!share.isAbove(used, BEGIN_MS + 2 * WINDOW_MS));
});

test("one long piece, as of a pause of the thread, puts nobody above, and two of them do", () => {
  const share = new ThreadShare(0.5);
  const used = new UsedTime();
  use(share, used, 2, BEGIN_MS);
  share.add(used, WINDOW_MS, BEGIN_MS);
  assert.ok(!share.isAbove(used, BEGIN_MS + WINDOW_MS / 2));

  share.add(used, WINDOW_MS, BEGIN_MS);
  assert.ok(share.isAbove(used, BEGIN_MS + WINDOW_MS / 2));
});
