/**
 * Fuzzes patches and applies: `node dist/e2e/fuzz/run.js [writes [seed]]`, by default 200,000 from a
 * seed of the moment, which is printed. Ends with status 1 and the smallest failing case otherwise.
 */
import { runCampaign } from "./campaign.js";

const [writes = "200000", seed = String(Date.now() % 1_000_000)] = process.argv.slice(2);

if (!/^[1-9]\d*$/.test(writes) || !/^\d+$/.test(seed)) {
  throw new RangeError("usage: node dist/e2e/fuzz/run.js [writes [seed]], both whole numbers");
}
process.stdout.write(`${writes} patches and applies from seed ${seed}\n`);
for (const share of await runCampaign(Number(writes), Number(seed))) {
  const { name, elapsedMs, note } = share;
  const seconds = (elapsedMs / 1000).toFixed(1);
  process.stdout.write(`${name.padEnd(34)} ${share.writes} writes in ${seconds} s  ${note}\n`);
}
