/**
 * Alerts, in a real Prometheus: each fires by the fault that it is for, and is resolved after it. And
 * what alerts and dashboards ask for is there under /metrics, and documented.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { eventually } from "../harness/eventually.js";
import { isLong } from "../harness/is-long.js";
import { startServer } from "../harness/server-process.js";
import { openRawEtcdAt } from "../reads/raw-etcd.js";
import { startEtcd } from "../tools/etcd.js";
import { findTool, repositoryRoot } from "../tools/find-tool.js";
import { startTopology, type Topology } from "./topology.js";
import { VERBS, type VerbName } from "./verbs.js";

const FILES = join(repositoryRoot(), "helm", "keelson", "files");
/** Of etcd and of Prometheus itself. */
const FOREIGN = /^(up|etcd_(server|mvcc|disk)_.*)$/;
/** Served where what they are about is configured, or by the control loops: that they are documented must do here. */
const ELSEWHERE =
  /^(apiserver_(audit|encryption_config_controller|manifest_admission_config_controller)|leader_election)_/;

interface Rule {
  readonly alert: string;
  readonly expr: string;
}

async function rules(): Promise<Rule[]> {
  const { groups } = parse(await readFile(join(FILES, "alerts.yaml"), "utf8"));
  return groups.flatMap(({ rules: all }: { rules: Rule[] }) => all);
}

