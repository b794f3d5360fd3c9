/** Makes of a store what releases wrote before records had checksums, for tests of how they get them. */
import { silentLogger } from "../../base/logger.js";
import { Damage } from "../damage.js";
import { openDatabase } from "../database.js";
import { toPlainNumber } from "../records.js";

interface AnyTable {
  getRange(options: object): Iterable<{ key: unknown; value: Buffer }>;
  putSync(key: unknown, value: Buffer): void;
}

/** @param directory of a store that nobody has open */
export async function removeChecksums(directory: string): Promise<void> {
  const { root, current, history, log, leases } = openDatabase(directory, new Damage(silentLogger));
  root.transactionSync(() => {
    for (const table of [current, history, log, leases] as unknown as AnyTable[]) {
      for (const { key, value } of [...table.getRange({})]) table.putSync(key, value.subarray(4));
    }
    for (const name of ["revision", "compacted"]) {
      root.putSync(name, (root.get(name) ?? Buffer.alloc(12)).subarray(4));
    }
    root.putSync("format", toPlainNumber(1));
  });
  await root.close();
}
