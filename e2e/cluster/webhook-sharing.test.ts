/** Decisions of a webhook that replicas share through Redis: what they cost the webhook, counted. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Redis } from "ioredis";
import { openWebhookStub, withStatus } from "../../server/client/testing/webhook-stub.js";
import { eventually } from "../harness/eventually.js";
import { HttpsClient } from "../harness/https-client.js";
import { isLong } from "../harness/is-long.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { startEtcd } from "../tools/etcd.js";
import { startRedis } from "../tools/redis.js";

const REVIEWS = isLong ? 1_000 : 300;
const REPLICAS = 3;
/** Of one review on average, beside those that Redis could not answer in time. */
const CALLS_MAX = 1.05;
const CACHE = "apiserver_authorization_webhook_cache";
const AT_A_TIME = 12;

test(`CARD-05: ${REVIEWS} distinct reviews on three replicas cost the webhook at most ${CALLS_MAX} calls each`, async (t) => {
  let calls = 0;
  await using stub = await openWebhookStub(({ body }) => {
    calls++;
    return withStatus(body, { allowed: true });
  });
  await using redis = await startRedis();
  await using etcd = await startEtcd();
  await using folder = await makeTempDir("sharing");
  const at = (name: string) => join(folder.path, name);
  await writeFile(at("webhook.kubeconfig"), stub.kubeconfig);
  await writeFile(at("tokens.csv"), 'jane-token,jane,jane,"dev"\n');
  const webhook = {
    timeout: "5s",
    authorizedTTL: "5m",
    unauthorizedTTL: "30s",
    subjectAccessReviewVersion: "v1",
    matchConditionSubjectAccessReviewVersion: "v1",
    failurePolicy: "Deny",
    connectionInfo: { type: "KubeConfigFile", kubeConfigFile: at("webhook.kubeconfig") },
    matchConditions: [{ expression: "'dev' in request.groups" }],
  };
  const configuration = {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthorizationConfiguration",
    authorizers: [
      { type: "Webhook", name: "decides", webhook },
      { type: "RBAC", name: "rbac" },
    ],
  };
  await writeFile(at("authorization.yaml"), JSON.stringify(configuration));
  const start = () =>
    startServer({
      etcdEndpoints: [etcd.endpoint],
      flags: [
        "--run-controllers=false",
        `--authorization-config=${at("authorization.yaml")}`,
        `--token-auth-file=${at("tokens.csv")}`,
        `--authorization-webhook-cache-redis=${redis.url}`,
      ],
    });
  const replicas: ServerProcess[] = await Promise.all(Array.from({ length: REPLICAS }, start));
  const clients = replicas.map(
    ({ url, credentials }) => new HttpsClient(url, { ca: credentials.ca }),
  );
  const keys = new Redis(redis.url);
  await using _ends = {
    async [Symbol.asyncDispose]() {
      keys.disconnect();
      for (const client of clients) client.close();
      await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()));
    },
  };
  let next = 0;
  const headers = { authorization: "Bearer jane-token" };
  const counted = async (series: string) => {
    const each = replicas.map(({ client }) => valuesOf(client, series));
    return (await Promise.all(each)).reduce((sum, value) => sum + value, 0);
  };
  // Asked by all workers at once: one scrape answers them.
  let scrape: Promise<number> | undefined;
  const failedWrites = () => {
    scrape ??= counted(`${CACHE}_errors_total{operation="set"`).finally(() => {
      scrape = undefined;
    });
    return scrape;
  };
  // A replica answers before Redis has confirmed the decision, so a second one may be too early.
  const areShared = async () => {
    const missing = Math.min(next, REVIEWS) - (await keys.dbsize());
    return missing <= 0 || missing <= (await failedWrites());
  };
  // Each review reaches each replica, one after the other, as requests behind a balancer do.
  const worker = async () => {
    for (let review = next++; review < REVIEWS; review = next++) {
      for (let turn = 0; turn < REPLICAS; turn++) {
        const client = clients[(review + turn) % REPLICAS];
        const path = `/api/v1/namespaces/default/configmaps/review-${review}`;
        (await client?.request(path, { headers }))?.expect(404);
        if (turn === 0) await eventually("the decisions are in Redis", areShared);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  const fallbacks = await counted(`${CACHE}_fallbacks_total`);
  const unshared = fallbacks + (REPLICAS - 1) * (await failedWrites());
  const told = `${calls} calls for ${REVIEWS} reviews, ${REVIEWS * REPLICAS} requests; ${unshared} as Redis was late`;
  t.diagnostic(told);
  assert.ok(calls >= REVIEWS && calls - unshared <= REVIEWS * CALLS_MAX, told);
  assert.ok((await counted(`${CACHE}_hits_total{layer="redis"`)) >= REVIEWS, "Redis answers");
});

/** The sum of the series that begin so. */
async function valuesOf(client: HttpsClient, series: string): Promise<number> {
  const { text } = (await client.get("/metrics")).expect(200);
  const rows = text.split("\n").filter((row) => row.startsWith(series));
  return rows.reduce((sum, row) => sum + Number(row.split(" ").at(-1)), 0);
}
