/**
 * A process for tests of damage, which may end it. It opens the store of the directory given as the argument and
 * prints a line for each key: the key, and its value's text or "damaged".
 */
import { systemClock } from "../../base/clock.js";
import { silentLogger } from "../../base/logger.js";
import { unreadableReason } from "../../kv/unreadable.js";
import { openEmbeddedStore } from "../embedded-store.js";

const [directory = ""] = process.argv.slice(2);
const { signal } = new AbortController();

async function main(): Promise<void> {
  const store = await openEmbeddedStore({ directory, clock: systemClock, logger: silentLogger });
  const { kvs } = await store.range({ prefix: "" }, signal);
  const lines = kvs.map(({ key, value }) => {
    return JSON.stringify([key, unreadableReason(value) ?? value.toString("latin1")]);
  });
  process.stdout.write(`${lines.join("\n")}\n`, () => process.exit());
}

main().catch((error: unknown) => {
  process.stderr.write(`${error}\n`);
  process.exitCode = 1;
});
