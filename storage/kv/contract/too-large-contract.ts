/**
 * Contract of sizes: a value of 1 MiB is accepted, one of 4 MiB is TooLarge; the limit lies in
 * between (etcd: 1.5 MiB a request by default). A refusal writes nothing and affects nobody else.
 */
import assert from "node:assert/strict";
import { type ContractSubject, contractTest, put, rejectsWith } from "./contract-context.js";

const MEBIBYTE = 1024 * 1024;

export function testTooLarge(subject: ContractSubject): void {
  contractTest(subject, "a value of 1 MiB is stored", async (c) => {
    const value = Buffer.alloc(MEBIBYTE, "large");
    const before = await c.currentRevision();
    const revision = await c.write(put(c.key("a"), value));
    assert.ok((await c.get("a"))?.value.equals(value));
    await using watch = c.watch({ after: before });
    const [event] = await watch.until(revision);
    assert.ok(event?.type === "put" && event.kv.value.equals(value));
  });

  contractTest(subject, "a value of 4 MiB is TooLarge and nothing is written", async (c) => {
    await c.put("a", "kept");
    const value = Buffer.alloc(4 * MEBIBYTE, "large");
    await rejectsWith("TooLarge", c.commit([], [put(c.key("b"), "x"), put(c.key("a"), value)]));
    assert.equal(await c.text("a"), "kept");
    assert.equal(await c.text("b"), undefined);
    await c.put("a", "goes on");
  });
}
