/** Values of the chart, each rendered: what they become, and the sentence where they cannot work. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { makeTempDir } from "../harness/temp-dir.js";
import {
  CHART,
  HELMS_OF_SLOW_TESTS,
  missingHelm,
  type Rendered,
  renderChart,
  runHelm,
  toSetFlags,
  type Values,
} from "./chart.js";

const run = promisify(execFile);
const BUNDLED = { "etcd.bundled.enabled": true };
const skip = await missingHelm("helm-4");

const REFUSED: readonly [Values, RegExp][] = [
  [{ "rollout.maxSurge": 0, "rollout.maxUnavailable": 0 }, /no replica could ever be replaced/],
  [{ "server.extraFlags": { "secure-port": 7443 } }, /server\.extraFlags: --secure-port is set by/],
  [{ "controllers.extraFlags": { "etcd-servers": "x" } }, /controllers\.extraFlags: --etcd-serv/],
  [{ "etcd.endpoints": ["etcd-0:2379"] }, /"etcd-0:2379" is not http:\/\/host:port/],
  [{ "etcd.auth.username": "u" }, /needs etcd\.auth\.passwordSecretName/],
  [
    { "autoscaling.enabled": true, "autoscaling.minReplicas": 12 },
    /minReplicas is above autoscaling\.maxReplicas/,
  ],
  [
    { "configuration.authorization": "a", "configuration.authorizationModes": ["RBAC"] },
    /only one of them/,
  ],
  [{ "service.externalTrafficPolicy": "Local" }, /is for the types NodePort and LoadBalancer/],
  [{ "service.ipFamilyPolicy": "Both" }, /ipFamilyPolicy/],
  [{ "etcd.bundled.clusterState": "old" }, /clusterState/],
];

for (const helm of HELMS_OF_SLOW_TESTS) {
  test(`P13: values that cannot work are refused when they are rendered (${helm})`, {
    skip: await missingHelm(helm),
  }, async () => {
    for (const [values, expected] of REFUSED) {
      const flags = toSetFlags({ ...BUNDLED, ...values });
      const { code, stderr } = await runHelm(helm, ["template", "demo", CHART, ...flags]);
      assert.notEqual(code, 0, JSON.stringify(values));
      assert.match(stderr, expected, JSON.stringify(values));
    }
  });
}

test("P13: every container says what it needs, so that a quota lets it in", { skip }, async () => {
  const objects = await renderChart("helm-4", {
    ...BUNDLED,
    "redis.bundled.enabled": true,
    "backup.enabled": true,
    "certificates.source": "job",
  });
  let count = 0;
  for (const { kind, metadata, spec } of objects) {
    const template = (spec?.jobTemplate?.spec ?? spec)?.template;
    const pod = kind === "Pod" ? spec : template?.spec;
    for (const container of [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])]) {
      const { requests } = container.resources ?? {};
      assert.ok(requests?.cpu && requests.memory, `${kind}/${metadata.name}: ${container.name}`);
      // The restricted Pod Security level.
      assert.equal(pod.securityContext.runAsNonRoot, true);
      assert.equal(pod.securityContext.seccompProfile.type, "RuntimeDefault");
      assert.equal(container.securityContext.allowPrivilegeEscalation, false);
      assert.deepEqual(container.securityContext.capabilities.drop, ["ALL"]);
      count++;
    }
  }
  assert.equal(count, 9);
});

test("P13: a Service has both families, labels and the client's address; etcd and loops listen on both", {
  skip,
}, async () => {
  const objects = await renderChart("helm-4", {
    ...BUNDLED,
    "server.bindAddress": "::",
    "etcd.bundled.clusterState": "existing",
    "service.type": "LoadBalancer",
    "service.labels": { team: "platform" },
    "service.ipFamilyPolicy": "RequireDualStack",
    "service.ipFamilies": ["IPv6", "IPv4"],
    "service.externalTrafficPolicy": "Local",
    "service.loadBalancerClass": "example.com/lb",
  });
  const { metadata, spec } = find(objects, "Service", "demo-keelson");
  assert.equal(metadata.labels?.team, "platform");
  const { ipFamilyPolicy, ipFamilies, externalTrafficPolicy, loadBalancerClass } = spec;
  assert.deepEqual(
    { ipFamilyPolicy, ipFamilies, externalTrafficPolicy, loadBalancerClass },
    {
      ipFamilyPolicy: "RequireDualStack",
      ipFamilies: ["IPv6", "IPv4"],
      externalTrafficPolicy: "Local",
      loadBalancerClass: "example.com/lb",
    },
  );
  const argsOf = (kind: string, name: string): string[] =>
    find(objects, kind, name).spec.template.spec.containers[0].args;
  const member = argsOf("StatefulSet", "demo-keelson-etcd");
  assert.ok(member.includes("--listen-client-urls=http://[::]:2379"));
  assert.ok(member.includes("--initial-cluster-state=existing"));
  const loops = argsOf("Deployment", "demo-keelson-controllers");
  assert.ok(loops.includes("--metrics-bind-address=[::]:10257"));
});

test("P13: the loops mount no key of the replicas, and further objects are rendered", {
  skip,
}, async () => {
  const objects = await renderChart("helm-4", {
    ...BUNDLED,
    "certificates.source": "job",
    extraObjects: [
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "{{ .Release.Name }}-more" } },
    ],
  });
  find(objects, "ConfigMap", "demo-more");
  const { volumes } = find(objects, "Deployment", "demo-keelson-controllers").spec.template.spec;
  const tls = volumes.find(({ name }: { name: string }) => name === "tls");
  assert.deepEqual(tls.secret.items, [{ key: "ca.crt", path: "ca.crt" }]);
});

test("P6: every graph of the dashboard is of the releases that are chosen", async () => {
  const text = await readFile(join(CHART, "files", "dashboards", "keelson.json"), "utf8");
  const { panels, templating } = JSON.parse(text);
  const names = templating.list.map(({ name }: { name: string }) => name);
  assert.deepEqual(names, ["datasource", "namespace", "release", "instance"]);
  for (const { title, targets = [] } of panels) {
    for (const { expr } of targets) {
      const [selectors, chosen] = [
        /\{job="/g,
        /namespace=~"\$namespace", release=~"\$release"/g,
      ].map((pattern) => [...expr.matchAll(pattern)].length);
      assert.equal(chosen, selectors, `${title}: ${expr}`);
    }
  }
});

test("P13: a backup gets the name of its time, and the oldest go", async () => {
  await using folder = await makeTempDir("backup");
  const text = await readFile(join(CHART, "files", "keep-backup.mjs"), "utf8");
  const script = text.replace('"/backup"', JSON.stringify(folder.path));
  const old = ["etcd-20200101T000000Z.db", "etcd-20210101T000000Z.db", "etcd-20220101T000000Z.db"];
  for (const name of [...old, "taken", "notes"]) await writeFile(join(folder.path, name), name);
  const args = ["--input-type=module", "--eval", script];
  await run(process.execPath, args, { env: { KEEP: "2" } });
  const names = (await readdir(folder.path)).sort();
  assert.deepEqual(
    names.filter((name) => !/^etcd-20[3-9]|^etcd-202[3-9]/.test(name)),
    ["etcd-20220101T000000Z.db", "notes"],
  );
  assert.equal(names.length, 3);
  const newest = names.find((name) => /^etcd-202[3-9]/.test(name)) ?? "";
  assert.equal(await readFile(join(folder.path, newest), "utf8"), "taken");
  // Without a snapshot nothing is removed.
  await assert.rejects(run(process.execPath, args, { env: { KEEP: "1" } }));
  assert.equal((await readdir(folder.path)).length, 3);
});

function find(objects: readonly Rendered[], kind: string, name: string): Rendered {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  assert.ok(found, `${kind}/${name}`);
  return found;
}
