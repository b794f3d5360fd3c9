/** What control planes begin with is made once, however many begin at the same time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { settle } from "../../storage/base/testing/manual-clock.js";
import { DefaultContent } from "./default-content.js";

const BASIS = "certificates";
const never = new AbortController().signal;
const content = [{ partition: "core/namespaces", path: "default", value: Buffer.from("{}") }];

test("of many control planes that begin at once, one makes what all have, and the others wait for it", async () => {
  const defaults = new DefaultContent();
  const first = await defaults.claim(BASIS, never);
  assert.ok(first);
  const told: string[] = [];
  const others = ["a", "b"].map(async (name) => {
    const made = await defaults.claim(BASIS, never);
    told.push(`${name} ${made === undefined ? "is given them" : "makes them"}`);
    return made;
  });
  await settle();
  assert.deepEqual(told, []);
  defaults.keep(content, BASIS);
  first();
  await Promise.all(others);
  assert.deepEqual(told, ["a is given them", "b is given them"]);
  assert.equal(defaults.make(0, BASIS).length, 1);
});

test("when the one that makes them fails another does, and who is told to stop waits no longer", async () => {
  const defaults = new DefaultContent();
  const first = await defaults.claim(BASIS, never);
  const stopping = new AbortController();
  const stopped = defaults.claim(BASIS, stopping.signal);
  const second = defaults.claim(BASIS, never);
  await settle();
  stopping.abort(new Error("stop"));
  await assert.rejects(stopped, /stop/);
  first?.();
  assert.ok(await second);
  // With other certificates they are others.
  defaults.keep(content, "others");
  assert.ok(!defaults.isKept(BASIS));
});
