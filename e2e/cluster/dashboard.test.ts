/**
 * The dashboard's graphs, asked as Grafana asks: each query and each list to choose from, of a real Prometheus that scrapes a
 * replica and its etcd. Grafana itself is not to be had here.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "../harness/eventually.js";
import { startServer } from "../harness/server-process.js";
import { startEtcdCluster } from "../tools/etcd.js";
import { findTool, repositoryRoot } from "../tools/find-tool.js";
import { startPrometheus } from "./prometheus.js";

const FILE = join(repositoryRoot(), "helm", "keelson", "files", "dashboards", "keelson.json");
const MAPS = "/api/v1/namespaces/default/configmaps";
/** Of the targets, as the chart has them. */
const LABELS = { namespace: "here", release: "one" };
/** What Grafana puts in for "All", and for an interval of a few scrapes. */
const CHOSEN: Readonly<Record<string, string>> = {
  $namespace: ".*",
  $release: ".*",
  $instance: ".*",
  $__rate_interval: "10s",
};
/** Graphs that have nothing to show while nothing fails, and without webhooks and Redis. */
const SILENT =
  /^(?:Errors of the server|Requests to etcd that fail|Decisions remembered|Calls of webhooks|Redis: errors|Too many requests|Rejected by priority level and reason|Refused by decision)$/;

interface Target {
  readonly expr: string;
  readonly legendFormat: string;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: {
    readonly h: number;
    readonly w: number;
    readonly x: number;
    readonly y: number;
  };
  readonly targets?: readonly Target[];
}

type Series = readonly { readonly metric: Readonly<Record<string, string>> }[];

function chosen(text: string): string {
  return Object.entries(CHOSEN).reduce((done, [name, value]) => done.replaceAll(name, value), text);
}

async function ask<T>(url: string, path: string, query: Record<string, string>): Promise<T> {
  const answer = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(query)}`);
  const { status, data, error } = (await answer.json()) as {
    status: string;
    data: T;
    error?: string;
  };
  assert.equal(status, "success", `${error}: ${JSON.stringify(query)}`);
  return data;
}

test("#42 each graph of the dashboard is answered by a Prometheus that scrapes a replica, with the labels of its legend", {
  skip: (await findTool("prometheus")) === undefined && "Prometheus is not to be had",
}, async (t) => {
  await using etcd = await startEtcdCluster(1);
  await using server = await startServer({ etcdEndpoints: etcd.endpoints });
  const { client, port, credentials } = server;
  await using prometheus = await startPrometheus({
    ...{ ports: [port], metricsUrls: etcd.metricsUrls, credentials, labels: LABELS },
  });
  const { url } = prometheus;
  const { panels, templating } = JSON.parse(await readFile(FILE, "utf8")) as {
    panels: readonly Panel[];
    templating: { list: readonly { name: string; type: string; query: string }[] };
  };
  const watch = await client.watch(`${MAPS}?watch=1`);
  let count = 0;
  const move = async () => {
    (await client.post(MAPS, { metadata: { name: `moved-${count++}` } })).expect(201);
    await watch.next();
    (await client.get(MAPS)).expect(200);
  };
  let graphs = 0;
  for (const { title, targets = [] } of panels) {
    for (const { expr, legendFormat } of targets) {
      graphs++;
      const query = chosen(expr);
      assert.doesNotMatch(query, /\$/, title);
      const series = async () => {
        await move();
        const { result } = await ask<{ result: Series }>(url, "query", { query });
        return SILENT.test(title) || result.length > 0 ? result : undefined;
      };
      const result = await eventually(`${title} has something to show: ${query}`, series, 60_000);
      const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label);
      for (const { metric } of result) {
        assert.deepEqual(
          named.filter((label) => metric[label] === undefined),
          [],
          `${title}: ${JSON.stringify(metric)}`,
        );
      }
    }
  }
  t.diagnostic(`${graphs} queries of ${panels.length} panels`);
  assert.ok(graphs > 30);
  for (const { name, type, query } of templating.list) {
    if (type !== "query") continue;
    const [, selector = "", label = ""] = /^label_values\((.*), (\w+)\)$/.exec(chosen(query)) ?? [];
    const values = await ask<string[]>(url, `label/${label}/values`, { "match[]": selector });
    const expected = { ...LABELS, instance: `127.0.0.1:${port}` };
    assert.deepEqual(values, [expected[name as keyof typeof expected]], name);
  }
  await watch.return?.(undefined);
});

test("#42 the dashboard's panels have numbers of their own and do not lie upon each other", async () => {
  const { panels } = JSON.parse(await readFile(FILE, "utf8")) as { panels: readonly Panel[] };
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const taken = new Map<string, string>();
  for (const { title, gridPos } of panels) {
    const { x, y, w, h } = gridPos;
    assert.ok(x >= 0 && x + w <= 24, `${title}: wider than Grafana's 24 columns`);
    for (let column = x; column < x + w; column++) {
      for (let row = y; row < y + h; row++) {
        const place = `${column} ${row}`;
        assert.equal(taken.get(place), undefined, `${title} lies upon another`);
        taken.set(place, title);
      }
    }
  }
});
