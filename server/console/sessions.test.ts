import assert from "node:assert/strict";
import { test } from "node:test";
import { Sessions } from "./sessions.js";

test("a code gives one key, once; keys and codes are bounded, and the oldest goes", () => {
  const sessions = new Sessions();
  const code = sessions.offer();
  assert.equal(sessions.admits(code), false);
  const key = sessions.exchange(code);
  assert.equal(sessions.admits(key), true);
  assert.equal(sessions.exchange(code), undefined);
  assert.equal(sessions.exchange(key ?? ""), undefined);
  assert.equal(sessions.admits(undefined), false);
  assert.equal(sessions.admits(""), false);

  const codes = Array.from({ length: 17 }, () => sessions.offer());
  const keys = codes.map((one) => sessions.exchange(one));
  assert.deepEqual(
    keys.map((one) => one === undefined),
    [true, ...Array(16).fill(false)],
  );
  assert.equal(sessions.admits(key), false);
  assert.equal(
    keys.slice(1).every((one) => sessions.admits(one)),
    true,
  );
});
