/**
 * Alerts on one server by itself, on the embedded store, and on control loops in a process of their own: each
 * fires by the fault that it is for, and is resolved after it.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { openWebhookStub, type WebhookStub } from "../../server/client/testing/webhook-stub.js";
import { COMMAND } from "../harness/command.js";
import { eventually } from "../harness/eventually.js";
import type { HttpsClient } from "../harness/https-client.js";
import { isLong } from "../harness/is-long.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { TestAuthority } from "../harness/test-authority.js";
import { Child } from "../tools/child.js";
import { startEtcd } from "../tools/etcd.js";
import { findTool } from "../tools/find-tool.js";
import { freePort } from "../tools/free-port.js";
import { type PrometheusProcess, startPrometheus } from "./prometheus.js";

const MAPS = "/api/v1/namespaces/default/configmaps";
const DAY_MS = 86_400_000;
/** What a soft alert waits for becomes seconds in `startPrometheus`; what it looks back on at most two minutes. */
const FIRES_MS = 120_000;
const RESOLVED_MS = 150_000;
const FILES_MAX = 300;
const STORE_BYTES = 32 * 2 ** 20;
const MARK = "the value that a bit flips in";

const whyNot = (await findTool("prometheus")) === undefined && "Prometheus is not to be had";

/** A server that is started again on its port and data, and the Prometheus beside it. */
class Scene {
  server: ServerProcess;
  readonly prometheus: PrometheusProcess;
  readonly #start: () => Promise<ServerProcess>;
  readonly #t: TestContext;

  private constructor(
    server: ServerProcess,
    prometheus: PrometheusProcess,
    start: () => Promise<ServerProcess>,
    t: TestContext,
  ) {
    this.server = server;
    this.prometheus = prometheus;
    this.#start = start;
    this.#t = t;
  }

  static async open(t: TestContext, start: () => Promise<ServerProcess>): Promise<Scene> {
    const server = await start();
    const { port, credentials } = server;
    const prometheus = await startPrometheus({ ports: [port], metricsUrls: [], credentials });
    return new Scene(server, prometheus, start, t);
  }

  get client(): HttpsClient {
    return this.server.client;
  }

  async startAgain(): Promise<void> {
    this.server = await this.#start();
  }

  async fires(alert: string, meanwhile: () => Promise<unknown> = async () => {}): Promise<void> {
    const probe = async () => {
      await meanwhile();
      return (await this.prometheus.firing()).includes(alert);
    };
    await eventually(`${alert} fires`, probe, FIRES_MS);
    this.#t.diagnostic(`${alert} fires`);
  }

  async isResolved(alert: string): Promise<void> {
    const isOver = async () => !(await this.prometheus.firing()).includes(alert);
    await eventually(`${alert} is resolved`, isOver, RESOLVED_MS);
    this.#t.diagnostic(`${alert} is resolved`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.prometheus[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
  }
}

// Each of them takes minutes, so they are part of the long run.
if (isLong) {
  test(
    "CARD-08: alerts on a store that fills, is full, and is damaged fire and are resolved",
    {
      skip: whyNot,
    },
    followStore,
  );
  test(
    "CARD-08: alerts on a held thread, few files, restarts, a certificate's end and audit records fire and are resolved",
    {
      skip: whyNot,
    },
    followProcess,
  );
  test(
    "CARD-08: alerts on control loops that nobody runs fire and are resolved",
    {
      skip: whyNot,
    },
    followControllers,
  );
}

