/** A store whose data goes with the process: it does not wait for the disk, and is otherwise as the others. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { soon } from "../../e2e/harness/eventually.js";
import { makeTempDir } from "../../e2e/harness/temp-dir.js";
import { systemClock } from "../base/clock.js";
import { silentLogger } from "../base/logger.js";
import { Damage } from "./damage.js";
import { openDatabase } from "./database.js";
import { openEmbeddedStore } from "./embedded-store.js";

test("a store that need not be durable keeps what was written for the next one that opens it", async () => {
  await using folder = await makeTempDir("not-durable");
  const directory = folder.path;
  const options = { directory, clock: systemClock, logger: silentLogger, isDurable: false };
  const signal = soon();
  const key = "/s/a";
  {
    await using store = await openEmbeddedStore(options);
    const put = { type: "put", key, value: Buffer.from("x") } as const;
    await store.commit({ compares: [], operations: [put] }, signal);
  }
  await using store = await openEmbeddedStore(options);
  assert.equal((await store.get(key, {}, signal)).kv?.value.toString(), "x");
});

test("only a store that need not be durable is opened without waiting for the disk", async () => {
  for (const isDurable of [true, false]) {
    await using folder = await makeTempDir("not-durable");
    const { root } = openDatabase(folder.path, new Damage(silentLogger), isDurable);
    assert.equal((root as unknown as { readonly noSync?: boolean }).noSync === true, !isDurable);
    await root.close();
  }
});
