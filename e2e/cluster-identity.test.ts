/**
 * Replicas that are one API for their clients: they start on a fresh etcd without any file, are known by
 * one authority, believe the same clients, and are found through the Service of the API.
 */
import assert from "node:assert/strict";
import { randomBytes, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { connect } from "node:tls";
import { parse } from "yaml";
import { eventually } from "./harness/eventually.js";
import { HttpsClient } from "./harness/https-client.js";
import { startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { openRawEtcdAt } from "./reads/raw-etcd.js";
import { startEtcd } from "./tools/etcd.js";

const ENDPOINTS = "/api/v1/namespaces/default/endpoints/kubernetes";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

test("CARD-01: replicas on a fresh etcd need no file to be one API for their clients", async (t) => {
  await using etcd = await startEtcd();
  await using folder = await makeTempDir("sealed");
  const secret = randomBytes(32).toString("base64");
  const encryption = await folder.write(
    "encryption.yaml",
    `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - resources: [secrets]
    providers:
      - aescbc: {keys: [{name: one, secret: ${secret}}]}
`,
  );
  const start = (index: number) =>
    startServer({
      etcdEndpoints: [etcd.endpoint],
      flags: [
        `--advertise-address=192.0.2.${index}`,
        "--serving-names=api.example.com,203.0.113.7",
        "--run-controllers=false",
        `--encryption-provider-config=${encryption}`,
      ],
    });
  const replicas = await Promise.all([1, 2, 3].map(start));
  await using _ends = {
    async [Symbol.asyncDispose]() {
      await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()));
    },
  };

  // The administrator of each is known to all, and trusts all, under every name that was given.
  const authorities = new Set(replicas.map(({ credentials }) => credentials.ca));
  assert.equal(authorities.size, 1);
  for (const from of replicas) {
    for (const to of replicas) {
      const client = new HttpsClient(to.url, from.credentials);
      (await client.get("/api/v1/namespaces")).expect(200);
      client.close();
    }
  }
  const [first] = replicas;
  assert.ok(first);
  const certificate = await servingCertificate(first.port);
  for (const name of ["api.example.com", "kubernetes.default.svc", "localhost"]) {
    assert.equal(certificate.checkHost(name), name);
  }
  for (const ip of ["203.0.113.7", "192.0.2.1", "10.0.0.1"])
    assert.equal(certificate.checkIP(ip), ip);

  // What they share lies sealed in the store.
  await using raw = await openRawEtcdAt(etcd.endpoint, "/registry");
  const stored = await raw.get("/registry/.certificate-authorities");
  assert.match(stored, /^k8s:enc:aescbc:v1:one:/);
  assert.ok(!stored.includes("PRIVATE KEY"));

  const kubeconfig = parse(await readFile(first.kubeconfig, "utf8"));
  assert.equal(kubeconfig.clusters[0].cluster.server, first.url);

  // Each has a lease, and all are behind the Service.
  const ips = async () => {
    const { object } = (await first.client.get(ENDPOINTS)).expect(200);
    return (
      JSON.stringify(object.subsets)
        .match(/192\.0\.2\.\d/g)
        ?.sort() ?? []
    );
  };
  await eventually("all replicas are endpoints", async () => (await ips()).length === 3);
  const selector = "labelSelector=apiserver.kubernetes.io/identity%3Dkube-apiserver";
  const leases = (await first.client.get(`${LEASES}?${selector}`)).expect(200).items;
  assert.equal(leases.length, 3);
  for (const lease of leases) assert.match(lease.metadata.name ?? "", /^apiserver-[a-z2-7]{26}$/);

  // Who ends says so; nobody has to find out.
  await replicas[2]?.stop();
  assert.deepEqual(await ips(), ["192.0.2.1", "192.0.2.2"]);
  assert.equal((await first.client.get(`${LEASES}?${selector}`)).items.length, 2);
  t.diagnostic(`ready after ${replicas.map(({ readyAfterMs }) => Math.round(readyAfterMs))} ms`);
});

async function servingCertificate(port: number): Promise<X509Certificate> {
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const { raw } = socket.getPeerCertificate();
  socket.destroy();
  return new X509Certificate(raw);
}
