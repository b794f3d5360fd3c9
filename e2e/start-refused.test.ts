/** A start whose own writes are refused, or whose own objects cannot be read: it serves all the same, so that people can help. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "./harness/eventually.js";
import { HttpsClient } from "./harness/https-client.js";
import { readKubeconfig, startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { freePort } from "./tools/free-port.js";

const PROBES = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/probes";
const WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/** Refuses every write of the server, as its server does not answer. */
const REFUSES_ALL = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  metadata: { name: "all" },
  webhooks: [
    {
      name: "all.example.com",
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
      failurePolicy: "Fail",
      clientConfig: { url: "https://127.0.0.1:1" },
      rules: [
        {
          apiGroups: ["*"],
          apiVersions: ["*"],
          operations: ["CREATE", "UPDATE"],
          resources: ["*/*"],
          scope: "*",
        },
      ],
    },
  ],
};

test("39.6: a webhook that refuses all writes does not end a start, in which it can be taken away", async () => {
  await using folder = await makeTempDir("start-refused");
  const dataDir = join(folder.path, "data");
  {
    await using server = await startServer({ dataDir });
    (await server.client.post(WEBHOOKS, REFUSES_ALL)).expect(201);
    (await server.client.delete(PROBES)).expect(200);
  }
  const port = await freePort();
  const { credentials } = await readKubeconfig(join(dataDir, "admin.kubeconfig"));
  const client = new HttpsClient(`https://127.0.0.1:${port}`, credentials);
  const starting = startServer({ dataDir, port });
  await eventually("a write is refused", async () => {
    const { text } = await client.get("/metrics");
    return /^apiserver_admission_webhook_rejection_count\{.*all\.example\.com/m.test(text);
  });
  await eventually("the webhook is taken away", async () => {
    const answer = await client.delete(`${WEBHOOKS}/all`);
    return answer.status === 200;
  });
  await using server = await starting;
  assert.match(server.logs, /objects of the server's own are not made/);
  (await server.client.get(PROBES)).expect(200);
});

test("39.6: objects of the server's own that no key opens do not end a start", async () => {
  await using folder = await makeTempDir("start-unreadable");
  const file = join(folder.path, "encryption.json");
  const dataDir = join(folder.path, "data");
  const start = async (key: string) => {
    await writeFile(file, encryptedWith(key));
    return await startServer({ dataDir, flags: [`--encryption-provider-config=${file}`] });
  };
  await using first = await start("one");
  await first.stop();
  await using server = await start("two");
  const configMaps = "/api/v1/namespaces/kube-system/configmaps";
  const place = `${configMaps}/extension-apiserver-authentication`;
  assert.notEqual((await server.client.get(place)).status, 200);
  (await server.client.get("/api/v1/namespaces/default")).expect(200);
});

function encryptedWith(key: string): string {
  const secret = Buffer.from(key.padEnd(32, "!")).toString("base64");
  const resources = ["configmaps", "flowschemas.flowcontrol.apiserver.k8s.io"];
  const providers = [{ aesgcm: { keys: [{ name: key, secret }] } }];
  return JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "EncryptionConfiguration",
    resources: [{ resources, providers }],
  });
}
