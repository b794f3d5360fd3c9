/** Changed files are reloaded without a restart; broken ones are ignored. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connect } from "node:tls";
import type { Clock } from "../../storage/base/clock.js";
import { systemClock } from "../../storage/base/clock.js";
import { type LogFields, silentLogger } from "../../storage/base/logger.js";
import { openFront } from "../chain/testing/test-front.js";
import { runFileWatch } from "./file-watch.js";

/** A clock whose sleeps end when the test steps it. */
function openSteppedClock(): { clock: Clock; step: () => Promise<void> } {
  let wake: (() => void) | undefined;
  let isAsleep: (() => void) | undefined;
  let asleep = new Promise<void>((resolve) => {
    isAsleep = resolve;
  });
  const clock: Clock = {
    ...systemClock,
    sleep: (_delayMs, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        wake = resolve;
        isAsleep?.();
      }),
  };
  return {
    clock,
    /** Ends one sleep and waits for the next. */
    async step() {
      await asleep;
      asleep = new Promise((resolve) => {
        isAsleep = resolve;
      });
      wake?.();
      await asleep;
    },
  };
}

test("S2-X509-04: what is compared is what is applied, and a change before the watch's first look is seen", async () => {
  const stop = new AbortController();
  const { clock, step } = openSteppedClock();
  // The file is empty for a moment between two looks at it, and then as it was before.
  const contents = ["first", "second", "", "second"];
  const applied: string[] = [];
  const watching = runFileWatch(
    {
      files: ["tls.crt"],
      clock,
      logger: silentLogger,
      read: async () => Buffer.from(contents.shift() ?? "second"),
      apply: ([text = ""]) => {
        if (text === "") throw new Error("empty");
        applied.push(text);
      },
      inForce: ["before"],
    },
    stop.signal,
  );
  await step();
  assert.deepEqual(applied, ["first"]);
  await step();
  assert.deepEqual(applied, ["first", "second"]);
  stop.abort();
  await watching;
});

test("P10: of a pair that is replaced while it is read the mixture is no failure", async () => {
  const stop = new AbortController();
  const { clock, step } = openSteppedClock();
  const pairs = ["old certificate", "new key", "new certificate", "new key"];
  const applied: (readonly string[])[] = [];
  const watching = runFileWatch(
    {
      files: ["tls.crt", "tls.key"],
      clock,
      logger: silentLogger,
      read: async (file) =>
        Buffer.from(pairs.shift() ?? (file === "tls.crt" ? "new certificate" : "new key")),
      apply: (pair) => {
        applied.push(pair);
      },
      inForce: ["old certificate", "old key"],
    },
    stop.signal,
  );
  await step();
  await step();
  assert.deepEqual(applied, [["new certificate", "new key"]]);
  stop.abort();
  await watching;
});

test("S2-X509-04: a changed serving certificate is in use at once; a broken one leaves the last good one", async () => {
  const directory = await mkdtemp(join(tmpdir(), "keelson-watch-"));
  const stop = new AbortController();
  await using front = await openFront();
  await using other = await openFront();
  const files = [join(directory, "tls.crt"), join(directory, "tls.key")];
  const write = async (cert: string, key: string) => {
    await writeFile(files[0] as string, cert);
    await writeFile(files[1] as string, key);
  };
  await write(front.certificates.serving.cert, front.certificates.serving.key);
  const { clock, step } = openSteppedClock();
  const outcomes: boolean[] = [];
  const refusals: LogFields[] = [];
  const logger = { ...silentLogger, error: (fields: LogFields) => refusals.push(fields) };
  const watching = runFileWatch(
    {
      files,
      inForce: [front.certificates.serving.cert, front.certificates.serving.key],
      clock,
      logger,
      onReload: (isGood) => outcomes.push(isGood),
      apply: ([cert, key]) =>
        front.listener.replaceCredentials({
          cert: cert as string,
          key: key as string,
          clientAuthorities: front.certificates.clientAuthority,
        }),
    },
    stop.signal,
  );
  const serial = async () => {
    const socket = connect({ port: front.port, host: "127.0.0.1", rejectUnauthorized: false });
    await once(socket, "secureConnect");
    const { serialNumber } = socket.getPeerCertificate();
    socket.destroy();
    return serialNumber;
  };

  const before = await serial();
  await step();
  assert.deepEqual(outcomes, []);

  await write(other.certificates.serving.cert, other.certificates.serving.key);
  await step();
  const after = await serial();
  assert.notEqual(after, before);

  await write(front.certificates.serving.cert, "broken");
  await step();
  // As if both were being written.
  await write("", "");
  await step();
  await write("", other.certificates.serving.key);
  await step();
  await write(other.certificates.serving.cert, "");
  await step();
  await rm(files[0] as string);
  await step();
  assert.equal(await serial(), after);
  assert.deepEqual(outcomes, [true, false, false, false, false, false]);
  // One line of text each: the stack of an operator's mistake helps nobody.
  assert.equal(refusals.length, 5);
  for (const { err } of refusals) assert.match(String(err), /^[^\n]+$/);
  for (const { err } of refusals) assert.equal(typeof err, "string");

  stop.abort();
  await watching;
  await rm(directory, { recursive: true });
});
