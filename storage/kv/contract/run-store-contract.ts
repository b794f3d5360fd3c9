/**
 * The contract suite of RevisionedStore: the terms of storage/kv/store.ts as tests that every
 * implementation runs. One file per operation; each test opens a store of its own and writes only
 * under its own random prefix, so that a whole suite may run on one etcd.
 *
 *     runStoreContract("etcd 3.5", ({ test }) => openEtcdStore(...), { disconnect });
 *
 * Tests of one suite run sequentially: nobody else may write to the store meanwhile, except the
 * store itself for its own bookkeeping between operations of a test.
 */
import { describe } from "node:test";
import { testBatch } from "./batch-contract.js";
import { testClose } from "./close-contract.js";
import { testCommit } from "./commit-contract.js";
import { testCompact } from "./compact-contract.js";
import type { ContractHooks, ContractSubject, OpenStore } from "./contract-context.js";
import { testCurrentRevision } from "./current-revision-contract.js";
import { testGet } from "./get-contract.js";
import { testLease } from "./lease-contract.js";
import { testProgress } from "./progress-contract.js";
import { testRange } from "./range-contract.js";
import { testTooLarge } from "./too-large-contract.js";
import { testWatch } from "./watch-contract.js";

/** Registers the whole suite; `name` says which store is under test. */
export function runStoreContract(
  name: string,
  openStore: OpenStore,
  hooks: ContractHooks = {},
): void {
  const subject: ContractSubject = { openStore, hooks };
  const operations: readonly [string, (subject: ContractSubject) => void][] = [
    ["get", testGet],
    ["range", testRange],
    ["commit", testCommit],
    ["commit of several operations", testBatch],
    ["watch", testWatch],
    ["progress", testProgress],
    ["compact", testCompact],
    ["lease", testLease],
    ["currentRevision", testCurrentRevision],
    ["sizes", testTooLarge],
    ["closing", testClose],
  ];
  describe(`store contract, ${name}`, () => {
    for (const [operation, register] of operations) describe(operation, () => register(subject));
  });
}
