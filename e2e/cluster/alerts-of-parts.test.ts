/**
 * Alerts whose faults need no cluster: one replica on an etcd with a small quota, with Redis and a webhook
 * that authorizes, and files that somebody breaks.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openWebhookStub, withStatus } from "../../server/client/testing/webhook-stub.js";
import { eventually } from "../harness/eventually.js";
import { HttpsClient } from "../harness/https-client.js";
import { isLong } from "../harness/is-long.js";
import { startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { TestAuthority } from "../harness/test-authority.js";
import { openRawEtcdAt } from "../reads/raw-etcd.js";
import { startEtcdCluster } from "../tools/etcd.js";
import { etcdAdmin } from "../tools/etcd-admin.js";
import { findTool } from "../tools/find-tool.js";
import { startRedis } from "../tools/redis.js";
import { startPrometheus } from "./prometheus.js";

const QUOTA_BYTES = 32 * 2 ** 20;
/** More than the alert waits for, and so much less than all that one more object fits. */
const FILLED_BYTES = 0.83 * QUOTA_BYTES;
const MAPS = "/api/v1/namespaces/default/configmaps";

async function whyNot(): Promise<string | false> {
  for (const tool of ["prometheus", "redis-server"] as const) {
    if ((await findTool(tool)) === undefined) return `${tool} is not to be had`;
  }
  return false;
}

const TITLE =
  "CARD-08: alerts on a broken file, a lost Redis, a short history and a filling etcd fire and are resolved";

// It takes minutes, so it is part of the long run.
if (isLong) test(TITLE, { skip: await whyNot() }, followAlerts);

async function followAlerts(t: TestContext): Promise<void> {
  await using stub = await openWebhookStub(({ body }) => withStatus(body, { allowed: true }));
  await using redis = await startRedis();
  await using etcd = await startEtcdCluster(1, { args: [`--quota-backend-bytes=${QUOTA_BYTES}`] });
  await using folder = await makeTempDir("alerts");
  const at = (name: string) => join(folder.path, name);
  await writeFile(at("webhook.kubeconfig"), stub.kubeconfig);
  await writeFile(at("tokens.csv"), 'jane-token,jane,jane,"dev"\n');
  const authority = await TestAuthority.create("people");
  await writeFile(at("people.pem"), authority.certificate);
  await using server = await startServer({
    etcdEndpoints: etcd.endpoints,
    flags: [
      "--run-controllers=false",
      "--watch-cache-bytes=1Mi",
      "--authorization-mode=Webhook,RBAC",
      `--authorization-webhook-config-file=${at("webhook.kubeconfig")}`,
      `--authorization-webhook-cache-redis=${redis.url}`,
      `--token-auth-file=${at("tokens.csv")}`,
      `--client-ca-file=${at("people.pem")}`,
    ],
  });
  const { client, port, credentials } = server;
  const { metricsUrls } = etcd;
  await using prometheus = await startPrometheus({ ports: [port], metricsUrls, credentials });
  const isFiring = async (alert: string) => (await prometheus.firing()).includes(alert);
  const fires = async (alert: string, meanwhile: () => Promise<unknown> = async () => {}) => {
    const probe = async () => {
      await meanwhile();
      return await isFiring(alert);
    };
    await eventually(`${alert} fires`, probe);
    t.diagnostic(`${alert} fires`);
  };
  await eventually("all is scraped", async () => (await prometheus.query("up == 1")).size === 2);

  // Somebody breaks a file of certificates.
  await writeFile(at("people.pem"), "no certificate");
  await fires("KeelsonReloadFailed");
  await writeFile(at("people.pem"), authority.certificate);

  // Redis goes: what was not decided yet cannot be remembered there.
  const jane = new HttpsClient(server.url, { ca: credentials.ca });
  const headers = { authorization: "Bearer jane-token" };
  const review = { count: 0 };
  await redis.kill();
  await fires("KeelsonRedisErrors", () =>
    jane.request(`${MAPS}/review-${review.count++}`, { headers }),
  );
  jane.close();
  await redis.restart();

  // A burst of writes: more than the log of events holds, and most of what etcd may.
  const text = "x".repeat(600_000);
  const filled = async () => {
    const page = await (await fetch(metricsUrls[0] ?? "")).text();
    return Number(/^etcd_mvcc_db_total_size_in_bytes (\S+)$/m.exec(page)?.[1]);
  };
  let written = 0;
  for (; (await filled()) < FILLED_BYTES; written++) {
    const large = { metadata: { name: `large-${written}` }, data: { text } };
    (await client.post(MAPS, large)).expect(201);
  }
  await fires("KeelsonHistoryTooShort");
  await fires("KeelsonEtcdFilling");
  for (let i = 0; i < written; i++) {
    (await client.delete(`${MAPS}/large-${i}`)).expect(200);
  }
  await using raw = await openRawEtcdAt(etcd.endpoints[0] ?? "", "/registry");
  const { metadata } = (await client.get(MAPS)).object;
  await raw.compact(Number(metadata.resourceVersion));
  await etcdAdmin(etcd).defragment(0);

  await eventually("all is resolved", async () => (await prometheus.firing()).length === 0);
  assert.ok(review.count > 0);
}
