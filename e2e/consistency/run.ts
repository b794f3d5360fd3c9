/**
 * The command: `node dist/e2e/consistency/run.js --minutes=10 --seed=1 --store=etcd --replicas=3`.
 * Prints what it does, then the report; exit status 1 when a guarantee was broken. docs/dev/consistency.md
 * says how to read it.
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { FAULTS, parseFaults } from "./faults.js";
import { runFire } from "./fire.js";
import { formatReport, hasFailed } from "./report.js";

const OPTIONS = {
  minutes: { type: "string", default: "10" },
  seed: { type: "string" },
  kind: { type: "string", default: "built-in" },
  "control-planes": { type: "string", default: "0" },
  store: { type: "string", default: "etcd" },
  replicas: { type: "string", default: "3" },
  "etcd-members": { type: "string", default: "3" },
  "etcd-transport": { type: "string", default: "lean" },
  faults: { type: "string", default: "all" },
  "round-seconds": { type: "string", default: "30" },
  clients: { type: "string", default: "10" },
  watchers: { type: "string", default: "4" },
  names: { type: "string", default: "8" },
  "think-ms": { type: "string", default: "10" },
  "keep-going": { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

const HELP = `Usage: node dist/e2e/consistency/run.js [options]
  --minutes=10        how long the work goes on (checks and recovery come on top)
  --seed=N            default: a random one, printed
  --kind=built-in     or custom: of a kind whose definition changes all the time
  --control-planes=0  below the root, each with so many clients and watchers; 0: in the root
  --store=etcd        or embedded (one replica)
  --replicas=3        servers over one etcd
  --etcd-members=3    size of the etcd cluster
  --etcd-transport=lean  or grpc, as the flag of the server
  --faults=all        none, or a list of ${FAULTS.join(", ")}
  --round-seconds=30  work between two checks
  --clients=10        that read and write
  --watchers=4        besides one that follows everything on each replica
  --names=8           objects per namespace; fewer = more conflicts
  --think-ms=10       mean wait of a client between two operations
  --keep-going        do not stop at the first round with a violation
`;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: OPTIONS });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const { store, kind } = values;
  if (kind !== "built-in" && kind !== "custom") throw new TypeError(`no such kind: ${kind}`);
  if (store !== "etcd" && store !== "embedded") throw new TypeError(`no such store: ${store}`);
  const seed = values.seed === undefined ? randomInt(2 ** 31) : wholeNumber("seed", values.seed);
  const startedAt = performance.now();
  const log = (line: string) => {
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1).padStart(7);
    process.stdout.write(`${seconds} s  ${line}\n`);
  };
  log(`seed ${seed}`);
  const report = await runFire({
    seed,
    kind,
    store,
    controlPlanes: wholeNumber("control-planes", values["control-planes"]),
    durationMs: Number(values.minutes) * 60_000,
    roundMs: wholeNumber("round-seconds", values["round-seconds"]) * 1_000,
    replicas: wholeNumber("replicas", values.replicas),
    etcdMembers: wholeNumber("etcd-members", values["etcd-members"]),
    inRooms: true,
    flags: [`--etcd-transport=${values["etcd-transport"]}`],
    faults: parseFaults(values.faults),
    clients: wholeNumber("clients", values.clients),
    wanderers: wholeNumber("watchers", values.watchers),
    namesPerNamespace: wholeNumber("names", values.names),
    thinkMs: wholeNumber("think-ms", values["think-ms"]),
    stopsAt: values["keep-going"] ? "none" : "any",
    log,
  });
  process.stdout.write(`\n${formatReport(report)}\n`);
  if (hasFailed(report)) process.exitCode = 1;
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new TypeError(`--${name}=${text} is no whole number`);
  return Number(text);
}

await main();
// Faults may have left sockets behind that node would wait for.
process.exit();
