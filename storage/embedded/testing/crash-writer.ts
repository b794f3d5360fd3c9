/**
 * A process for durability tests. It opens the directory given as the first argument and writes without end: several commits
 * at a time, two keys each, updates among them, with a compaction now and then. It prints "key revision" for every
 * acknowledged key, and waits to be killed.
 */
import { writeSync } from "node:fs";
import { systemClock } from "../../base/clock.js";
import { silentLogger } from "../../base/logger.js";
import { StorageError } from "../../kv/errors.js";
import { openEmbeddedStore } from "../embedded-store.js";

const WRITERS_AT_ONCE = 8;
const [directory = "", round = "0"] = process.argv.slice(2);
const signal = new AbortController().signal;

async function main(): Promise<void> {
  const store = await openEmbeddedStore({ directory, clock: systemClock, logger: silentLogger });
  const write = async (writer: number) => {
    for (let count = 0; ; count++) {
      // Three writes to a name: one create and two updates, so that history is written as well.
      const name = `/w/${round}.${writer}.${Math.floor(count / 3)}`;
      const operations = [`${name}.a`, `${name}.b`].map((key) => {
        const value = Buffer.from(`${key} ${String(count).padEnd(1000, ".")}`);
        return { type: "put", key, value } as const;
      });
      const { revision } = await store.commit({ compares: [], operations }, signal);
      // Synchronous, so that a printed line is an acknowledged commit.
      writeSync(1, operations.map(({ key }) => `${key} ${revision}\n`).join(""));
      if (count % 12 === 11 && writer === 0) await store.compact(revision, signal);
    }
  };
  await Promise.all(Array.from({ length: WRITERS_AT_ONCE }, (_, writer) => write(writer)));
}

main().catch((error: unknown) => {
  const text = error instanceof StorageError ? `${nameOf(error)}: ${error.message}` : String(error);
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
});

function nameOf({ code, outcomeUnknown }: StorageError): string {
  return outcomeUnknown ? `${code} (unknown outcome)` : code;
}
