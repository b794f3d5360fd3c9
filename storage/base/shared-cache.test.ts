import assert from "node:assert/strict";
import { test } from "node:test";
import { SharedBytes } from "./shared-bytes.js";
import { SharedCache } from "./shared-cache.js";

test("44: caches of many hold no more than their bound together, and who holds little keeps it", () => {
  const memory = new SharedBytes(1_000);
  const [small, ...large] = [1, 2, 3].map(
    () => new SharedCache<string, string>({ bytesMax: 900, memory }),
  );
  small?.set("a", "1", 100);
  for (let index = 0; index < 20; index++) {
    for (const cache of large) cache.set(`key ${index}`, "value", 100);
    assert.ok(memory.bytes <= 1_000);
  }
  assert.equal(small?.get("a"), "1");
  assert.deepEqual(large.map(({ size }) => size).sort(), [4, 5]);
  assert.ok(large.every((cache) => cache.has("key 19")));
  for (const cache of large) cache.clear();
  assert.equal(memory.bytes, 100);
});