async function followStore(t: TestContext): Promise<void> {
  await using folder = await makeTempDir("alerts-store");
  const port = await freePort();
  const start = () =>
    startServer({
      dataDir: folder.path,
      port,
      flags: [`--embedded-quota-bytes=${STORE_BYTES}`, "--etcd-compaction-interval=5s"],
    });
  await using scene = await Scene.open(t, start);
  const marked = { metadata: { name: "marked" }, data: { text: MARK } };
  (await scene.client.post(MAPS, marked)).expect(201);

  const text = "x".repeat(600_000);
  let written = 0;
  const write = async () => {
    const large = { metadata: { name: `large-${written}` }, data: { text } };
    const { status } = await scene.client.post(MAPS, large);
    if (status === 201) written++;
    return status;
  };
  const used = 'keelson_embedded_store_used_bytes{job="keelson"}';
  await eventually("more than four fifths are used", async () => {
    assert.equal(await write(), 201);
    const { text: page } = await scene.client.get("/metrics");
    const bytes = Number(/^keelson_embedded_store_used_bytes (\S+)$/m.exec(page)?.[1]);
    return bytes > 0.83 * STORE_BYTES;
  });
  await scene.fires("KeelsonStoreFilling");
  await eventually("a write is refused", async () => (await write()) === 503);
  await scene.fires("KeelsonStoreFull");
  for (let i = 0; i < written; i++) {
    const gone = await scene.client.delete(`${MAPS}/large-${i}`);
    gone.expect(200);
  }
  await scene.isResolved("KeelsonStoreFull");
  await scene.isResolved("KeelsonStoreFilling");
  assert.ok(((await scene.prometheus.query(used)).values().next().value ?? 0) > 0);

  await scene.server.stop();
  const file = join(folder.path, "store", "store.mdb");
  const bytes = await readFile(file);
  for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at + 1)) {
    bytes[at] = (bytes[at] ?? 0) ^ 1;
  }
  await writeFile(file, bytes);
  await scene.startAgain();
  await scene.fires("KeelsonStoreDamaged");
  await scene.isResolved("KeelsonStoreDamaged");
}

async function followProcess(t: TestContext): Promise<void> {
  await using folder = await makeTempDir("alerts-process");
  const at = (name: string) => join(folder.path, name);
  const authority = await TestAuthority.create("proxies");
  const showUntil = async (notAfter: Date) => {
    const { cert, key } = await authority.issue({ commonName: "proxy", notAfter });
    await writeFile(at("proxy.crt"), cert);
    await writeFile(at("proxy.key"), key);
  };
  await showUntil(new Date(Date.now() + DAY_MS));
  await using stub = await openWebhookStub(() => ({ isSilent: true }));
  await writeFile(at("audit.kubeconfig"), stub.kubeconfig);
  await writeFile(at("policy.yaml"), AUDIT_POLICY);
  const port = await freePort();
  const start = () =>
    startServer({
      dataDir: at("data"),
      port,
      node: "prlimit",
      nodeFlags: [`--nofile=${FILES_MAX}:${FILES_MAX}`, process.execPath],
      flags: [
        `--proxy-client-cert-file=${at("proxy.crt")}`,
        `--proxy-client-key-file=${at("proxy.key")}`,
        `--audit-policy-file=${at("policy.yaml")}`,
        `--audit-webhook-config-file=${at("audit.kubeconfig")}`,
        "--audit-webhook-batch-buffer-size=5500",
        "--audit-webhook-batch-max-wait=1s",
      ],
    });
  await using scene = await Scene.open(t, start);

  await scene.fires("KeelsonCertificateEnds");
  await scene.fires("KeelsonCertificateEndsSoon");
  await showUntil(new Date(Date.now() + 365 * DAY_MS));
  await scene.isResolved("KeelsonCertificateEnds");
  await scene.isResolved("KeelsonCertificateEndsSoon");

  await followAudit(scene, stub);

  // A thread that is held as a whole, and one whose requests are held again and again.
  await holdFor(scene.server, 2_500);
  await scene.fires("KeelsonThreadHeld");
  await scene.isResolved("KeelsonThreadHeld");
  {
    await using _busy = keepBusy(scene.client);
    await scene.fires("KeelsonTurnsLong", () => holdFor(scene.server, 300));
  }
  await scene.isResolved("KeelsonTurnsLong");

  const idle = Array.from({ length: 0.9 * FILES_MAX - 40 }, () => openIdle(port));
  await scene.fires("KeelsonOutOfFiles");
  for (const socket of idle) socket.destroy();
  await scene.isResolved("KeelsonOutOfFiles");

  await scene.fires("KeelsonRestarts", async () => {
    await scene.server.kill();
    await scene.startAgain();
    const up = async () => (await scene.prometheus.query("up == 1")).size === 1;
    await eventually("it is scraped again", up);
  });
  await scene.isResolved("KeelsonRestarts");
}

