import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Share, SharedBytes } from "./shared-bytes.js";

test("44: who holds most gives way, down to what all that are over may hold", () => {
  const memory = new SharedBytes(100);
  const [, , c] = [10, 30, 90].map((bytes) => opened(memory, bytes));
  assert.equal(memory.level(), 60);
  memory.settle();
  assert.equal(c?.bytes, 60);
  const d = opened(memory, 60);
  memory.settle();
  assert.deepEqual([c?.bytes, d.bytes, memory.bytes], [30, 30, 100]);
});

test("44: no more give way than have to, where what they hold cannot be divided", () => {
  const memory = new SharedBytes(100);
  const ended: number[] = [];
  for (let index = 0; index < 21; index++) {
    const share: Share = memory.open(() => {
      ended.push(index);
      share.set(0);
    });
    share.add(5);
  }
  memory.settle();
  assert.equal(ended.length, 1);
  assert.equal(memory.bytes, 100);
});

test("44: one that is alone may hold all of it; what it held is free when it is closed", () => {
  const memory = new SharedBytes(100);
  const one = opened(memory, 100);
  memory.settle();
  assert.equal(one.bytes, 100);
  one.add(50);
  assert.equal(memory.level(), 100);
  one.close();
  assert.equal(memory.bytes, 0);
});

test("44: however they grow, the bound holds, and who holds no more than an equal share loses nothing", () => {
  const growth = fc.record({ who: fc.nat({ max: 7 }), bytes: fc.integer({ min: 1, max: 400 }) });
  fc.assert(
    fc.property(fc.array(growth, { maxLength: 100 }), (steps) => {
      const memory = new SharedBytes(1_000);
      const all = Array.from({ length: 8 }, () => opened(memory, 0));
      for (const { who, bytes } of steps) {
        const before = all.map((share) => share.bytes);
        all[who]?.add(bytes);
        memory.settle();
        assert.ok(memory.bytes <= 1_000);
        for (const [index, share] of all.entries()) {
          const had = (before[index] ?? 0) + (index === who ? bytes : 0);
          if (had <= 1_000 / 8) assert.equal(share.bytes, had);
        }
      }
    }),
  );
});

test("44: several that one has are one to the others, and what it has is free when it is closed", () => {
  const all = new SharedBytes(100);
  const [shop, bank] = [new SharedBytes(100, all), new SharedBytes(100, all)];
  const [a, b, c] = [opened(shop, 30), opened(shop, 30), opened(bank, 50)];
  bank.settle();
  assert.deepEqual([a.bytes, b.bytes, c.bytes, all.bytes], [23, 23, 47, 93]);
  shop.close();
  assert.equal(all.bytes, 47);
  a.add(10);
  assert.equal(all.bytes, 47, "what is under way counts no more");
});

test("44: when all is full, holders give way once for many pieces that are added", () => {
  const all = new SharedBytes(10_000);
  let times = 0;
  const owners = Array.from({ length: 10 }, () => {
    const memory = new SharedBytes(10_000, all);
    const share: Share = memory.open((bytesMax) => {
      times++;
      share.set(Math.min(share.bytes, bytesMax));
    });
    return { memory, share };
  });
  for (let piece = 0; piece < 2_000; piece++) {
    const { memory, share } = owners[piece % owners.length] as (typeof owners)[number];
    share.add(10);
    memory.settle();
    assert.ok(all.bytes <= 10_000);
  }
  assert.ok(times > 0 && times <= 250, `${times} times for 1,000 pieces beyond the bound`);
});

function opened(memory: SharedBytes, bytes: number): Share {
  const share: Share = memory.open((bytesMax) => share.set(Math.min(share.bytes, bytesMax)));
  share.add(bytes);
  return share;
}
