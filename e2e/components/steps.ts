/** What happens in the trial of a whole cluster, in its order: each step waits until the loops have done their part. */
import assert from "node:assert/strict";
import { createSign, generateKeyPairSync } from "node:crypto";
import type { Explanation } from "../../server/recorder/record-types.js";
import type { HttpsClient } from "../harness/https-client.js";
import type { FakeNodes } from "./fake-nodes.js";

export interface Tools {
  readonly client: HttpsClient;
  readonly nodes: FakeNodes;
  /** In the trial's namespace. */
  kubectl(...args: readonly string[]): Promise<string>;
  until(what: string, probe: () => Promise<boolean>): Promise<unknown>;
}

interface Step {
  readonly title: string;
  readonly take: (tools: Tools) => Promise<void>;
}

const APPS = "/apis/apps/v1/namespaces/trial";
const CORE = "/api/v1/namespaces/trial";
const BATCH = "/apis/batch/v1/namespaces/trial";

const container = (image: string) => ({ name: "main", image });
const template = (name: string, spec: object) => ({ metadata: { labels: { app: name } }, spec });

export const STEPS: readonly Step[] = [
  { title: "a Deployment rolls out, and again with another image", take: rollOut },
  { title: "each of its pods is explained, back to what somebody wrote", take: explainRollout },
  { title: "a StatefulSet gets its volumes", take: bindVolumes },
  { title: "a Job and a CronJob come to their end", take: runJobs },
  { title: "a certificate is signed", take: sign },
  { title: "a node is drained", take: drain },
  { title: "a taint evicts", take: taint },
  { title: "a node that is lost is noticed, and its pods are made elsewhere", take: lose },
  { title: "what an owner leaves is collected", take: collect },
  { title: "the namespace goes with all that is in it", take: end },
];

async function rollOut({ client, kubectl }: Tools): Promise<void> {
  const selector = { matchLabels: { app: "web" } };
  const spec = {
    replicas: 4,
    selector,
    template: template("web", { containers: [container("a")] }),
  };
  (await client.post(`${APPS}/deployments`, { metadata: { name: "web" }, spec })).expect(201);
  await kubectl("rollout", "status", "deployment/web", "--timeout=120s");
  await kubectl("set", "image", "deployment/web", "main=b");
  await kubectl("rollout", "status", "deployment/web", "--timeout=120s");
}

/** From kubectl to the last pod, over the writes of three programs. */
async function explainRollout({ client }: Tools): Promise<void> {
  const { items } = (await client.get(`${CORE}/pods?labelSelector=app%3Dweb`)).expect(200);
  for (const { metadata } of items.filter(({ metadata }) => !metadata.deletionTimestamp)) {
    const query = `resource=pods&namespace=trial&name=${metadata.name}`;
    const answer = (await client.get(`/debug/record/why?${query}`)).expect(200);
    const { replicas, steps, writes, end } = answer.object as unknown as Explanation;
    const silent = replicas.filter(({ isAsked }) => !isAsked);
    assert.deepEqual(silent, [], "each replica says what it recorded");
    const chain = steps.map(({ write }) => writes.find(({ id }) => id === write));
    const told = chain.map((write) => `${write?.verb} ${write?.resource} ${write?.name}`);
    assert.equal(end, "outer", told.join("\n"));
    assert.match(told.at(-1) ?? "", /^patch deployments web$/, told.join("\n"));
    for (const resource of ["pods", "replicasets"]) {
      assert.ok(
        chain.some((write) => write?.resource === resource),
        told.join("\n"),
      );
    }
  }
}

async function bindVolumes({ client, kubectl }: Tools): Promise<void> {
  const byHand = { provisioner: "kubernetes.io/no-provisioner" };
  const classes = "/apis/storage.k8s.io/v1/storageclasses";
  (await client.post(classes, { metadata: { name: "by-hand" }, ...byHand })).expect(201);
  const sized = { storage: "1Gi" };
  for (const name of ["one", "two"]) {
    const claim = { capacity: sized, accessModes: ["ReadWriteOnce"], hostPath: { path: "/x" } };
    const spec = { ...claim, storageClassName: "by-hand" };
    (await client.post("/api/v1/persistentvolumes", { metadata: { name }, spec })).expect(201);
  }
  const claimed = { accessModes: ["ReadWriteOnce"], resources: { requests: sized } };
  const spec = {
    replicas: 2,
    serviceName: "db",
    selector: { matchLabels: { app: "db" } },
    template: template("db", {
      containers: [{ ...container("a"), volumeMounts: [{ name: "data", mountPath: "/data" }] }],
    }),
    volumeClaimTemplates: [
      { metadata: { name: "data" }, spec: { ...claimed, storageClassName: "by-hand" } },
    ],
  };
  (await client.post(`${APPS}/statefulsets`, { metadata: { name: "db" }, spec })).expect(201);
  await kubectl("rollout", "status", "statefulset/db", "--timeout=120s");
  await kubectl("delete", "statefulset", "db");
}