const AUDIT_POLICY =
  "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Metadata, omitStages: [RequestReceived] }]\n";

/** A server of audit records that is silent: records wait, and then are lost. */
async function followAudit(scene: Scene, stub: WebhookStub): Promise<void> {
  const ask = () => Promise.all(Array.from({ length: 500 }, () => scene.client.get(MAPS)));
  await scene.fires("KeelsonAuditBehind", ask);
  await scene.fires("KeelsonAuditLost", ask);
  stub.answer = () => ({ status: 200, body: {} });
  await scene.isResolved("KeelsonAuditBehind");
  await scene.isResolved("KeelsonAuditLost");
}

/** The machine gives the process no time. */
async function holdFor(server: ServerProcess, ms: number): Promise<void> {
  server.signal("SIGSTOP");
  await new Promise((resolve) => setTimeout(resolve, ms));
  server.signal("SIGCONT");
}

/** Several lists at a time, so that a request is at work whenever the process is held. */
function keepBusy(client: HttpsClient): AsyncDisposable {
  const ending = new AbortController();
  const ask = async () => {
    while (!ending.signal.aborted)
      await client.get("/apis/rbac.authorization.k8s.io/v1/clusterroles");
  };
  const asking = Array.from({ length: 8 }, ask);
  return {
    async [Symbol.asyncDispose]() {
      ending.abort();
      await Promise.all(asking);
    },
  };
}

function openIdle(port: number): TLSSocket {
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
  socket.on("error", () => {});
  return socket;
}

async function followControllers(t: TestContext): Promise<void> {
  await using etcd = await startEtcd();
  await using server = await startServer({
    etcdEndpoints: [etcd.endpoint],
    flags: ["--run-controllers=false"],
  });
  const loopsPort = await freePort();
  const { port, credentials } = server;
  await using prometheus = await startPrometheus({
    ports: [port],
    metricsUrls: [],
    loopsUrls: [`http://127.0.0.1:${loopsPort}`],
    credentials,
  });
  const start = () =>
    new Child(process.execPath, [
      COMMAND,
      "controllers",
      `--etcd-servers=${etcd.endpoint}`,
      `--metrics-bind-address=127.0.0.1:${loopsPort}`,
    ]);
  const isFiring = async (alert: string) => (await prometheus.firing()).includes(alert);
  const fires = async (alert: string) => {
    await eventually(`${alert} fires`, () => isFiring(alert), FIRES_MS);
    t.diagnostic(`${alert} fires`);
  };
  const isResolved = (alert: string) =>
    eventually(`${alert} is resolved`, async () => !(await isFiring(alert)), RESOLVED_MS);

  await fires("KeelsonControllersDown");
  const loops = start();
  await using _ended = { [Symbol.asyncDispose]: () => loops.end("SIGTERM") };
  await isResolved("KeelsonControllersDown");
  await isResolved("KeelsonControllersIdle");
  // Somebody else holds the Lease, and runs nothing.
  const path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
  const lease = await eventually("the loops have a Lease", async () => {
    const { items } = (await server.client.get(path)).object as unknown as {
      items: { metadata: { name: string }; spec: { holderIdentity?: string } }[];
    };
    return items.find(({ metadata }) => metadata.name.includes("controllers"));
  });
  const steal = () =>
    server.client.patch(`${path}/${lease.metadata.name}`, {
      spec: { holderIdentity: "somebody", renewTime: microTime() },
    });
  await eventually(
    "KeelsonControllersIdle fires",
    async () => {
      await steal();
      return await isFiring("KeelsonControllersIdle");
    },
    FIRES_MS,
  );
  await isResolved("KeelsonControllersIdle");
}

/** Now, in the form of Leases. */
function microTime(): string {
  return new Date().toISOString().replace("Z", "000Z");
}
