/**
 * Every value of the chart, one by one: its schema takes its default and nothing of another type, and what it is set to shows in what is
 * rendered. Texts, numbers, lists and maps get a mark of their own and are set together, in a few settings in which each
 * counts somewhere; switches and choices are set one at a time. A value that changes nothing is dead.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Ajv } from "ajv";
import { CHART, missingHelm, type Values } from "./chart.js";
import { renderMany } from "./render-many.js";
import { type ChartValue, readChartValues } from "./values-table.js";

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly maximum?: number;
  readonly items?: Schema;
  readonly additionalProperties?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
}

const read = (name: string) => readFile(join(CHART, name), "utf8");
const SCHEMA: Schema = JSON.parse(await read("values.schema.json"));
const VALUES = readChartValues(await read("values.yaml")).flatMap(leavesOf);
const skip = await missingHelm("helm-4");

/** One comment may be for a map whose keys the schema knows. */
function leavesOf(value: ChartValue): ChartValue[] {
  const known = Object.keys(schemaOf(value.path).properties ?? {});
  if (known.length === 0) return [value];
  const defaults = value.default as Record<string, unknown>;
  return known.map((key) => ({
    ...value,
    path: `${value.path}.${key}`,
    default: defaults[key],
  }));
}

function schemaOf(path: string): Schema {
  return path.split(".").reduce((schema: Schema, key) => schema.properties?.[key] ?? {}, SCHEMA);
}

/** Where a mark would not be taken: what the schema or a refusal asks for, still like nothing else. */
const SPECIAL: Values = {
  nameOverride: "mark-name",
  fullnameOverride: "mark-full",
  heapMegabytes: 1777,
  "image.digest": `sha256:${"0123456789abcdef".repeat(4)}`,
  "server.bindAddress": "2001:db8::77",
  "server.goawayChance": 0.0123,
  "server.serviceClusterIPRange": "10.77.0.0/24",
  "server.auditLogPath": "/tmp/mark-audit",
  "server.extraFlags": { "mark-server-flag": "mark-server-flag" },
  "server.extraVolumes": [{ name: "mark-volume", emptyDir: {} }],
  "server.extraVolumeMounts": [{ name: "mark-volume", mountPath: "/mark-mount" }],
  "controllers.loops": ["-serviceaccount-token"],
  "controllers.extraFlags": { "mark-loops-flag": "mark-loops-flag" },
  affinity: { nodeAffinity: "mark-affinity" },
  tolerations: [{ key: "mark-toleration" }],
  extraObjects: [{ apiVersion: "mark/v7", kind: "Mark", metadata: { name: "mark" } }],
  "rollout.maxSurge": "71%",
  "rollout.maxUnavailable": "72%",
  "podDisruptionBudget.maxUnavailable": "73%",
  "service.nodePort": 30_777,
  "service.loadBalancerSourceRanges": ["192.0.2.78/32"],
  "service.ipFamilies": ["IPv6"],
  "etcd.endpoints": ["https://mark-etcd:23790"],
  "etcd.prefix": "/mark-prefix",
  "etcd.bundled.storageSize": "771Gi",
  "redis.url": "rediss://mark-redis:26379",
  "redis.bundled.maxMemory": "772mb",
  "backup.schedule": "7 7 7 7 *",
  "backup.storageSize": "773Gi",
  "certificates.extraNames": ["mark-extra.example"],
  "certificates.certManager.duration": "7777h",
  "certificates.certManager.renewBefore": "777h",
  "certificates.job.renewalSchedule": "8 8 8 8 *",
  "configuration.authorizationModes": ["ABAC", "Webhook"],
  "configuration.existingSecretFiles": ["tracing"],
  "ingress.host": "mark-host.example",
  "gateway.apiVersion": "gateway.networking.k8s.io/v1mark",
  "gateway.hostnames": ["mark-gateway.example"],
  "monitoring.serviceMonitor.interval": "771s",
  "monitoring.podMonitors.interval": "772s",
  "networkPolicy.etcdPort": 23_790,
  "networkPolicy.redisPort": 26_379,
  "autoscaling.minReplicas": 777_001,
  "autoscaling.maxReplicas": 777_002,
};

