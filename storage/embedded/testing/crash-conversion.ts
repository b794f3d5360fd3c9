/**
 * A process for tests of the conversion to checksums: it begins with the directory given first, and kills itself
 * in its n-th transaction, before that is committed, or after it, as the other arguments say. It prints "done"
 * when there were fewer.
 */
import { silentLogger } from "../../base/logger.js";
import { addChecksums } from "../add-checksums.js";
import { Damage } from "../damage.js";
import { openDatabase } from "../database.js";

const [directory = "", nth = "1", when = "after"] = process.argv.slice(2);

async function main(): Promise<void> {
  const database = openDatabase(directory, new Damage(silentLogger));
  const { root } = database;
  const commit = root.transactionSync.bind(root);
  let left = Number(nth);
  root.transactionSync = (action) => {
    left--;
    const result = commit(() => {
      const value = action();
      if (left === 0 && when === "before") process.kill(process.pid, "SIGKILL");
      return value;
    });
    if (left === 0) process.kill(process.pid, "SIGKILL");
    return result;
  };
  await addChecksums(database, silentLogger);
  await root.close();
  process.stdout.write("done");
}

await main();
