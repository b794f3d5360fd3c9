/** Which changes of a part are known, and from when on: a change that is forgotten is never taken for none. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RecentChanges } from "./recent-changes.js";
import { toRevision } from "./store.js";

function openChanges() {
  const changes = new RecentChanges();
  changes.reset(toRevision(10));
  const saw = (part: string, revision: number, isDeletion = false) =>
    changes.saw(part, { key: `${part}/${revision}`, revision: toRevision(revision), isDeletion });
  const since = (part: string, after: number) =>
    changes.since(part, toRevision(after))?.map(({ key }) => key);
  return { changes, saw, since };
}

test("changes of a part are known from where the feed began, those of others are not among them", () => {
  const { changes, saw, since } = openChanges();
  saw("one", 11);
  saw("other", 12);
  saw("one", 13, true);
  assert.deepEqual(since("one", 10), ["one/11", "one/13"]);
  assert.deepEqual(since("one", 11), ["one/13"]);
  assert.deepEqual(since("quiet", 10), []);
  assert.equal(since("one", 9), undefined);
  assert.equal(since("quiet", 9), undefined);
  changes.reset(toRevision(20));
  assert.equal(since("one", 19), undefined);
  assert.deepEqual(since("one", 20), []);
});

test("of a part with many changes the newest are known, and not that of a revision that was cut in two", () => {
  const { saw, since } = openChanges();
  for (let revision = 11; revision <= 110; revision++) saw("one", revision);
  const known = since("one", 100);
  assert.equal(known?.length, 10);
  const first = [...Array(100).keys()].map((at) => at + 10).find((at) => since("one", at));
  assert.ok(first !== undefined && first < 80, `known after ${first}`);
  assert.equal(since("one", first)?.length, 110 - first);
  for (let at = 0; at < 200; at++) saw("cut", 120);
  assert.equal(since("cut", 119), undefined);
  assert.deepEqual(since("cut", 120), []);
  saw("cut", 121);
  assert.deepEqual(since("cut", 120), ["cut/121"]);
});

test("what a thousand parts begin with takes no room from what is known of others", () => {
  const { saw, since } = openChanges();
  saw("one", 11);
  for (let part = 0; part < 1_000; part++) {
    for (let at = 0; at < 190; at++) saw(`new-${part}`, 12 + part);
  }
  assert.deepEqual(since("one", 10), ["one/11"]);
});

test("beyond the bound of all the parts that were quiet for longest are forgotten, with all that is behind", () => {
  const { saw, since } = openChanges();
  saw("busy", 11);
  for (let at = 0; at < 9_999; at++) saw(`part-${at}`, 12 + at);
  saw("busy", 20_000);
  assert.deepEqual(since("busy", 10), ["busy/11", "busy/20000"]);
  assert.equal(since("part-0", 11), undefined, "forgotten");
  assert.deepEqual(since("part-0", 12), [], "nothing behind its last change");
  assert.equal(since("nobody", 11), undefined);
  assert.deepEqual(since("part-1", 10), ["part-1/13"]);
  saw("part-0", 20_001);
  assert.equal(since("part-0", 11), undefined);
  assert.deepEqual(since("part-0", 14), ["part-0/20001"]);
});
