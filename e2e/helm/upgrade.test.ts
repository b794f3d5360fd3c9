/**
 * A release upgraded from an older commit: its chart and its build, over an etcd, with hooks and without, while clients write and watch
 * through a balancer; and back again. Helm upgrades in a cluster (another Keelson); what a Deployment does then, one pod after the
 * other made anew from what was rendered, is done here. Long, as the older commit is built; what no upgrade may change is compared in
 * every run.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { NOTICED_SECONDS, startBalancer } from "../cluster/balancer.js";
import { eventually } from "../harness/eventually.js";
import { Follower } from "../harness/follower.js";
import { HttpsClient } from "../harness/https-client.js";
import { isLong } from "../harness/is-long.js";
import { buildOlder, findOlderCommit, type OlderBuild } from "../harness/older-build.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { startEtcd } from "../tools/etcd.js";
import { findTool } from "../tools/find-tool.js";
import {
  CHART,
  missingHelm,
  parseManifests,
  type Rendered,
  renderChart,
  runHelm,
  toSetFlags,
  type Values,
} from "./chart.js";
import { playNode } from "./play-node.js";
import { credentialsOf, findRendered, specOf, untilReady } from "./release-pods.js";
import { choosePodNetwork, type RunningPod, runPod } from "./run-pod.js";

const HELM = "helm-4";
const NAMESPACE = "keelson";
const MAPS = "/api/v1/namespaces/default/configmaps";
const OLDER_IMAGE = "keelson:older";
/** A day or two. */
const COMMITS_BEFORE = 60;
const REPLICAS = 2;

const missing = await missingHelm(HELM);

/** As the first release with such objects had it. */
const FOR_EVER = {
  "Deployment/demo-keelson": { matchLabels: labels("server") },
  "Deployment/demo-keelson-controllers": { matchLabels: labels("controllers") },
  "Deployment/demo-keelson-redis": { matchLabels: labels("redis") },
  "StatefulSet/demo-keelson-etcd": {
    matchLabels: labels("etcd"),
    serviceName: "demo-keelson-etcd-peers",
    podManagementPolicy: "Parallel",
    claims: ["data"],
  },
};

function labels(component: string): Record<string, string> {
  const own = { "app.kubernetes.io/name": "keelson", "app.kubernetes.io/instance": "demo" };
  return { ...own, "app.kubernetes.io/component": component };
}

test("an upgrade changes nothing that the API refuses to change", { skip: missing }, async () => {
  const values = { "etcd.bundled.enabled": true, "redis.bundled.enabled": true };
  const objects = await renderChart(HELM, values);
  const found = objects
    .filter(({ kind }) => kind === "Deployment" || kind === "StatefulSet")
    .map(({ kind, metadata, spec }) => {
      const { serviceName, podManagementPolicy, volumeClaimTemplates, selector } = spec;
      const claims = volumeClaimTemplates?.map(({ metadata: { name } }: Rendered) => name);
      const own = { serviceName, podManagementPolicy, claims };
      return [`${kind}/${metadata.name}`, { ...selector, ...(claims && own) }] as const;
    });
  assert.deepEqual(Object.fromEntries(found), FOR_EVER);
});

if (isLong) {
  const commit = await findOlderCommit(COMMITS_BEFORE);
  const noBalancer = (await findTool("haproxy")) === undefined && "HAProxy is not to be had";
  const skip = missing || noBalancer || (commit === undefined && "there is no history here");
  test("CARD-06: a release of an older commit is upgraded, and rolled back, and nothing is lost", {
    skip,
  }, async (t) => {
    await using older = await buildOlder(commit ?? "");
    for (const hooks of [true, false]) {
      await t.test(hooks ? "with hooks" : "without hooks", () => upgradeAndBack(older, hooks));
    }
  });
}

