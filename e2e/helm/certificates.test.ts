/**
 * Each of the chart's four ways to certificates, as processes of what it renders: the replica serves them, and they are renewed
 * while a watch and new connections of a client go on.
 */
import assert from "node:assert/strict";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { connect } from "node:tls";
import { eventually } from "../harness/eventually.js";
import { Follower } from "../harness/follower.js";
import { HttpsClient } from "../harness/https-client.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { TestAuthority } from "../harness/test-authority.js";
import { startEtcd } from "../tools/etcd.js";
import { missingHelm, type Rendered, renderChart, type Values } from "./chart.js";
import {
  type AdminCredentials,
  credentialsOf,
  findRendered,
  specOf,
  untilReady,
} from "./release-pods.js";
import { choosePodNetwork, type RunningPod, runPod } from "./run-pod.js";

const NAMESPACE = "keelson";
const SECRETS = `/api/v1/namespaces/${NAMESPACE}/secrets`;
const MAPS = "/api/v1/namespaces/default/configmaps";
const PORT = 6443;

type Texts = Readonly<Record<string, string>>;

const skip = await missingHelm("helm-4");
const etcd = await startEtcd();

after(() => etcd[Symbol.asyncDispose]());

test("P2, P4: shared: a new pod's certificate is of the authority that clients know", {
  skip,
}, async () => {
  const ipOf = choosePodNetwork();
  const objects = await render("shared");
  await using first = await startReplica(objects, ipOf(0));
  const credentials = await credentialsOf(first);
  await using _second = await startReplica(objects, ipOf(1));
  assert.notEqual(await servedAt(ipOf(1)), await servedAt(ipOf(0)));
  await goesOn({ ip: ipOf(1), credentials, told: credentials.ca }, () =>
    first.child.end("SIGTERM"),
  );
});

test("P4: secret: a certificate of another authority takes over, and pods are told of both", {
  skip,
}, async () => {
  const ipOf = choosePodNetwork();
  const ip = ipOf(0);
  const [old, next] = [await TestAuthority.create("old"), await TestAuthority.create("next")];
  const authorities = old.certificate + next.certificate;
  const secret = async (authority: TestAuthority, told: string) =>
    toSecret(await authority.issue({ usage: "server", hosts: [ip] }), told);
  const objects = await render("secret", { "certificates.secretName": "mine" });
  const mine = await secret(old, old.certificate);
  await using replica = await startReplica(objects, ip, { mine });
  await using loops = await start(objects, "demo-keelson-controllers", ipOf(1), { mine });
  await eventually("the loops run", () => loops.child.output.includes("leading"));
  const credentials = await credentialsOf(replica);
  await goesOn({ ip, credentials, told: authorities }, async () => {
    const before = await servedAt(ip);
    const renewed = await secret(next, authorities);
    for (const pod of [replica, loops]) await mountAgain(pod, renewed);
    await eventually("the new certificate is served", async () => (await servedAt(ip)) !== before);
  });
  await using client = openClient(ip, { ...credentials, ca: authorities });
  await eventually("the loops have read the authorities again", () =>
    loops.child.output.includes("changed files are in use"),
  );
  (await client.post("/api/v1/namespaces", { metadata: { name: "later" } })).expect(201);
  const map = await eventually("a namespace is told whom to trust", async () => {
    const answer = await client.get("/api/v1/namespaces/later/configmaps/kube-root-ca.crt");
    return answer.status === 200 && answer.object;
  });
  assert.deepEqual(map.data, { "ca.crt": authorities });
});

test("P4: certManager: what it issues for the rendered Certificate is served, and each renewal of it", {
  skip,
}, async () => {
  const ip = choosePodNetwork()(0);
  const authority = await TestAuthority.create("issuer");
  const objects = await render("certManager", {
    "certificates.certManager.issuerRef.name": "issuer",
    "certificates.extraNames": [ip],
  });
  const { spec } = findRendered(objects, "Certificate", "demo-keelson");
  const hosts: readonly string[] = [...spec.dnsNames, ...spec.ipAddresses];
  const issue = async () =>
    toSecret(await authority.issue({ usage: "server", hosts }), authority.certificate);
  await using replica = await startReplica(objects, ip, { [spec.secretName]: await issue() });
  const credentials = await credentialsOf(replica);
  await goesOn({ ip, credentials, told: authority.certificate }, async () => {
    const before = await servedAt(ip);
    await mountAgain(replica, await issue());
    await eventually("the new certificate is served", async () => (await servedAt(ip)) !== before);
  });
});

test("P2: job: the hook makes it with the rights of its role, the CronJob renews it with its own", {
  skip,
}, async () => {
  const ipOf = choosePodNetwork();
  const ip = ipOf(0);
  await using cluster = await startServer();
  (await cluster.client.post("/api/v1/namespaces", { metadata: { name: NAMESPACE } })).expect(201);
  const secretIn = async () => {
    const { object } = (await cluster.client.get(`${SECRETS}/demo-keelson-tls`)).expect(200);
    const entries = Object.entries(object.data as Record<string, string>);
    return Object.fromEntries(
      entries.map(([key, text]) => [key, Buffer.from(text, "base64").toString()]),
    );
  };
  const installed = await render("job", { "certificates.extraNames": [ip] });
  const hook = findRendered(installed, "Job", "demo-keelson-certificates");
  assert.match(await runHook(cluster, installed, hook), /a new certificate for .*127\./);
  assert.match(await runHook(cluster, installed, hook), /the certificate is good/);

  const secrets = { "demo-keelson-tls": await secretIn() };
  await using replica = await startReplica(installed, ip, secrets);
  const credentials = await credentialsOf(replica);
  const told = secrets["demo-keelson-tls"]["ca.crt"] ?? "";
  await goesOn({ ip, credentials, told }, async () => {
    const before = await servedAt(ip);
    const upgraded = await render("job", { "certificates.extraNames": [ip, "api.example"] });
    const { spec } = findRendered(upgraded, "CronJob", "demo-keelson-renewal");
    const renewal = { ...spec.jobTemplate, kind: "Job" } as Rendered;
    assert.match(await runHook(cluster, upgraded, renewal), /a new certificate for .*api\.example/);
    const renewed = await secretIn();
    assert.equal(renewed["ca.crt"], told, "the authority stays");
    await mountAgain(replica, renewed);
    await eventually("the new certificate is served", async () => (await servedAt(ip)) !== before);
  });
});

