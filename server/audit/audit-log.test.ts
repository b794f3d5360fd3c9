import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "../../storage/base/logger.js";
import { AuditLog, type AuditTarget } from "./audit-log.js";

test("S2-REQ-09: events are written in their order, all of them before the log is closed", async () => {
  const { log, written, counts } = openLog();
  for (let id = 0; id < 100; id++) log.write({ id });
  await log[Symbol.asyncDispose]();

  const lines = Array.from({ length: 100 }, (_, id) => `{"id":${id}}\n`);
  assert.equal(written.join(""), `${lines.join("")}closed`);
  assert.deepEqual(counts, { events: 100, dropped: 0 });
});

test("S2-REQ-09: a disk that fails costs the events of that time, one message, and nothing later", async () => {
  const { log, written, messages, counts, disk } = openLog();
  disk.isFull = true;
  log.write({ id: 1 });
  await turn();
  log.write({ id: 2 });
  await turn();
  disk.isFull = false;
  log.write({ id: 3 });
  await log[Symbol.asyncDispose]();

  assert.equal(written.join(""), '{"id":3}\nclosed');
  assert.deepEqual(counts, { events: 3, dropped: 2 });
  assert.deepEqual(messages, ["the audit log cannot be written"]);
});

test("S2-REQ-09: a disk that does not answer is waited for up to a bound, beyond it events are dropped", async () => {
  const { log, written, counts, disk } = openLog();
  let answer = () => {};
  disk.answer = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const event = { text: "x".repeat(1024 * 1024) };
  for (let count = 0; count < 40; count++) log.write(event);

  assert.deepEqual(counts, { events: 16, dropped: 24 });
  answer();
  await log[Symbol.asyncDispose]();
  assert.equal(written.join("").split("\n").length - 1, 16);
});

function openLog() {
  const written: string[] = [];
  const messages: string[] = [];
  const counts = { events: 0, dropped: 0 };
  const disk = { isFull: false, answer: Promise.resolve() };
  const target: AuditTarget = {
    async append(lines) {
      await disk.answer;
      if (disk.isFull) throw new Error("no space left on device");
      written.push(lines);
    },
    async close() {
      written.push("closed");
    },
  };
  const keep = (_fields: unknown, message: string) => {
    messages.push(message);
  };
  const log = new AuditLog({
    target,
    logger: { ...silentLogger, error: keep },
    onEvent(isDropped) {
      if (isDropped) counts.dropped += 1;
      else counts.events += 1;
    },
  });
  return { log, written, messages, counts, disk };
}

/** Long enough for the log to have tried to write. */
async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
