/**
 * The short form of the adversary (e2e/adversary/): one attack of each group against a server of its own. `npm run
 * adversary` runs all of them, on both stores, with the limits of a quiet machine.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ATTACKS } from "./adversary/attacks.js";
import { Scene } from "./adversary/scene.js";
import { LIMITS, verdictOf } from "./adversary/verdict.js";

describe("one client's requests do not stop the others", () => {
  let scene: Scene | undefined;
  before(async () => {
    scene = await Scene.open("embedded");
  });
  after(() => scene?.[Symbol.asyncDispose]());

  for (const attack of ATTACKS.filter(({ isShort }) => isShort)) {
    test(attack.name, async () => {
      const outcome = await (scene as Scene).attack(attack);
      assert.equal(verdictOf(outcome, LIMITS.shared), "", JSON.stringify(outcome));
    });
  }
});