function render(source: string, values: Values = {}): Promise<Rendered[]> {
  return renderChart("helm-4", {
    "certificates.source": source,
    "etcd.endpoints": [etcd.endpoint],
    "etcd.prefix": `/registry-${source}`,
    "shutdown.delaySeconds": 0,
    "shutdown.watchSeconds": 1,
    ...values,
  });
}

/** @param secrets those that its volumes name, by their names */
async function startReplica(
  objects: readonly Rendered[],
  ip: string,
  secrets: Readonly<Record<string, Texts>> = {},
): Promise<RunningPod> {
  const pod = await start(objects, "demo-keelson", ip, secrets);
  const [own] = Object.values(secrets);
  await untilReady(pod, findRendered(objects, "Deployment", "demo-keelson"), own?.["ca.crt"]);
  return pod;
}

function start(
  objects: readonly Rendered[],
  deployment: string,
  ip: string,
  secrets: Readonly<Record<string, Texts>>,
): Promise<RunningPod> {
  const spec = specOf(findRendered(objects, "Deployment", deployment));
  return runPod({ spec, name: deployment, ip, names: {}, secrets });
}

interface Reached {
  readonly ip: string;
  readonly credentials: AdminCredentials;
  /** PEM: the authorities that clients were told of. */
  readonly told: string;
}

/** A watch that is open and connections that are made later see nothing of a renewal. */
async function goesOn(
  { ip, credentials, told }: Reached,
  renew: () => Promise<unknown>,
): Promise<void> {
  const trusting = { ...credentials, ca: told };
  await using client = openClient(ip, trusting);
  await using follower = await Follower.open(client, MAPS);
  await renew();
  await using later = openClient(ip, trusting);
  const made = (await later.post(MAPS, { metadata: { name: "later" } })).expect(201).object;
  await follower.hasSeen("later", made.metadata.resourceVersion ?? "");
  assert.deepEqual(follower.failures, []);
  assert.equal(follower.streams, 1);
}

function openClient(ip: string, credentials: AdminCredentials): HttpsClient & AsyncDisposable {
  const client = new HttpsClient(`https://${ip}:${PORT}`, credentials);
  return Object.assign(client, { [Symbol.asyncDispose]: async () => client.close() });
}

/** The fingerprint of the certificate that a new connection gets. */
function servedAt(host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: PORT, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    });
    socket.once("error", reject);
  });
}

function toSecret({ cert, key }: { cert: string; key: string }, authorities: string): Texts {
  return { "tls.crt": cert, "tls.key": key, "ca.crt": authorities };
}

/** As a node brings a changed Secret into a volume: each file in one step. */
async function mountAgain({ folders }: RunningPod, texts: Texts): Promise<void> {
  for (const [path, folder] of Object.entries(folders)) {
    if (!path.startsWith("/etc/keelson/")) continue;
    for (const [key, text] of Object.entries(texts)) {
      await writeFile(join(folder, `..${key}`), text);
      await rename(join(folder, `..${key}`), join(folder, key));
    }
  }
}

/** Runs the pod of a Job with the account that the release makes for it. @returns what it printed */
async function runHook(
  cluster: ServerProcess,
  objects: readonly Rendered[],
  job: Rendered,
): Promise<string> {
  const spec = specOf(job);
  const account = spec.serviceAccountName as string;
  const { client, credentials, port } = cluster;
  await applyAccount(client, objects, account);
  const accounts = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`;
  const { object } = (await client.post(`${accounts}/${account}/token`, { spec: {} })).expect(201);
  await using folder = await makeTempDir("account");
  await mkdir(folder.path, { recursive: true });
  await folder.write("ca.crt", credentials.ca);
  await folder.write("token", (object.status as { token: string }).token);
  await using pod = await runPod({
    spec,
    name: "hook",
    ip: "127.0.0.1",
    names: {},
    secrets: {},
    folders: { "/var/run/secrets/kubernetes.io/serviceaccount": folder.path },
    env: { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(port) },
  });
  await eventually("the hook ends", () => pod.child.hasEnded);
  assert.equal(pod.child.exitCode, 0, pod.child.output);
  return pod.child.output;
}

/** The account, its role and their binding, which the release renders under one name. */
async function applyAccount(
  client: HttpsClient,
  objects: readonly Rendered[],
  account: string,
): Promise<void> {
  const collections: Readonly<Record<string, string>> = {
    ServiceAccount: "/api/v1/namespaces/keelson/serviceaccounts",
    Role: "/apis/rbac.authorization.k8s.io/v1/namespaces/keelson/roles",
    RoleBinding: "/apis/rbac.authorization.k8s.io/v1/namespaces/keelson/rolebindings",
  };
  for (const [kind, collection] of Object.entries(collections)) {
    const { status } = await client.post(collection, findRendered(objects, kind, account));
    assert.ok(status === 201 || status === 409, `${kind}: ${status}`);
  }
}
