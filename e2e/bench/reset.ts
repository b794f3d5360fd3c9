/**
 * How long `api.reset()` takes, and how much CPU, which other programs do not change, over 1,000 objects of which 50 differ: twenty times, in this process. Run by hand:
 * `node dist/e2e/bench/reset.js`.
 */
import { startKeelson } from "../../server/start-keelson.js";
import { HttpsClient } from "../harness/https-client.js";

const OBJECTS = 1_000;
const CHANGED = 50;
const ROUNDS = 20;
const PATH = "/api/v1/namespaces/default/configmaps";

const api = await startKeelson();
const admin = new HttpsClient(api.url, api);
for (let i = 0; i < OBJECTS; i++) {
  await admin.post(PATH, { metadata: { name: `c-${i}` }, data: { text: "x".repeat(500) } });
}
const snapshot = await api.snapshot();
const times: number[] = [];
const cpu = { ms: 0 };
for (let round = 0; round < ROUNDS; round++) {
  for (let i = 0; i < CHANGED; i++) {
    const path = `${PATH}/c-${(round * CHANGED + i) % OBJECTS}`;
    if (i % 2 === 0) await admin.delete(path);
    else await admin.put(path, { metadata: { name: path.split("/").at(-1) }, data: { i: "1" } });
  }
  const startedAt = performance.now();
  const before = process.cpuUsage();
  await api.reset(snapshot);
  times.push(performance.now() - startedAt);
  const { user, system } = process.cpuUsage(before);
  cpu.ms += (user + system) / 1_000;
}
times.sort((a, b) => a - b);
const at = (share: number) => `${times[Math.floor(times.length * share)]?.toFixed(1)} ms`;
process.stdout.write(
  `${OBJECTS} objects, ${CHANGED} differ: median ${at(0.5)}, slowest ${at(0.99)}; CPU ${(cpu.ms / ROUNDS).toFixed(1)} ms\n`,
);
admin.close();
await api.stop();
