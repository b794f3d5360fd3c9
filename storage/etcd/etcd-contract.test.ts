/**
 * EtcdStore fulfils the contract of RevisionedStore on real etcd processes: on every release that the
 * package sources offer, and over both transports (the one of grpc-js on each release in the long run). On 3.4 progress comes by the clock key. A
 * disconnect is the death of etcd and its restart.
 */
import { after, before, describe } from "node:test";
import { soon } from "../../e2e/harness/eventually.js";
import { isLong } from "../../e2e/harness/is-long.js";
import { type EtcdProcess, etcdReleases, startEtcd } from "../../e2e/tools/etcd.js";
import { systemClock } from "../base/clock.js";
import { silentLogger } from "../base/logger.js";
import { runStoreContract } from "../kv/contract/run-store-contract.js";
import { openEtcdStore } from "./etcd-store.js";

const releases = await etcdReleases();

// Concurrent, as most of the time is spent waiting for leases to end.
describe("EtcdStore and the contract", { concurrency: 3 }, () => {
  for (const { binary, title: release, skip } of releases) {
    const isOverBoth = isLong || binary === "current";
    for (const transport of isOverBoth ? (["lean", "grpc"] as const) : (["lean"] as const)) {
      const title = `${release} over ${transport}`;
      describe(`EtcdStore on ${title}`, { skip, concurrency: 1 }, () => {
        let etcd: EtcdProcess | undefined;
        before(async () => {
          etcd = await startEtcd({ binary });
        });
        after(() => etcd?.stop());

        runStoreContract(
          title,
          ({ prefix }) =>
            openEtcdStore(
              {
                endpoints: [etcd?.endpoint ?? ""],
                prefix,
                transport,
                clock: systemClock,
                logger: silentLogger,
              },
              soon(),
            ),
          { disconnect: async () => await etcd?.restart() },
        );
      });
    }
  }
});
