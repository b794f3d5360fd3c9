/** A real Prometheus beside the replicas, with the chart's alerts, on a clock that tests can wait for. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Credentials } from "../harness/https-client.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { Child } from "../tools/child.js";
import { repositoryRoot, requireTool } from "../tools/find-tool.js";
import { freePort } from "../tools/free-port.js";

export interface PrometheusProcess extends AsyncDisposable {
  readonly url: string;
  /** Value of an instant query, by the label `instance`, or "" where there is none. */
  query(expression: string): Promise<Map<string, number>>;
  /** Names of the alerts that fire now. */
  firing(): Promise<string[]>;
}

export interface PrometheusOptions {
  readonly ports: readonly number[];
  /** Of etcd's members. */
  readonly metricsUrls: readonly string[];
  /** Of control loops in processes of their own. */
  readonly loopsUrls?: readonly string[];
  readonly credentials: Credentials;
  /** Of every target, as the chart's monitors set them. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** Minutes of the alerts become seconds here, or a test of them would take an hour. */
export function quicken(rules: string): string {
  return rules
    .replace(/\[(\d+)m\]/g, (_, minutes) => `[${Math.max(5, Number(minutes) * 2)}s]`)
    .replace(/for: \d+m/g, "for: 1s");
}

const hostOf = (url: string) => new URL(url).host;

export async function startPrometheus(options: PrometheusOptions): Promise<PrometheusProcess> {
  const { ports, metricsUrls, loopsUrls = [], credentials, labels = {} } = options;
  const path = await requireTool("prometheus");
  const folder = await makeTempDir("prometheus");
  const port = await freePort();
  const at = (name: string) => join(folder.path, name);
  const rules = join(repositoryRoot(), "helm", "keelson", "files", "alerts.yaml");
  await writeFile(at("alerts.yaml"), quicken(await readFile(rules, "utf8")));
  await writeFile(at("ca.pem"), credentials.ca);
  await writeFile(at("cert.pem"), credentials.cert ?? "");
  await writeFile(at("key.pem"), credentials.key ?? "");
  const tls = { ca_file: at("ca.pem"), cert_file: at("cert.pem"), key_file: at("key.pem") };
  const replicas = ports.map((one) => `127.0.0.1:${one}`);
  const targetsAt = (targets: readonly string[]) => ({ static_configs: [{ targets, labels }] });
  const configuration = {
    global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
    rule_files: [at("alerts.yaml")],
    scrape_configs: [
      { job_name: "keelson", scheme: "https", tls_config: tls, ...targetsAt(replicas) },
      { job_name: "keelson-etcd", ...targetsAt(metricsUrls.map(hostOf)) },
      { job_name: "keelson-controllers", ...targetsAt(loopsUrls.map(hostOf)) },
    ],
  };
  // JSON is YAML.
  await writeFile(at("prometheus.yml"), JSON.stringify(configuration));
  const child = new Child(path, [
    `--config.file=${at("prometheus.yml")}`,
    `--storage.tsdb.path=${at("data")}`,
    `--web.listen-address=127.0.0.1:${port}`,
    "--log.level=error",
  ]);
  const url = `http://127.0.0.1:${port}`;
  await child.waitUntilReady(async () => (await fetch(`${url}/-/ready`)).ok);
  return {
    url,
    async query(expression) {
      const answer = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expression)}`);
      const { data } = (await answer.json()) as {
        data: { result: { metric: Record<string, string>; value: [number, string] }[] };
      };
      return new Map(
        data.result.map(({ metric, value }) => [metric.instance ?? "", Number(value[1])]),
      );
    },
    async firing() {
      const answer = await fetch(`${url}/api/v1/alerts`);
      const { data } = (await answer.json()) as {
        data: { alerts: { state: string; labels: { alertname: string } }[] };
      };
      const firing = data.alerts.filter(({ state }) => state === "firing");
      return [...new Set(firing.map(({ labels }) => labels.alertname))].sort();
    },
    async [Symbol.asyncDispose]() {
      await child.end("SIGTERM");
      await folder[Symbol.asyncDispose]();
    },
  };
}
