/** Contract of `currentRevision`: linearizable, and it never goes back. */
import assert from "node:assert/strict";
import { type ContractSubject, contractTest } from "./contract-context.js";

export function testCurrentRevision(subject: ContractSubject): void {
  contractTest(subject, "a store has a revision above 0 before anything is written", async (c) => {
    assert.ok((await c.currentRevision()) > 0);
  });

  contractTest(subject, "currentRevision is that of the last acknowledged write", async (c) => {
    for (let round = 0; round < 20; round++) {
      const written = await c.put("a", String(round));
      assert.equal(await c.currentRevision(), written);
    }
  });

  contractTest(subject, "currentRevision is never behind what was acknowledged", async (c) => {
    let acknowledged = 0;
    const writing = (async () => {
      for (let round = 0; round < 200; round++) acknowledged = await c.put("a", String(round));
    })();
    let last = 0;
    for (let round = 0; round < 200; round++) {
      const atLeast = acknowledged;
      const revision = await c.currentRevision();
      assert.ok(revision >= atLeast && revision >= last);
      last = revision;
    }
    await writing;
  });

  contractTest(subject, "reads alone move no revision", async (c) => {
    const before = await c.put("a", "x");
    await c.range();
    await c.get("a");
    assert.equal(await c.currentRevision(), before);
  });
}
