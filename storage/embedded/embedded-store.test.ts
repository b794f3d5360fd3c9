/** The embedded store fulfils the contract, and its own promises: durability and one owner. */
import { systemClock } from "../base/clock.js";
import { silentLogger } from "../base/logger.js";
import { temporaryDirectory } from "../base/testing/temporary-directory.js";
import { runStoreContract } from "../kv/contract/run-store-contract.js";
import { openEmbeddedStore } from "./embedded-store.js";

runStoreContract("embedded", async ({ test }) => {
  const directory = await temporaryDirectory(test);
  return await openEmbeddedStore({ directory, clock: systemClock, logger: silentLogger });
});