async function runJobs({ client, kubectl, until }: Tools): Promise<void> {
  const once = { restartPolicy: "Never", containers: [container("a")] };
  const job = { completions: 3, parallelism: 2, template: { spec: once } };
  (await client.post(`${BATCH}/jobs`, { metadata: { name: "job" }, spec: job })).expect(201);
  await kubectl("wait", "--for=condition=complete", "job/job", "--timeout=120s");
  const spec = { schedule: "* * * * *", jobTemplate: { spec: job } };
  (await client.post(`${BATCH}/cronjobs`, { metadata: { name: "cron" }, spec })).expect(201);
  await until("the CronJob has had success", async () => {
    const path = ".status.lastSuccessfulTime";
    return (await kubectl("get", "cronjob", "cron", `-o=jsonpath={${path}}`)) !== "";
  });
  await kubectl("delete", "cronjob/cron", "job/job");
}

async function sign({ client, kubectl, until }: Tools): Promise<void> {
  const spec = {
    request: Buffer.from(requestFor("somebody")).toString("base64"),
    signerName: "kubernetes.io/kube-apiserver-client",
    usages: ["client auth"],
  };
  const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
  (await client.post(path, { metadata: { name: "somebody" }, spec })).expect(201);
  await kubectl("certificate", "approve", "somebody");
  await until("the certificate is there", async () => {
    return (await kubectl("get", "csr", "somebody", "-o=jsonpath={.status.certificate}")) !== "";
  });
}

async function drain({ kubectl, nodes, until }: Tools): Promise<void> {
  const [node = ""] = nodes.names;
  await kubectl("drain", node, "--ignore-daemonsets", "--force", "--timeout=120s");
  await until("the pods are elsewhere", () => runsWithout(kubectl, node));
  await kubectl("uncordon", node);
}

async function taint({ kubectl, nodes, until }: Tools): Promise<void> {
  const [, node = ""] = nodes.names;
  await kubectl("taint", "node", node, "trial=now:NoExecute");
  await until("the pods are elsewhere", () => runsWithout(kubectl, node));
  await kubectl("taint", "node", node, "trial-");
}

async function lose({ kubectl, nodes, until }: Tools): Promise<void> {
  const [, , node = ""] = nodes.names;
  nodes.lose(node);
  await until("its taint", async () => {
    return (await kubectl("get", "node", node, "-o=jsonpath={.spec.taints}")).includes(
      "unreachable",
    );
  });
  await kubectl("delete", "node", node);
  await until("the pods are elsewhere", () => runsWithout(kubectl, node));
}

async function collect({ kubectl, until }: Tools): Promise<void> {
  await kubectl("delete", "deployment", "web", "--cascade=background");
  await until("nothing is left of it", async () => {
    return (await kubectl("get", "replicasets,pods", "-l=app=web", "-o=name")) === "";
  });
}

async function end({ client, kubectl, until }: Tools): Promise<void> {
  const data = { a: "b" };
  (await client.post(`${CORE}/configmaps`, { metadata: { name: "last" }, data })).expect(201);
  await kubectl("delete", "namespace", "trial", "--wait=false");
  await until("it is gone", async () => (await client.get(CORE)).status === 404);
}

async function runsWithout(kubectl: Tools["kubectl"], node: string): Promise<boolean> {
  const path = "{range .items[*]}{.spec.nodeName}/{.status.phase} {end}";
  const pods = (await kubectl("get", "pods", "-l=app=web", `-o=jsonpath=${path}`)).split(" ");
  const running = pods.filter((pod) => pod.endsWith("/Running"));
  return pods.every((pod) => !pod.startsWith(`${node}/`)) && running.length === 4;
}

/** A certificate request of a name alone, in PEM. */
function requestFor(name: string): string {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const info = der(0x30, [
    Buffer.from([0x02, 0x01, 0x00]),
    der(0x30, [der(0x31, [der(0x30, [COMMON_NAME, der(0x0c, [Buffer.from(name)])])])]),
    publicKey.export({ format: "der", type: "spki" }),
    Buffer.from([0xa0, 0x00]),
  ]);
  const signature = createSign("sha256").update(info).sign(privateKey);
  const whole = der(0x30, [info, der(0x30, [ECDSA_SHA256]), der(0x03, [Buffer.of(0), signature])]);
  assert.ok(whole.length < 0x10000);
  const lines = whole.toString("base64").replace(/.{64}/g, "$&\n");
  return `-----BEGIN CERTIFICATE REQUEST-----\n${lines}\n-----END CERTIFICATE REQUEST-----\n`;
}

const COMMON_NAME = Buffer.from("0603550403", "hex");
const ECDSA_SHA256 = Buffer.from("06082a8648ce3d040302", "hex");

function der(tag: number, parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
