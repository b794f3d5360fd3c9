/**
 * The adversary (e2e/adversary/) inside one control plane, and the bystander inside another: what one customer sends does
 * not stop the others. One attack of each group, as against the root.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ATTACKS } from "./adversary/attacks.js";
import { Scene } from "./adversary/scene.js";
import { LIMITS, verdictOf } from "./adversary/verdict.js";

describe("requests to one control plane do not stop those to another", () => {
  let scene: Scene | undefined;
  before(async () => {
    scene = await Scene.open("embedded", { isInControlPlane: true });
  });
  after(() => scene?.[Symbol.asyncDispose]());

  for (const attack of ATTACKS.filter(({ isShort }) => isShort)) {
    test(attack.name, async () => {
      const outcome = await (scene as Scene).attack(attack);
      assert.equal(verdictOf(outcome, LIMITS.shared), "", JSON.stringify(outcome));
      // Its requests were taken as those of a user who may be there.
      assert.ok(
        outcome.statuses.every(([status]) => status !== 401),
        JSON.stringify(outcome),
      );
    });
  }
});