const ON: Values = {
  "controlPlanes.enabled": true,
  "ingress.enabled": true,
  "gateway.enabled": true,
  "networkPolicy.enabled": true,
  "backup.enabled": true,
  "monitoring.serviceMonitor.enabled": true,
  "monitoring.podMonitors.enabled": true,
  "monitoring.prometheusRule.enabled": true,
  "monitoring.dashboards.enabled": true,
  "service.type": "LoadBalancer",
};

/** What is switched on, and which values stay as they are: those of something else, which are refused beside it. */
interface Setting {
  readonly switches: Values;
  readonly unset: readonly string[];
}

const OWN_ETCD = ["etcd.endpoints", "etcd.tls", "etcd.auth", "networkPolicy.etcdPort"];
const OWN_REDIS = ["redis.url", "redis.password", "redis.ca", "networkPolicy.redisPort"];
const MODES = ["Modes", "Webhook", "Policy"].map((end) => `configuration.authorization${end}`);

const SETTINGS: Readonly<Record<string, Setting>> = {
  external: {
    switches: { ...ON, "certificates.source": "secret" },
    unset: [
      ...["image.digest", "fullnameOverride", "certificates.rootAuthority", "monitoring.token$"],
      ...["configuration.authorization$", "configuration.existing", "backup.existingClaim"],
    ],
  },
  bundled: {
    switches: {
      ...ON,
      "etcd.bundled.enabled": true,
      "redis.bundled.enabled": true,
      "autoscaling.enabled": true,
      "certificates.source": "certManager",
      "serviceAccount.create": false,
    },
    unset: [
      ...[...OWN_ETCD, ...OWN_REDIS, ...MODES, "fullnameOverride", "image.tag"],
      ...["certificates.secretName", "configuration.existing", "monitoring.tokenSecretName"],
    ],
  },
  existing: {
    switches: { ...ON, "etcd.bundled.enabled": true, "certificates.source": "job" },
    unset: [...OWN_ETCD, ...OWN_REDIS, "certificates.secretName", "monitoring.token$"].concat(
      VALUES.map(({ path }) => `${path}$`).filter((path) =>
        /^configuration\.(?!existing)/.test(path),
      ),
    ),
  },
};

/** What else must be set for a switch or a choice to count. */
const BESIDE: Readonly<Record<string, Values>> = {
  "certificates.certManager.issuerRef.kind": certManager(),
  "certificates.certManager.clusterNames": { ...certManager(), "certificates.extraNames": ["a.b"] },
  "service.externalTrafficPolicy": { "service.type": "NodePort" },
};
/** Without it Helm refuses, with a sentence that e2e/helm/values.test.ts asks for. */
const REFUSED_OTHERWISE = "monitoring.serviceMonitor.insecureSkipVerify";
/** How a choice is made that needs others. */
const CHOSEN: Readonly<Record<string, Values>> = {
  "certificates.source": { "certificates.source": "secret", "certificates.secretName": "mine" },
  "etcd.bundled.enabled": { "etcd.bundled.enabled": false, "etcd.endpoints": ["http://etcd:2379"] },
};

function certManager(): Values {
  const issuer = "certificates.certManager.issuerRef.name";
  return { "certificates.source": "certManager", [issuer]: "issuer" };
}

/** What it is set to, and how that looks where it is rendered. */
function markOf({ path }: ChartValue, index: number): { readonly value: unknown; seen: string } {
  const schema = schemaOf(path);
  const special = SPECIAL[path];
  const name = `mark-${index}`;
  if (special !== undefined) return { value: special, seen: lookOf(special) };
  if (typesOf(schema).includes("integer")) {
    const value = schema.maximum === undefined ? 1_000_000_000 + index : 20_000 + index;
    return { value, seen: String(value) };
  }
  if (schema.type === "array") {
    const item = schema.items?.type === "object" ? { name, key: name } : name;
    return { value: [item], seen: name };
  }
  if (schema.type === "object") return { value: { [name]: name }, seen: name };
  return { value: name, seen: name };
}

function lookOf(value: unknown): string {
  if (Array.isArray(value)) return lookOf(value[0]);
  if (typeof value !== "object" || value === null) return String(value);
  return String(Object.values(value)[0]);
}

