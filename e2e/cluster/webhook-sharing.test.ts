/** Decisions of a webhook that replicas share through Redis: what they cost the webhook, counted. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { openWebhookStub, withStatus } from "../../server/client/testing/webhook-stub.js";
import { HttpsClient } from "../harness/https-client.js";
import { isLong } from "../harness/is-long.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { startEtcd } from "../tools/etcd.js";
import { startRedis } from "../tools/redis.js";

const REVIEWS = isLong ? 1_000 : 300;
const REPLICAS = 3;
/** Of one review on average: as many as they were asked for in the same moment on two replicas. */
const CALLS_MAX = 1.05;
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
  await using _ends = {
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.close();
      await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()));
    },
  };
  const headers = { authorization: "Bearer jane-token" };
  // Each review reaches each replica, one after the other, as requests behind a balancer do.
  let next = 0;
  const worker = async () => {
    for (let review = next++; review < REVIEWS; review = next++) {
      for (let turn = 0; turn < REPLICAS; turn++) {
        const client = clients[(review + turn) % REPLICAS];
        const path = `/api/v1/namespaces/default/configmaps/review-${review}`;
        (await client?.request(path, { headers }))?.expect(404);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  t.diagnostic(`${calls} calls for ${REVIEWS} reviews, ${REVIEWS * REPLICAS} requests`);
  assert.ok(calls >= REVIEWS && calls <= REVIEWS * CALLS_MAX, `${calls} calls`);
});
