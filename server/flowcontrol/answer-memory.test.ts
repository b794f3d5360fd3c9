import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { AnswerMemory, FlowGroup, HeldBytes, type MemoryDenial } from "./answer-memory.js";

const MIB = 2 ** 20;
const never = new AbortController().signal;

test("a flow holds as much as it leaves free, and the next one finds room", async () => {
  const memory = open(64 * MIB);
  const first = [1, 2, 3, 4].map(() => held(claim(memory, "a", 8)));
  const fifth = claim(memory, "a", 8);
  assert.ok(fifth instanceof Promise);
  assert.equal(memory.waiting, 1);
  // A flow that waits for itself blocks no other flow.
  const others = [held(await claim(memory, "b", 8)), held(await claim(memory, "b", 8))];
  assert.equal(memory.bytes, 48 * MIB);

  for (const one of others) one.release();
  first[0]?.release();
  held(await fifth);
  assert.equal(memory.bytes, 32 * MIB);
});

test("a claim larger than all of it begins where nothing is held, and alone", async () => {
  const memory = open(MIB);
  const huge = held(claim(memory, "a", 5));
  const next = claim(memory, "b", 0.5);
  assert.ok(next instanceof Promise);
  huge.release();
  held(await next);
});

test("a large claim is not overtaken by the small ones of others", async () => {
  const memory = open(10 * MIB);
  const small = [held(claim(memory, "a", 2)), held(claim(memory, "b", 2))];
  const large = claim(memory, "c", 8);
  const behind = claim(memory, "d", 1);
  assert.equal(memory.waiting, 2);
  small[0]?.release();
  assert.ok(memory.bytes === 8 * MIB + 2 * MIB, "it began as soon as it fitted");
  held(await large).release();
  held(await behind);
});

test("who is exempt begins in any case, and counts", () => {
  const memory = open(MIB);
  held(claim(memory, "a", 5));
  const outcome = memory.claim({ flow: "root", bytes: 9 * MIB, isExempt: true }, () => never);
  held(outcome);
  assert.equal(memory.bytes, 14 * MIB);
});

test("a refusal says what the flow holds, of how much, and how long it may take", async () => {
  const memory = new AnswerMemory({ bytesMax: 10 * MIB, patienceMs: 1 });
  held(claim(memory, "jane", 5));
  const denial = (await claim(memory, "jane", 5)) as MemoryDenial;
  assert.equal(denial.reason, "time-out");
  assert.equal(
    denial.text,
    'memory of answers, time-out: "jane" holds 5.0 and all together 5.0 of 10.0 MiB, 0 requests wait, about 0.1 s',
  );
  assert.equal(denial.retryAfterSeconds, 1);
  assert.deepEqual([...memory.refused], [["time-out", 1]]);
});

test("one flow cannot take all places of those who wait", () => {
  const memory = open(MIB);
  held(claim(memory, "a", 1));
  let waiting = 0;
  while (claim(memory, "a", 1) instanceof Promise) waiting++;
  assert.equal(waiting, 256);
  assert.ok(claim(memory, "b", 1) instanceof Promise);
});

test("who has gone gives up its place", async () => {
  const memory = open(MIB);
  const first = held(claim(memory, "a", 1));
  const client = new AbortController();
  const gone = memory.claim({ flow: "a", bytes: MIB, isExempt: false }, () => client.signal);
  const next = claim(memory, "a", 1);
  client.abort();
  assert.equal(((await gone) as MemoryDenial).reason, "cancelled");
  first.release();
  held(await next);
});

test("what turns out larger is counted, and others wait for it", async () => {
  const memory = open(10 * MIB);
  const growing = held(claim(memory, "a", 1));
  growing.resize(9 * MIB);
  const other = claim(memory, "b", 2);
  assert.ok(other instanceof Promise);
  growing.resize(2 * MIB);
  held(await other);
  growing.release();
  growing.release();
  assert.equal(memory.bytes, 2 * MIB);
});

