/**
 * The chart installed into a running Keelson by Helm, in the long run by two major versions: installed, tested, upgraded,
 * rolled back and uninstalled, with strict validation; hooks run as processes.
 */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { test } from "node:test";
import { COMMAND } from "../harness/command.js";
import { eventually } from "../harness/eventually.js";
import type { HttpsClient } from "../harness/https-client.js";
import { startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { Child } from "../tools/child.js";
import { freePort } from "../tools/free-port.js";
import {
  CHART,
  HELMS_OF_SLOW_TESTS,
  type HelmName,
  missingHelm,
  parseManifests,
  type Rendered,
  runHelm,
  toSetFlags,
} from "./chart.js";
import { playNode } from "./play-node.js";

const NAMESPACE = "keelson";
const RELEASE = "demo";
const SERVICE = `https://demo-keelson.${NAMESPACE}.svc:443`;
const DEPLOYMENT = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/demo-keelson`;

const VALUES = {
  "etcd.bundled.enabled": true,
  "redis.bundled.enabled": true,
  "certificates.source": "job",
  "certificates.extraNames": ["api.example.com", "192.0.2.7"],
  "ingress.enabled": true,
  "networkPolicy.enabled": true,
  "monitoring.token": "scrape-me",
  "monitoring.dashboards.enabled": true,
  "autoscaling.enabled": false,
};

const BUNDLED = { "etcd.bundled.enabled": true };
const SECOND = { "redis.bundled.enabled": true, "monitoring.token": "another" };
const STRICT = "strict";
/** As long as a name may be set. */
const LONGEST = `k${"x".repeat(61)}k`;

/** Where the release's objects are, all of which go with it. */
const COLLECTIONS = [
  ...["apps/v1/deployments", "apps/v1/statefulsets", "policy/v1/poddisruptionbudgets"],
  ...["networking.k8s.io/v1/networkpolicies", "networking.k8s.io/v1/ingresses"],
  ...["rbac.authorization.k8s.io/v1/roles", "batch/v1/jobs"],
];

for (const helm of HELMS_OF_SLOW_TESTS) {
  const skip = await missingHelm(helm);
  test(`CARD-06: a release is installed, tested, upgraded, rolled back and uninstalled (${helm})`, {
    skip,
  }, async (t) => {
    await using server = await startServer();
    const { client } = server;
    const names = { [SERVICE]: "" };
    await using node = playNode(client, NAMESPACE, names);
    const env = {
      KUBECONFIG: server.kubeconfig,
      HELM_CACHE_HOME: server.dataDir,
      HELM_CONFIG_HOME: server.dataDir,
      HELM_DATA_HOME: server.dataDir,
    };
    const run = async (...args: string[]) => {
      const begun = performance.now();
      const done = await runHelm(helm, [...args, "--namespace", NAMESPACE], env);
      const words = `helm ${args[0]}: ${done.stdout}${done.stderr}${[...node.outputs].join("\n")}`;
      assert.equal(done.code, 0, words);
      // Validation has nothing to say, neither error nor warning.
      assert.doesNotMatch(done.stderr, /unknown field|deprecated/i);
      t.diagnostic(`helm ${args[0]}: ${Math.round(performance.now() - begun)} ms`);
      return done.stdout;
    };
    const flags = toSetFlags(VALUES);
    const notes = await run("install", RELEASE, CHART, "--create-namespace", ...flags);
    assert.match(notes, /for trials only/);
    // Beside it, in the same namespace.
    await run("install", "other", CHART, "--no-hooks", ...toSetFlags({ ...BUNDLED, ...SECOND }));
    await checkStrictly(helm, server, flags);

    // The hook made a certificate that is good for the Service and the names of the values.
    const path = `/api/v1/namespaces/${NAMESPACE}/secrets/demo-keelson-tls`;
    const secret = (await client.get(path)).expect(200).object as { data?: Record<string, string> };
    const certificate = new X509Certificate(Buffer.from(secret.data?.["tls.crt"] ?? "", "base64"));
    for (const name of [`demo-keelson.${NAMESPACE}.svc`, "api.example.com"]) {
      assert.equal(certificate.checkHost(name), name);
    }
    // P4: clients may come by addresses, and those inside the API's own cluster do.
    for (const ip of ["192.0.2.7", "10.0.0.1"]) assert.equal(certificate.checkIP(ip), ip);

    // The release's own replica, with the certificate that the hook made; before it runs, the test fails.
    const port = await freePort();
    names[SERVICE] = `https://127.0.0.1:${port}`;
    const failed = await runHelm(helm, ["test", RELEASE, "--namespace", NAMESPACE], env);
    assert.notEqual(failed.code, 0);
    assert.match(node.outputs.get("demo-keelson-test") ?? "", /\/livez: no answer/);
    await using _replica = await startReplica(port, secret.data);
    await run("test", RELEASE);
    const words = ["/livez", "/readyz", "/version", "/api/v1/secrets", "certificate"];
    assert.deepEqual(
      node.outputs.get("demo-keelson-test")?.trim().split("\n"),
      words.map((word) => `${word}: ok`),
    );
    // One whom the release's authority does not know is not taken for it.
    names[SERVICE] = server.url;
    const stranger = await runHelm(helm, ["test", RELEASE, "--namespace", NAMESPACE], env);
    assert.notEqual(stranger.code, 0);
    assert.match(node.outputs.get("demo-keelson-test") ?? "", /\/livez: no answer .*certificate/);

    const replicas = async () => {
      const { spec } = (await client.get(DEPLOYMENT)).expect(200).object as { spec?: unknown };
      return (spec as { replicas: number }).replicas;
    };
    assert.equal(await replicas(), 3);
    await run("upgrade", RELEASE, CHART, ...flags, "--set", "replicaCount=5,ingress.enabled=false");
    assert.equal(await replicas(), 5);
    const ingress = `/apis/networking.k8s.io/v1/namespaces/${NAMESPACE}/ingresses/demo-keelson`;
    (await client.get(ingress)).expect(404);
    // A certificate that is good stays.
    assert.match(node.outputs.get("demo-keelson-certificates") ?? "", /is good/);
    // P2: another name takes another certificate, of the same authority.
    await run(
      "upgrade",
      RELEASE,
      CHART,
      ...flags,
      "--set",
      "certificates.extraNames={b.example.com}",
    );
    assert.match(node.outputs.get("demo-keelson-certificates") ?? "", /b\.example\.com/);
    const renewed = (await client.get(path)).expect(200).object as typeof secret;
    assert.notEqual(renewed.data?.["tls.crt"], secret.data?.["tls.crt"]);
    assert.equal(renewed.data?.["ca.crt"], secret.data?.["ca.crt"]);

    await run("rollback", RELEASE, "1");
    assert.equal(await replicas(), 3);
    (await client.get(ingress)).expect(200);
    assert.match(await run("history", RELEASE), /Rollback to 1/);

    await run("uninstall", RELEASE);
    // It takes nothing of the other one, which goes with its own.
    const others = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/other-keelson`;
    (await client.get(others)).expect(200);
    await run("uninstall", "other", "--no-hooks");
    for (const collection of COLLECTIONS) {
      const [group, version, resource] = collection.split("/");
      const left = await client.get(
        `/apis/${group}/${version}/namespaces/${NAMESPACE}/${resource}`,
      );
      assert.deepEqual(
        left.expect(200).items.map(({ metadata }) => metadata.name),
        [],
        collection,
      );
    }
    const services = (await client.get(`/api/v1/namespaces/${NAMESPACE}/services`)).items;
    assert.deepEqual(services, []);
  });
}

/** One of the release, that shows the certificate of its Secret. */
async function startReplica(
  port: number,
  secret: Readonly<Record<string, string>> = {},
): Promise<AsyncDisposable> {
  const folder = await makeTempDir("release");
  for (const name of ["tls.crt", "tls.key"]) {
    await folder.write(name, Buffer.from(secret[name] ?? "", "base64"));
  }
  const child = new Child(process.execPath, [
    ...[COMMAND, "serve", `--data-dir=${join(folder.path, "data")}`, `--secure-port=${port}`],
    `--tls-cert-file=${join(folder.path, "tls.crt")}`,
    `--tls-private-key-file=${join(folder.path, "tls.key")}`,
  ]);
  await child.waitForWords(" ready");
  return {
    async [Symbol.asyncDispose]() {
      await child.end("SIGKILL");
      await folder[Symbol.asyncDispose]();
    },
  };
}

/**
 * Every rendered object once more, on its own, as a dry run that takes no unknown or doubled field; with the longest name, in a namespace
 * whose pods are restricted and which has quotas. Deployments are only warned there, so their pods are sent too.
 */
async function checkStrictly(
  helm: HelmName,
  { client }: { readonly client: HttpsClient },
  flags: readonly string[],
): Promise<void> {
  const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
  (await client.post("/api/v1/namespaces", { metadata: { name: STRICT, labels } })).expect(201);
  const hard = {
    pods: "20",
    "requests.cpu": "20",
    "requests.memory": "40Gi",
    "limits.memory": "60Gi",
  };
  const quota = { metadata: { name: "quota" }, spec: { hard } };
  (await client.post(`/api/v1/namespaces/${STRICT}/resourcequotas`, quota)).expect(201);
  await eventually("the quota is counted", async () => {
    const path = `/api/v1/namespaces/${STRICT}/resourcequotas/quota`;
    const { status } = (await client.get(path)).object as { status?: { used?: unknown } };
    return status?.used !== undefined;
  });
  const values = {
    "serviceAccount.create": false,
    fullnameOverride: LONGEST,
    "backup.enabled": true,
  };
  const args = [
    "template",
    "strict",
    CHART,
    "--namespace",
    STRICT,
    ...flags,
    ...toSetFlags(values),
  ];
  const { stdout } = await runHelm(helm, args);
  const objects = parseManifests(stdout);
  const pods = objects.flatMap(podOf);
  assert.ok(pods.length >= 6);
  for (const object of [...objects, ...pods]) {
    const [group, version] = object.apiVersion.includes("/")
      ? object.apiVersion.split("/")
      : ["", object.apiVersion];
    const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    const plural = pluralOf(object.kind);
    const path = `${root}/namespaces/${STRICT}/${plural}?dryRun=All&fieldValidation=Strict`;
    const answer = await client.post(path, object);
    assert.equal(answer.status, 201, `${object.kind}/${object.metadata.name}: ${answer.text}`);
    assert.equal(answer.headers.warning, undefined);
  }
  // Neither check is one that lets all in.
  const [pod] = pods;
  const [container] = pod?.spec.containers ?? [];
  for (const change of [{ securityContext: {} }, { resources: {} }]) {
    const spec = { ...pod?.spec, containers: [{ ...container, ...change }] };
    const path = `/api/v1/namespaces/${STRICT}/pods?dryRun=All`;
    (await client.post(path, { ...pod, spec })).expect(403);
  }
}

/** The pod that it makes, of an account that is there. */
function podOf({ kind, metadata, spec }: Rendered): Rendered[] {
  const template = (spec?.jobTemplate?.spec ?? spec)?.template;
  if (template?.spec?.containers === undefined || kind === "Pod") return [];
  const serviceAccountName = "default";
  const pod = { apiVersion: "v1", kind: "Pod", ...template };
  const mounted = (spec?.volumeClaimTemplates ?? []).map(({ metadata: { name } }: Rendered) => ({
    name,
    persistentVolumeClaim: { claimName: name },
  }));
  const volumes = [...(template.spec.volumes ?? []), ...mounted];
  return [
    {
      ...pod,
      metadata: { ...template.metadata, name: metadata.name },
      spec: { ...template.spec, serviceAccountName, volumes },
    },
  ];
}

function pluralOf(kind: string): string {
  const lower = kind.toLowerCase();
  if (lower.endsWith("policy")) return `${lower.slice(0, -1)}ies`;
  return lower.endsWith("s") ? `${lower}es` : `${lower}s`;
}
