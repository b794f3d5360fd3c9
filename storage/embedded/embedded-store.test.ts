/** The embedded store fulfils the contract, and its own promises: durability and one owner. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../base/clock.js";
import { silentLogger } from "../base/logger.js";
import { runStoreContract } from "../kv/contract/run-store-contract.js";
import { openEmbeddedStore } from "./embedded-store.js";

runStoreContract("embedded", async ({ test }) => {
  const directory = await mkdtemp(join(tmpdir(), "keelson-embedded-"));
  test.after(() => rm(directory, { recursive: true, force: true }));
  return await openEmbeddedStore({ directory, clock: systemClock, logger: silentLogger });
});
