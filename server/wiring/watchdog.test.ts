/** The watchdog of systemd, with a program in the place of `systemd-notify` that writes down what it was given. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "../../e2e/harness/eventually.js";
import { makeTempDir } from "../../e2e/harness/temp-dir.js";
import { silentLogger as logger } from "../../storage/base/logger.js";
import { startWatchdog } from "./watchdog.js";

const QUICK = { WATCHDOG_USEC: "30000", NOTIFY_SOCKET: "/run/notify" };

test("P8: systemd is told that a process is alive as long as it is well, and not longer", async () => {
  await using notify = await openNotify();
  let isWell = true;
  let asked = 0;
  const env = { ...QUICK, WATCHDOG_PID: String(process.pid), PATH: notify.path };
  using _watchdog = startWatchdog({
    env,
    isWell() {
      asked++;
      return isWell;
    },
    logger,
  });
  await eventually("three beats", async () => (await notify.heard()).length >= 3);
  assert.deepEqual([...new Set(await notify.heard())], ["/run/notify WATCHDOG=1"]);
  isWell = false;
  const beats = asked;
  await eventually("what was sent has come", async () => (await notify.heard()).length === beats);
  await eventually("the process is asked on", () => asked >= beats + 3);
  assert.equal((await notify.heard()).length, beats);
});

test("P8: a messenger that was killed is replaced", async () => {
  await using notify = await openNotify("kill -9 $PPID");
  const env = { ...QUICK, PATH: notify.path };
  using _watchdog = startWatchdog({ env, isWell: () => true, logger });
  await eventually("two beats", async () => (await notify.heard()).length >= 2);
});

for (const [whom, env] of Object.entries({
  nobody: {},
  "another process": { ...QUICK, WATCHDOG_PID: "1" },
})) {
  test(`P8: where ${whom} is watched, nothing is sent`, async () => {
    await using notify = await openNotify();
    const isWell = () => assert.fail("nobody asks");
    using _watchdog = startWatchdog({ env: { ...env, PATH: notify.path }, isWell, logger });
    assert.deepEqual(await notify.heard(), []);
  });
}

/** @param then what the program does behind it, as a shell's line */
async function openNotify(then = "") {
  const folder = await makeTempDir("notify");
  const heard = join(folder.path, "heard");
  await writeFile(heard, "");
  const script = `#!/bin/sh\necho "$NOTIFY_SOCKET $*" >> ${heard}\n${then}\n`;
  await writeFile(join(folder.path, "systemd-notify"), script, { mode: 0o755 });
  return {
    path: `${folder.path}:/usr/bin:/bin`,
    heard: async () => (await readFile(heard, "utf8")).split("\n").filter((line) => line !== ""),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}
