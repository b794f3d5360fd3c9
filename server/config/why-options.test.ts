/** The objects that `keelson why`, `blame`, `history` and `diff` are asked for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { objectOf } from "./why-options.js";

test("#46 an object is named by two words or, as `kubectl get -o name` prints it, by one", () => {
  const web = { type: "deployments.apps", name: "web", namespace: "shop" };
  assert.deepEqual(objectOf(["deployments.apps", "web"], "shop"), web);
  assert.deepEqual(objectOf(["deployments.apps/web"], "shop"), web);
  for (const [words, message] of [
    [[], "TYPE and NAME must be given"],
    [["pod"], "TYPE and NAME must be given"],
    [["pod/"], "TYPE and NAME must be given"],
    [["/web"], "TYPE and NAME must be given"],
    [["pod/web/x"], 'unexpected argument "pod/web/x"'],
    [["pod/web", "x"], 'unexpected argument "x"'],
    [["pod", "web", "x"], 'unexpected argument "x"'],
  ] as const) {
    assert.throws(() => objectOf(words), { name: "RangeError", message }, words.join(" "));
  }
});