test("44: a control plane takes no more by having many users, and others find room", async () => {
  const memory = open(64 * MIB);
  const [shop, bank] = [new FlowGroup(), new FlowGroup()];
  const names = Array.from({ length: 100 }, (_, index) => `user-${index}`);
  const begun: HeldBytes[] = [];
  for (const name of names) {
    const outcome = claim(memory, name, 1, shop);
    if (outcome instanceof HeldBytes) begun.push(outcome);
  }
  assert.equal(begun.length, 24, "as much as it leaves free of three quarters");
  for (let i = 0; i < 8; i++) held(await claim(memory, "user-0", 1, bank));
  assert.equal(memory.waiting, 76);
  held(await claim(memory, "jane", 12));
  assert.equal(memory.bytes, 44 * MIB);
});

test("44: a quarter is kept for the root, whose claims do not wait for those of control planes", async () => {
  const memory = open(64 * MIB);
  for (let index = 0; index < 200; index++) void claim(memory, "a", 1, new FlowGroup());
  assert.equal(memory.bytes, 48 * MIB);
  assert.equal(memory.waiting, 152);
  held(await claim(memory, "jane", 8));
  assert.ok(claim(memory, "a", 1, new FlowGroup()) instanceof Promise);
});

test("44: a refusal tells a control plane nothing of others", async () => {
  const memory = new AnswerMemory({ bytesMax: 16 * MIB, patienceMs: 1 });
  held(claim(memory, "carol", 2));
  const shop = new FlowGroup();
  held(claim(memory, "jane", 3, shop));
  const denial = (await claim(memory, "joe", 5, shop)) as MemoryDenial;
  assert.equal(
    denial.text,
    'memory of answers, time-out: "joe" holds 0.0 and all of its control plane 3.0 of 16.0 MiB, 0 requests wait, about 0.1 s',
  );
});

test("by random arrivals the bound holds, claims of a flow keep their order, and everybody gets served", async () => {
  const step = fc.record({
    flow: fc.constantFrom("a", "b", "c", "d"),
    of: fc.nat({ max: 2 }),
    bytes: fc.integer({ min: 1, max: 60 }),
    releases: fc.nat({ max: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60 }), async (steps) => {
      const memory = new AnswerMemory({ bytesMax: 100, patienceMs: 60_000 });
      const begun: { flow: string; number: number; held: HeldBytes }[] = [];
      const last = new Map<string, number>();
      const groups = [undefined, new FlowGroup(), new FlowGroup()];
      let asked = 0;
      for (const { flow: name, of, bytes, releases } of steps) {
        const [flow, group] = [`${of} ${name}`, groups[of]];
        const number = asked++;
        const begin = (outcome: HeldBytes | MemoryDenial) => {
          assert.ok((last.get(flow) ?? -1) < number, "the order of a flow is kept");
          last.set(flow, number);
          begun.push({ flow, number, held: held(outcome) });
        };
        const outcome = memory.claim({ flow, group, bytes, isExempt: false }, () => never);
        if (outcome instanceof Promise) void outcome.then(begin);
        else begin(outcome);
        for (let i = 0; i < releases; i++) begun.shift()?.held.release();
        assert.ok(memory.bytes <= 100, "the bound holds");
        await Promise.resolve();
      }
      while (last.size > 0 && begun.length > 0) {
        begun.shift()?.held.release();
        await Promise.resolve();
        await Promise.resolve();
      }
      assert.deepEqual([memory.bytes, memory.waiting], [0, 0]);
      for (const group of groups) {
        const { accounts, heldBytes, waiting } = group ?? new FlowGroup();
        assert.deepEqual([accounts.size, heldBytes, waiting], [0, 0, 0]);
      }
    }),
    { numRuns: 200 },
  );
});

function open(bytesMax: number): AnswerMemory {
  return new AnswerMemory({ bytesMax, patienceMs: 60_000 });
}

function claim(memory: AnswerMemory, flow: string, mebibytes: number, group?: FlowGroup) {
  return memory.claim({ flow, group, bytes: mebibytes * MIB, isExempt: false }, () => never);
}

function held(outcome: unknown): HeldBytes {
  assert.ok(outcome instanceof HeldBytes);
  return outcome;
}