async function upgradeAndBack(older: OlderBuild, hooks: boolean): Promise<void> {
  await using etcd = await startEtcd();
  await using cluster = await startServer();
  const images = { [OLDER_IMAGE]: older.root };
  await using node = playNode(cluster.client, NAMESPACE, {}, images);
  const helm = helmOf(cluster);
  const ipOf = choosePodNetwork();
  const addresses = Array.from({ length: 3 * REPLICAS }, (_, index) => ipOf(index));
  const values: Values = {
    "etcd.endpoints": [etcd.endpoint],
    "certificates.source": "job",
    "certificates.extraNames": ["127.0.0.1", ...addresses],
    "image.tag": "older",
    replicaCount: REPLICAS,
    "shutdown.delaySeconds": NOTICED_SECONDS,
    "shutdown.watchSeconds": 1,
  };
  await helm(
    "install",
    "demo",
    join(older.root, "helm", "keelson"),
    "--create-namespace",
    ...toSetFlags(values),
  );
  assert.match(node.outputs.get("demo-keelson-certificates") ?? "", /a new certificate/);
  await using release = new Release(cluster, images, ipOf);
  await release.roll(await manifest(helm));

  const { credentials, told } = await release.access();
  await using balancer = await startBalancer(addresses.map((ip) => `${ip}:6443`));
  const client = new HttpsClient(balancer.url, { ...credentials, ca: told });
  const known = await eventually("a replica gets requests", () => client.get(MAPS));
  const follower = await Follower.open(client, MAPS, known.object.metadata.resourceVersion);
  try {
    const load = new Load(client);
    await load.goesOn();
    node.forget();
    const upgrade = [
      "upgrade",
      "demo",
      CHART,
      "--reset-then-reuse-values",
      "--set",
      "image.tag=0.1.0",
    ];
    await helm(...upgrade, ...(hooks ? [] : ["--no-hooks"]));
    const ran = node.outputs.get("demo-keelson-certificates") ?? "";
    assert.match(ran, hooks ? /the certificate is good/ : /^$/);
    await release.roll(await manifest(helm));
    await load.goesOn();
    await helm("rollback", "demo", "1", ...(hooks ? [] : ["--no-hooks"]));
    await release.roll(await manifest(helm));
    await load.goesOn();
    await load.stop();
    assert.deepEqual(load.failures, []);
    const { items } = (await client.get(MAPS)).expect(200);
    const there = new Set(
      items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`),
    );
    const [last = ""] = load.written.slice(-1);
    await follower.hasSeen(...(last.split(" ") as [string, string]));
    const seen = follower.events
      .filter(({ object: { metadata } }) => metadata.name?.startsWith("load-"))
      .map(({ object: { metadata } }) => `${metadata.name} ${metadata.resourceVersion}`);
    assert.deepEqual(follower.failures, []);
    assert.deepEqual(seen, load.written);
    assert.deepEqual(
      load.written.filter((one) => !there.has(one)),
      [],
    );
    assert.ok(follower.streams > 1, "it was led elsewhere");
  } finally {
    await follower[Symbol.asyncDispose]();
    client.close();
  }
}

type Helm = (...args: readonly string[]) => Promise<string>;

function helmOf(cluster: ServerProcess): Helm {
  const { kubeconfig, dataDir } = cluster;
  const homes = ["CACHE", "CONFIG", "DATA"].map((name) => [`HELM_${name}_HOME`, dataDir]);
  const env = { KUBECONFIG: kubeconfig, ...Object.fromEntries(homes) };
  return async (...args) => {
    const { code, stdout, stderr } = await runHelm(HELM, [...args, "--namespace", NAMESPACE], env);
    assert.equal(code, 0, `helm ${args[0]}: ${stdout}${stderr}`);
    return stdout;
  };
}

async function manifest(helm: Helm): Promise<Rendered[]> {
  return parseManifests(await helm("get", "manifest", "demo"));
}

/** What Deployments do: the pods of the release, each made anew before the one that it replaces ends. */
class Release implements AsyncDisposable {
  readonly #cluster: ServerProcess;
  readonly #images: Readonly<Record<string, string>>;
  readonly #ipOf: (index: number) => string;
  #replicas: RunningPod[] = [];
  #loops: RunningPod | undefined;
  #count = 0;

  constructor(
    cluster: ServerProcess,
    images: Readonly<Record<string, string>>,
    ipOf: (index: number) => string,
  ) {
    this.#cluster = cluster;
    this.#images = images;
    this.#ipOf = ipOf;
  }

  async roll(objects: readonly Rendered[]): Promise<void> {
    const deployment = findRendered(objects, "Deployment", "demo-keelson");
    const { terminationGracePeriodSeconds, containers } = specOf(deployment);
    const secrets = await this.#secrets();
    const ca = secrets["demo-keelson-tls"]?.["ca.crt"];
    for (const old of this.#replicas.length === 0
      ? Array<undefined>(REPLICAS)
      : this.#replicas.slice()) {
      const index = this.#count++;
      const pod = await this.#start(
        deployment,
        `replica-${index}`,
        this.#ipOf(index % (3 * REPLICAS)),
      );
      this.#replicas.push(pod);
      await untilReady(pod, deployment, ca);
      if (old === undefined) continue;
      old.child.signal("SIGTERM");
      await eventually("it ends", () => old.child.hasEnded, terminationGracePeriodSeconds * 1_000);
      assert.equal(old.child.exitCode, 0, old.child.output.slice(-2_000));
      this.#replicas = this.#replicas.filter((one) => one !== old);
      await old[Symbol.asyncDispose]();
    }
    assert.ok(containers.length > 0);
    const loops = findRendered(objects, "Deployment", "demo-keelson-controllers");
    const before = this.#loops;
    this.#loops = await this.#start(loops, "loops", this.#ipOf(100 + this.#count));
    await before?.child.end("SIGTERM");
    await before?.[Symbol.asyncDispose]();
    await eventually("the loops lead", () => this.#loops?.child.output.includes("leading"));
  }

  async access() {
    const [first] = this.#replicas;
    assert.ok(first);
    const secrets = await this.#secrets();
    const told = secrets["demo-keelson-tls"]?.["ca.crt"] ?? "";
    return { credentials: await credentialsOf(first), told };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pod of [...this.#replicas, this.#loops]) await pod?.[Symbol.asyncDispose]();
  }

  async #start(owner: Rendered, name: string, ip: string): Promise<RunningPod> {
    const secrets = await this.#secrets();
    return runPod({ spec: specOf(owner), name, ip, names: {}, secrets, images: this.#images });
  }

  /** As they are in the cluster. */
  async #secrets(): Promise<Record<string, Record<string, string>>> {
    const path = `/api/v1/namespaces/${NAMESPACE}/secrets`;
    const { items } = (await this.#cluster.client.get(path)).expect(200);
    return Object.fromEntries(
      items.map(({ metadata, data = {} }) => [
        metadata.name,
        Object.fromEntries(
          Object.entries(data as Record<string, string>).map(([key, text]) => [
            key,
            Buffer.from(text, "base64").toString(),
          ]),
        ),
      ]),
    );
  }
}

/** One client that writes without pause, and remembers what it was told is written. */
class Load {
  readonly failures: string[] = [];
  /** "name version", in their order. */
  readonly written: string[] = [];
  readonly #client: HttpsClient;
  readonly #working: Promise<void>;
  #isOver = false;

  constructor(client: HttpsClient) {
    this.#client = client;
    this.#working = this.#work();
  }

  async goesOn(): Promise<void> {
    const until = this.written.length + 20;
    await eventually(
      "the load goes on",
      () => this.failures.length > 0 || this.written.length > until,
    );
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#working;
  }

  async #work(): Promise<void> {
    for (let count = 0; !this.#isOver && this.failures.length === 0; count++) {
      const name = `load-${count}`;
      try {
        const { status, text, object } = await this.#client.post(MAPS, { metadata: { name } });
        if (status === 201) this.written.push(`${name} ${object.metadata.resourceVersion}`);
        else this.failures.push(`${name}: ${status} ${text}`);
      } catch (error) {
        this.failures.push(`${name}: ${error}`);
      }
    }
  }
}
