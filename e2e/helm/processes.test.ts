/** What the chart says, as processes: the rendered commands of a whole release come up and end well. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, soon } from "../harness/eventually.js";
import { HttpsClient } from "../harness/https-client.js";
import { missingHelm, type Rendered, renderChart } from "./chart.js";
import { credentialsOf, findRendered as find, specOf, untilReady } from "./release-pods.js";
import { choosePodNetwork, type PodPlan, type RunningPod, runPod, secretsOf } from "./run-pod.js";

const NAMESPACE = "keelson";
const REPLICAS = 2;

test("CARD-06: the rendered commands, run as processes, are replicas, control loops, an etcd and a Redis that work together", {
  skip: await missingHelm("helm-4"),
}, async (t) => {
  const objects = await renderChart("helm-4", {
    "etcd.bundled.enabled": true,
    "redis.bundled.enabled": true,
    "monitoring.token": "scrape-me",
    "configuration.encryption": ENCRYPTION,
    "shutdown.delaySeconds": 1,
    "shutdown.watchSeconds": 1,
    replicaCount: REPLICAS,
  });
  const secrets = secretsOf(objects);
  const ipOf = choosePodNetwork();
  const names: Record<string, string> = {
    [`demo-keelson-redis.${NAMESPACE}.svc`]: ipOf(9),
    [`demo-keelson.${NAMESPACE}.svc:443`]: `${ipOf(10)}:6443`,
  };
  for (const index of [0, 1, 2]) {
    names[`demo-keelson-etcd-${index}.demo-keelson-etcd-peers.${NAMESPACE}.svc`] = ipOf(index);
  }
  await using pods = new AsyncDisposableList();
  const start = async (owner: Rendered, name: string, ip: string, env: PodPlan["env"] = {}) =>
    pods.add(await runPod({ spec: specOf(owner), name, ip, names, secrets, env }));
  const object = (kind: string, name: string) => find(objects, kind, name);

  const members = object("StatefulSet", "demo-keelson-etcd");
  await start(object("Deployment", "demo-keelson-redis"), "redis", ipOf(9));
  await Promise.all(
    [0, 1, 2].map((index) => start(members, `demo-keelson-etcd-${index}`, ipOf(index))),
  );
  await eventually("etcd is healthy", async () => {
    const answer = await fetch(`http://${ipOf(0)}:2381/health`);
    return ((await answer.json()) as { health?: string }).health === "true";
  });
  const deployment = object("Deployment", "demo-keelson");
  const replicas = await Promise.all(
    Array.from({ length: REPLICAS }, (_, index) =>
      start(deployment, `replica-${index}`, ipOf(10 + index)),
    ),
  );
  const loops = await start(object("Deployment", "demo-keelson-controllers"), "loops", ipOf(20));

  const [first, second] = replicas;
  assert.ok(first && second);
  for (const replica of replicas) await untilReady(replica, deployment);
  const credentials = await credentialsOf(first);
  const client = new HttpsClient(`https://${second.ip}:6443`, credentials);
  (await client.post("/api/v1/namespaces", { metadata: { name: "shop" } })).expect(201);
  // The loops that the chart runs beside the replicas furnish the namespace.
  await eventually("the namespace has its service account", async () => {
    const path = "/api/v1/namespaces/shop/serviceaccounts/default";
    return (await client.get(path)).status === 200;
  });
  const authority = await eventually("pods of the namespace know whom to trust", async () => {
    const answer = await client.get("/api/v1/namespaces/shop/configmaps/kube-root-ca.crt");
    return answer.status === 200 && answer.object;
  });
  assert.deepEqual(authority.data, { "ca.crt": credentials.ca });

  await observeLoops(loops, object("Deployment", "demo-keelson-controllers"));

  const scraper = { ca: credentials.ca };
  const prometheus = new HttpsClient(`https://${first.ip}:6443`, scraper);
  const headers = { authorization: "Bearer scrape-me" };
  (await prometheus.request("/metrics", { headers })).expect(200);
  (await prometheus.request("/api/v1/secrets", { headers })).expect(403);

  const probe = object("Pod", "demo-keelson-test");
  const tested = await start(probe, "test", ipOf(30));
  await eventually("the test of the release ends", () => tested.child.hasEnded);
  assert.match(tested.child.output, /\/readyz: ok/);
  assert.match(tested.child.output, /certificate: not verified/);

  for (const { child } of [...replicas, loops]) child.signal("SIGTERM");
  const grace = specOf(deployment).terminationGracePeriodSeconds * 1_000;
  for (const { child } of [...replicas, loops]) {
    await eventually("the pod ends", () => child.hasEnded, grace);
    assert.equal(child.exitCode, 0, child.output.slice(-2_000));
  }
  client.close();
  prometheus.close();
  t.diagnostic(`${pods.size} processes`);
});

const ENCRYPTION = JSON.stringify({
  apiVersion: "apiserver.config.k8s.io/v1",
  kind: "EncryptionConfiguration",
  resources: [
    {
      resources: ["secrets"],
      providers: [
        { secretbox: { keys: [{ name: "a", secret: Buffer.alloc(32, 7).toString("base64") }] } },
      ],
    },
  ],
});

class AsyncDisposableList implements AsyncDisposable {
  readonly #pods: RunningPod[] = [];

  get size(): number {
    return this.#pods.length;
  }

  add(pod: RunningPod): RunningPod {
    this.#pods.push(pod);
    return pod;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#pods.map((pod) => pod[Symbol.asyncDispose]()));
  }
}

/** P8: as a node probes the loops and Prometheus scrapes them, at the port and paths that the container says. */
async function observeLoops({ ip, child }: RunningPod, deployment: Rendered): Promise<void> {
  const [container] = specOf(deployment).containers;
  const [{ containerPort }] = container.ports;
  const deadlineMs = container.livenessProbe.timeoutSeconds * 1_000;
  const ask = (path: string, signal = soon()) =>
    fetch(`http://${ip}:${containerPort}${path}`, { signal });
  // A node restarts loops that hang.
  child.signal("SIGSTOP");
  const probed = ask(container.livenessProbe.httpGet.path, AbortSignal.timeout(deadlineMs));
  await assert.rejects(probed, { name: "TimeoutError" });
  child.signal("SIGCONT");
  for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"]) {
    assert.equal((await ask(container[probe].httpGet.path)).status, 200, probe);
  }
  const text = await (await ask("/metrics")).text();
  assert.match(text, /^leader_election_master_status\{name="keelson-controllers"\} 1$/m);
  assert.match(text, /^etcd_request_duration_seconds_count/m);
}
