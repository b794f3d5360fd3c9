/** The chart as it is rendered: with every pair of its switches' settings, by two major versions of Helm. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { isLong } from "../harness/is-long.js";
import {
  CHART,
  HELMS_OF_SLOW_TESTS,
  missingHelm,
  parseManifests,
  type Rendered,
  renderChart,
  runHelm,
  toSetFlags,
} from "./chart.js";
import { findLooseEnds } from "./join-up.js";
import { renderMany } from "./render-many.js";
import { allCombinations, OUTSIDE_SECRETS, pairwiseCombinations } from "./switches.js";
import { readChartValues, renderValuesTable, withValuesTable } from "./values-table.js";

const read = (name: string) => readFile(join(CHART, name), "utf8");
/** By one process of Helm. */
const COMBINATIONS_AT_ONCE = 50;
const BUNDLED = { "etcd.bundled.enabled": true };

interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
}

test("the README's table says all values, their defaults and what they mean", async () => {
  const table = renderValuesTable(readChartValues(await read("values.yaml")));
  const readme = await read("README.md");
  const hint = "build, then node dist/e2e/helm/write-values-table.js";
  assert.equal(readme, withValuesTable(readme, table), hint);
});

test("the schema knows each value and no other", async () => {
  const schema: Schema = JSON.parse(await read("values.schema.json"));
  const values: unknown = parse(await read("values.yaml"));
  const compare = (known: Schema, value: unknown, path: string): void => {
    if (known.properties === undefined) return;
    assert.equal(known.additionalProperties, false, path);
    const names = Object.keys(known.properties).filter((name) => `${path}${name}` !== "global");
    const given = value as Record<string, unknown>;
    assert.deepEqual(names.sort(), Object.keys(given).sort(), path);
    for (const name of names) {
      const below = known.properties[name];
      if (below !== undefined) compare(below, given[name], `${path}${name}.`);
    }
  };
  compare(schema, values, "");
});

for (const helm of HELMS_OF_SLOW_TESTS) {
  const skip = await missingHelm(helm);

  test(`CARD-06: every pair of switches renders objects that join up, and lints (${helm})`, {
    skip,
  }, async (t) => {
    const combinations = isLong ? allCombinations() : pairwiseCombinations();
    for (let index = 0; index < combinations.length; index += COMBINATIONS_AT_ONCE) {
      const some = combinations.slice(index, index + COMBINATIONS_AT_ONCE);
      const cases = Object.fromEntries(some.map(({ values }, at) => [`case-${at}`, values]));
      const texts = await renderMany(helm, cases);
      some.forEach(({ name }, at) => {
        const objects = parseManifests(texts.get(`case-${at}`) ?? "");
        assert.ok(objects.length > 5, name);
        assert.deepEqual(findLooseEnds(objects, { secrets: OUTSIDE_SECRETS }), [], name);
      });
    }
    for (const { name, values } of combinations.slice(0, isLong ? 40 : 2)) {
      const run = await runHelm(helm, ["lint", CHART, "--strict", ...toSetFlags(values)]);
      assert.equal(run.code, 0, `${name}: ${run.stdout}${run.stderr}`);
    }
    t.diagnostic(`${combinations.length} combinations`);
  });

  test(`P5: numbers of any size become flags and fields as they were written (${helm})`, {
    skip,
  }, async () => {
    const objects = await renderChart(helm, {
      ...BUNDLED,
      replicaCount: 10_000_000,
      "server.maxRequestsInflight": 1_000_000,
      "server.goawayChance": 0.00001,
      "server.extraFlags": { "watch-cache-bytes": 134_217_728, "some-list": [5_000_000, "a # b"] },
      "etcd.bundled.quotaBackendBytes": 8_589_934_592,
      heapMegabytes: 1_048_576,
      "resources.limits.memory": "2Ti",
    });
    const { replicas, template } = find(objects, "Deployment", "demo-keelson").spec;
    assert.equal(replicas, 10_000_000);
    const [{ args, env }] = template.spec.containers;
    const expected = [
      ...["--max-requests-inflight=1000000", "--goaway-chance=0.00001"],
      ...["--watch-cache-bytes=134217728", "--some-list=5000000", "--some-list=a # b"],
    ];
    for (const arg of expected) assert.ok(args.includes(arg), arg);
    assert.ok(JSON.stringify(env).includes("--max-old-space-size=1048576"));
    assert.doesNotMatch(JSON.stringify(objects), /\de\+\d/);
    const [member] = find(objects, "StatefulSet", "demo-keelson-etcd").spec.template.spec
      .containers;
    assert.ok(member.args.includes("--quota-backend-bytes=8589934592"));
  });

  test(`values that are wrong are refused with their path (${helm})`, { skip }, async () => {
    // One of each place that refuses: the schema (all of which the schema's own test tries), and templates.
    const wrong: [string, RegExp][] = [
      [
        "replicaCount=many,etcd.endpoint=x,server.goawayChance=0.5",
        /^(?=.*replicaCount)(?=.*goawayChance).*endpoint/s,
      ],
      ["certificates.source=secret", /certificates\.secretName is needed/],
      ["monitoring.serviceMonitor.enabled=true", /the token would go to whoever answers/],
      [
        "certificates.source=certManager,certificates.certManager.clusterNames=false",
        /leaves no name for the certificate/,
      ],
    ];
    for (const [setting, expected] of wrong) {
      const values = `etcd.bundled.enabled=true,${setting}`;
      const run = await runHelm(helm, ["template", "demo", CHART, "--set", values]);
      assert.notEqual(run.code, 0, setting);
      assert.match(run.stderr, expected, setting);
    }
    const none = await runHelm(helm, ["template", "demo", CHART]);
    assert.match(none.stderr, /etcd\.endpoints is needed/);
  });
}

