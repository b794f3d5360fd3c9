/**
 * EtcdStore fulfils the contract of RevisionedStore on real etcd processes: on a current one, and on
 * 3.4, where progress comes by the clock key. A disconnect is the death of etcd and its restart.
 */
import { after, before, describe } from "node:test";
import { type EtcdProcess, hasEtcd, startEtcd } from "../../e2e/tools/etcd.js";
import { systemClock } from "../base/clock.js";
import { silentLogger } from "../base/logger.js";
import { runStoreContract } from "../kv/contract/run-store-contract.js";
import { openEtcdStore } from "./etcd-store.js";

const hasOldest = await hasEtcd("oldest");

// Both at once, as much of the time goes by with waiting for leases to end.
describe("EtcdStore and the contract", { concurrency: 2 }, () => {
  for (const binary of ["current", "oldest"] as const) {
    const skip = binary === "oldest" && !hasOldest && "no etcd 3.4 to be had on this machine";
    describe(`EtcdStore on the ${binary} etcd`, { skip, concurrency: 1 }, () => {
      let etcd: EtcdProcess | undefined;
      before(async () => {
        etcd = await startEtcd({ binary });
      });
      after(() => etcd?.stop());

      runStoreContract(
        `${binary} etcd`,
        ({ prefix }) =>
          openEtcdStore(
            {
              endpoints: [etcd?.endpoint ?? ""],
              prefix,
              clock: systemClock,
              logger: silentLogger,
            },
            AbortSignal.timeout(30_000),
          ),
        { disconnect: async () => await etcd?.restart() },
      );
    });
  }
});