function typesOf({ type = [] }: Schema): readonly string[] {
  return typeof type === "string" ? [type] : type;
}

/** One of few: set by itself. */
function isChoice({ path }: ChartValue): boolean {
  const schema = schemaOf(path);
  return schema.type === "boolean" || schema.enum !== undefined;
}

test("each value's schema takes its default, and nothing of another type", () => {
  const ajv = new Ajv({ strict: false });
  const wrong: Readonly<Record<string, unknown>> = {
    string: 7,
    integer: "seven",
    number: "seven",
    boolean: "yes",
    array: "seven",
    object: "seven",
  };
  for (const { path, default: value } of VALUES) {
    const schema = schemaOf(path);
    const isTaken = ajv.compile(schema);
    assert.ok(isTaken(value), `${path}: its own default`);
    assert.ok(!isTaken(wrong[typesOf(schema)[0] ?? "string"]), `${path}: another type`);
  }
});

test("P5: each text, number, list and map is rendered as it is set, numbers of any size", {
  skip,
}, async (t) => {
  const marked = VALUES.filter((value) => !isChoice(value)).map((value, index) => ({
    path: value.path,
    ...markOf(value, index),
  }));
  const isSet = ({ unset }: Setting, path: string) =>
    !unset.some((prefix) => `${path}$`.startsWith(prefix));
  const cases = Object.entries(SETTINGS).map(([name, setting]) => {
    const set = marked.filter(({ path }) => isSet(setting, path));
    const values = Object.fromEntries(set.map(({ path, value }) => [path, value]));
    return [name, { ...values, ...setting.switches } as Values] as const;
  });
  cases.push(["named", { "etcd.bundled.enabled": true, fullnameOverride: "mark-full" }]);
  const texts = await renderMany("helm-4", Object.fromEntries(cases));
  for (const text of texts.values()) {
    assert.deepEqual(text.match(/^.*\d[eE]\+\d.*$/gm) ?? [], []);
  }
  const decoded = [...texts.values()].map(withSecrets).join("\n");
  const dead = marked.filter(({ seen }) => !decoded.includes(seen)).map(({ path }) => path);
  assert.deepEqual(dead, []);
  t.diagnostic(`${marked.length} values`);
});

test("each switch and each choice changes what is rendered", { skip }, async (t) => {
  const base: Values = { ...ON, "service.type": "ClusterIP", "etcd.bundled.enabled": true };
  const scrape = { "monitoring.serviceMonitor.authoritySecretName": "authority" };
  const cases: Record<string, Values> = {};
  const befores = new Map<string, string>();
  const pairs: [string, string][] = [];
  for (const value of VALUES.filter(isChoice)) {
    if (value.path === REFUSED_OTHERWISE) continue;
    const { path, default: usual } = value;
    const beside = { ...base, ...scrape, ...BESIDE[path], [path]: base[path] ?? usual } as Values;
    const options = schemaOf(path).enum ?? [!beside[path]];
    const other = options.find((option) => option !== usual && option !== "");
    const name = path.replaceAll(".", "-").toLowerCase();
    const key = JSON.stringify(beside, Object.keys(beside).sort());
    const before = befores.get(key) ?? `${name}-before`;
    befores.set(key, before);
    cases[before] = beside;
    cases[`${name}-set`] = { ...beside, ...(CHOSEN[path] ?? { [path]: other }) } as Values;
    pairs.push([before, `${name}-set`]);
  }
  const texts = await renderMany("helm-4", cases);
  const bare = (name: string) =>
    texts.get(name)?.replace(/^# Source: .*$|helm\.sh\/chart: .*/gm, "");
  const dead = pairs.filter(([before, after]) => bare(before) === bare(after));
  assert.deepEqual(dead, []);
  t.diagnostic(`${pairs.length} switches and choices`);
});

/** A Secret's values in plain text below it. */
function withSecrets(text: string): string {
  const plain = [...text.matchAll(/^ {2}[\w.-]+: "?([A-Za-z0-9+/]{8,}={0,2})"?$/gm)].map(
    ([, encoded = ""]) => Buffer.from(encoded, "base64").toString(),
  );
  return [text, ...plain].join("\n");
}