test("CARD-06: pods end in the time that they are given, and are replaced without one missing", {
  skip: await missingHelm("helm-3"),
}, async () => {
  const objects = await renderChart("helm-3", BUNDLED);
  const deployment = find(objects, "Deployment", "demo-keelson");
  const { strategy, template } = deployment.spec;
  assert.deepEqual(strategy.rollingUpdate, { maxUnavailable: 0, maxSurge: 1 });
  const [container] = template.spec.containers;
  const seconds = (flag: string) =>
    Number(container.args.find((arg: string) => arg.startsWith(`--${flag}=`)).match(/=(\d+)s$/)[1]);
  const [, preStop] = container.lifecycle.preStop.exec.command;
  const needed =
    Number(preStop) +
    seconds("shutdown-delay-duration") +
    seconds("shutdown-watch-termination-grace-period") +
    seconds("shutdown-grace-period");
  assert.ok(template.spec.terminationGracePeriodSeconds > needed);
  // Who sends requests must have noticed before the listener closes.
  const { readinessProbe } = container;
  const noticed = readinessProbe.periodSeconds * readinessProbe.failureThreshold;
  assert.ok(seconds("shutdown-delay-duration") >= noticed);
  assert.equal(template.spec.automountServiceAccountToken, false);
});

test("what does not join up is found: the checks of these tests are checked", {
  skip: await missingHelm("helm-3"),
}, async () => {
  const objects = await renderChart("helm-3", { ...BUNDLED, "configuration.tokens": "a,b,c" });
  const without = (kind: string, name: string) =>
    objects.filter((object) => object.kind !== kind || object.metadata.name !== name);
  const complaints = (kind: string, name: string) =>
    findLooseEnds(without(kind, name), { secrets: [] }).join("\n");
  assert.match(
    complaints("Deployment", "demo-keelson"),
    /Service\/demo-keelson: selects the pods of 0/,
  );
  assert.match(complaints("Service", "demo-keelson-etcd-peers"), /there is no Service/);
  assert.match(complaints("ServiceAccount", "demo-keelson"), /there is no service account/);
  assert.match(complaints("Secret", "demo-keelson-configuration"), /nobody makes the Secret/);
});

test("a change of configuration that needs a restart replaces the pods, one that is read again does not", {
  skip: await missingHelm("helm-3"),
}, async () => {
  const digest = async (values: Record<string, string>) => {
    const objects = await renderChart("helm-3", { ...BUNDLED, ...values });
    const { annotations } = find(objects, "Deployment", "demo-keelson").spec.template.metadata;
    return annotations["keelson.dev/configuration"];
  };
  const before = await digest({});
  for (const file of ["authentication", "tokenWebhook"]) {
    assert.equal(await digest({ [`configuration.${file}`]: "kind: A" }), before);
  }
  assert.notEqual(await digest({ "configuration.tokens": "a,b,c" }), before);
});

test("P6: monitors give the jobs that alerts ask for, whatever the release is called", {
  skip: await missingHelm("helm-4"),
}, async () => {
  const values = {
    ...BUNDLED,
    nameOverride: "other",
    "certificates.source": "certManager",
    "certificates.certManager.issuerRef.name": "acme",
    "certificates.certManager.clusterNames": false,
    "certificates.extraNames": ["api.example.com", "192.0.2.7"],
    "monitoring.tokenSecretName": "outside",
    "monitoring.serviceMonitor.enabled": true,
    "monitoring.podMonitors.enabled": true,
    "monitoring.prometheusRule.enabled": true,
    "monitoring.prometheusRule.etcdJob": "etcd-of-mine",
  };
  const objects = await renderChart("helm-4", values, { release: "demo" });
  const jobs = objects
    .filter(({ kind }) => /Monitor$/.test(kind))
    .flatMap(({ spec }) => spec.endpoints ?? spec.podMetricsEndpoints)
    .map(({ relabelings }) => relabelings)
    .map(([job, release]: { targetLabel: string; replacement: string }[]) => {
      assert.deepEqual(release, { targetLabel: "release", replacement: "demo" });
      return job?.replacement;
    });
  assert.deepEqual(jobs.sort(), ["keelson", "keelson-controllers", "keelson-etcd"]);
  const rules = JSON.stringify(find(objects, "PrometheusRule", "demo-other").spec);
  assert.ok(rules.includes("etcd-of-mine") && !rules.includes('keelson-etcd\\"'));
  // P4: a public issuer knows no names of clusters, and vouches under the names that it knows.
  const { dnsNames, ipAddresses } = find(objects, "Certificate", "demo-other").spec;
  assert.deepEqual(
    { dnsNames, ipAddresses },
    { dnsNames: ["api.example.com"], ipAddresses: ["192.0.2.7"] },
  );
  const [endpoint] = find(objects, "ServiceMonitor", "demo-other").spec.endpoints;
  assert.deepEqual(endpoint.tlsConfig, { serverName: "api.example.com" });
  const { args } = find(objects, "Deployment", "demo-other").spec.template.spec.containers[0];
  assert.ok(args.includes("--optional-root-ca-file=/etc/keelson/tls/ca.crt"));
});

function find(objects: readonly Rendered[], kind: string, name: string): Rendered {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  assert.ok(found, `${kind}/${name}`);
  return found;
}
