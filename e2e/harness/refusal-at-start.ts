/**
 * What a start is refused with, by the steps of the command in this process: a process for each bad
 * flag would spend its time on loading. failed-start.test.ts shows that one says it and ends.
 */
import assert from "node:assert/strict";
import { parseCommandLine } from "../../server/config/command-line.js";
import { readBuildInfo } from "../../server/wiring/build-info.js";
import { createSilentLog } from "../../server/wiring/create-logger.js";
import { oneLine } from "../../storage/base/one-line.js";
import { makeTempDir } from "./temp-dir.js";

/** The line that `keelson serve` with these flags ends with. @throws {AssertionError} it starts */
export async function refusalAtStart(flags: readonly string[]): Promise<string> {
  await using dir = await makeTempDir("refusal");
  const args = ["serve", `--data-dir=${dir.path}`, "--secure-port=0", ...flags];
  const commandLine = parseCommandLine(args);
  if (commandLine.action === "refuse") return commandLine.message;
  assert.ok(commandLine.action === "run");
  // Most flags are refused before, and the whole server is a second of loading.
  const { openReplica } = await import("../../server/wiring/replica.js");
  try {
    const replica = await openReplica(
      commandLine.config,
      readBuildInfo(process.env),
      createSilentLog(),
    );
    await replica[Symbol.asyncDispose]();
  } catch (error) {
    return `keelson: ${oneLine(error)}`;
  }
  assert.fail(`it starts: ${flags.join(" ")}`);
}
