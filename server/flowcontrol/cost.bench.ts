/**
 * `node dist/server/flowcontrol/cost.bench.js`: the cost of priority and fairness for a request that need not
 * wait: classification, its turn on the thread, taking a seat and releasing it. Compare with the CPU of a get
 * (docs/dev/performance.md).
 */
import { nextTurn } from "../../storage/base/next-turn.js";
import { createNaming, DEFAULT_VENDOR } from "../api/naming.js";
import { parseRequestInfo } from "../request/request-info.js";
import { createUser } from "../request/user-info.js";
import { mandatoryObjects, suggestedObjects } from "./default-objects.js";
import { FlowControl } from "./flow-control.js";
import { NO_TIMES } from "./flow-counts.js";
import { Headroom } from "./headroom.js";
import { toLevelSetting, toSchemaSetting } from "./settings.js";
import { Turns } from "./turns.js";

const ROUNDS = 25;
const REQUESTS = 10_000;

const naming = createNaming(DEFAULT_VENDOR);
const [mandatory, suggested] = [mandatoryObjects(naming), suggestedObjects(naming)].map(
  ({ levels, schemas }) => ({
    levels: levels.map(toLevelSetting),
    schemas: schemas.map(toSchemaSetting),
  }),
) as [
  { levels: ReturnType<typeof toLevelSetting>[]; schemas: ReturnType<typeof toSchemaSetting>[] },
  { levels: ReturnType<typeof toLevelSetting>[]; schemas: ReturnType<typeof toSchemaSetting>[] },
];
const control = new FlowControl({
  seats: 600,
  patienceMs: 15_000,
  mandatory,
  times: NO_TIMES,
  nowMs: performance.now(),
});
control.replace(suggested.levels, suggested.schemas, performance.now());
const turns = new Turns(new Headroom(0.5));
const groups = ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"];
const user = createUser({ name: "system:serviceaccount:shop:robot", groups });
const info = parseRequestInfo("GET", "/api/v1/namespaces/shop/configmaps/web");

/**
 * Each request in its own turn of the loop, which is the worst case: the first one schedules the next turn.
 */
async function cpuOf(work: () => void): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    for (let request = 0; request < REQUESTS; request++) {
      work();
      await nextTurn();
    }
    const { user: us, system } = process.cpuUsage(before);
    least = Math.min(least, (us + system) / REQUESTS);
  }
  return least;
}

function pass(): void {
  const nowMs = performance.now();
  turns.isFree(nowMs);
  const entry = control.enter({ user, info }, 1, nowMs);
  if (entry.type === "seated") entry.seats.release(performance.now());
}

await cpuOf(pass);
const bare = await cpuOf(() => {});
const cost = (await cpuOf(pass)) - bare;
process.stdout.write(`${cost.toFixed(2)} µs of CPU a request, least of ${ROUNDS} rounds\n`);