/** Names of metrics in an expression: words before a selector, and those of rates and functions aside. */
function metricsIn(expression: string): string[] {
  const names = expression.match(/\b[a-z][a-z0-9_]+(?=\{)/g) ?? [];
  return names.filter((name) => !FOREIGN.test(name));
}

test("CARD-08: what alerts and dashboards ask for is served, and docs/run/operations.md has all that is served", async () => {
  await using etcd = await startEtcd();
  await using overEtcd = await startServer({ etcdEndpoints: [etcd.endpoint] });
  await using embedded = await startServer();
  const served = new Set<string>();
  for (const { client } of [overEtcd, embedded]) {
    await client.get("/api/v1/namespaces");
    const { text } = (await client.get("/metrics")).expect(200);
    for (const [, name = ""] of text.matchAll(/^# TYPE (\S+)/gm)) served.add(name);
  }
  const isServed = (name: string) =>
    served.has(name) || served.has(name.replace(/_(bucket|sum|count)$/, ""));

  const expressions = (await rules()).map(({ expr }) => expr);
  for (const file of await readdir(join(FILES, "dashboards"))) {
    const { panels } = JSON.parse(await readFile(join(FILES, "dashboards", file), "utf8"));
    for (const { targets = [] } of panels as { targets?: { expr: string }[] }[]) {
      expressions.push(...targets.map(({ expr }) => expr));
    }
  }
  assert.ok(expressions.length > 40);
  const page = await readFile(join(repositoryRoot(), "docs", "run", "operations.md"), "utf8");
  const documented = new Set([...page.matchAll(/^\| `([a-z0-9_]+)` \|/gm)].map(([, name]) => name));
  const missing = expressions
    .flatMap(metricsIn)
    .filter((name) => !isServed(name) && !(ELSEWHERE.test(name) && documented.has(name)));
  assert.deepEqual([...new Set(missing)], []);
  const own = [...served].filter((name) => !/^(nodejs|process)_/.test(name));
  assert.deepEqual(
    own.filter((name) => !documented.has(name)),
    [],
    "metrics without a row in docs/run/operations.md",
  );
});

test("every alert has a run-book in docs/run/alerts.md", async () => {
  const page = await readFile(join(repositoryRoot(), "docs", "run", "alerts.md"), "utf8");
  for (const { alert } of await rules())
    assert.match(page, new RegExp(`^\\| \`${alert}\` \\|`, "m"));
});

/** The fault for each alert, what keeps the API busy meanwhile, and what to expect. */
interface Case {
  readonly alerts: readonly string[];
  readonly verb: VerbName;
  readonly index?: number;
}

const QUICK: readonly Case[] = [
  { alerts: ["KeelsonReplicaDown"], verb: "kill replica", index: 2 },
  { alerts: ["KeelsonEtcdMemberDown"], verb: "kill etcd member", index: 2 },
];

const SLOW: readonly Case[] = [
  ...QUICK,
  { alerts: ["KeelsonViewBehind"], verb: "part replica from etcd", index: 1 },
  {
    alerts: ["KeelsonStoreErrors", "KeelsonErrors", "KeelsonEtcdNoLeader"],
    verb: "kill etcd majority",
  },
  { alerts: ["KeelsonDown", "KeelsonReleaseDown"], verb: "kill all replicas" },
  {
    alerts: ["KeelsonConsistentReadsFail"],
    verb: "silence replica's way to etcd",
    index: 0,
  },
  {
    alerts: ["KeelsonViewReloaded"],
    verb: "part replica from etcd for longer than its history",
    index: 2,
  },
  {
    alerts: ["KeelsonSlow", "KeelsonStoreSlow", "KeelsonWatchesLate"],
    verb: "crawling way to etcd",
    index: 1,
  },
  { alerts: ["KeelsonEventLoopLate"], verb: "starve replica", index: 2 },
  { alerts: ["KeelsonRequestsRejected"], verb: "flood replica", index: 0 },
];

test("CARD-08: alerts fire by the fault that they are for, and are resolved after it", {
  skip: (await findTool("prometheus")) === undefined && "Prometheus is not to be had",
}, async (t) => {
  await using topology = await startTopology({ redis: false, rooms: false });
  const { prometheus } = topology;
  assert.ok(prometheus);
  await eventually("all replicas are scraped", async () => {
    return [...(await prometheus.query('up{job="keelson"}')).values()].join() === "1,1,1";
  });
  await using _busy = keepBusy(topology);
  for (const { alerts, verb, index = 0 } of isLong ? SLOW : QUICK) {
    const begun = performance.now();
    const undo = await VERBS[verb]({ topology, index });
    for (const alert of alerts) {
      await eventually(`${alert} fires`, async () => (await prometheus.firing()).includes(alert));
    }
    const firedMs = performance.now() - begun;
    await undo?.();
    for (const alert of alerts) {
      const isOver = async () => !(await prometheus.firing()).includes(alert);
      await eventually(`${alert} is resolved`, isOver);
    }
    t.diagnostic(
      `${verb}: ${alerts} fired after ${Math.round(firedMs)} ms, resolved after ${Math.round(performance.now() - begun)} ms`,
    );
  }
  const { etcd } = topology.cluster;
  assert.ok(etcd);
  await using raw = await openRawEtcdAt(etcd.endpoints[0] ?? "", "/registry");
  await raw.put("/registry/core/configmaps/default/junk", "no object");
  const firing = async () => (await prometheus.firing()).includes("KeelsonCorruptObjects");
  await eventually("KeelsonCorruptObjects fires", firing);
  await raw.delete("/registry/core/configmaps/default/junk");
  await eventually("KeelsonCorruptObjects is resolved", async () => !(await firing()));
});

/** Writes, reads and watches without pause, at every replica. */
function keepBusy(topology: Topology): AsyncDisposable {
  const path = "/api/v1/namespaces/default/configmaps/busy";
  const ending = new AbortController();
  const work = topology.replicas.map(async (replica, index) => {
    for (let round = 0; !ending.signal.aborted; round++) {
      const body = { metadata: { name: `busy-${index}` }, data: { round: String(round) } };
      const signal = AbortSignal.timeout(12_000);
      const at = `${path}-${index}`;
      const put = () => replica.client.request(at, { method: "PUT", body, signal });
      const answer = await put().catch(() => undefined);
      if (answer?.status === 404)
        await replica.client.post(path.replace("/busy", ""), body).catch(() => undefined);
      await replica.client.request(at, { signal }).catch(() => undefined);
      if (answer === undefined) await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
  const watches = topology.replicas.map(async ({ client }) => {
    while (!ending.signal.aborted) {
      try {
        const watched = path.replace("/busy", "");
        for await (const _ of await client.watch(`${watched}?watch=1`, ending.signal));
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  });
  return {
    async [Symbol.asyncDispose]() {
      ending.abort();
      await Promise.all([...work, ...watches]);
    },
  };
}
