/**
 * The cost of a webhook's decision in this process, by the layer that answers:
 *
 *   node dist/server/authz/webhook/decisions.bench.js redis://127.0.0.1:6379
 *
 *   process   remembered here            condition   the same behind a match condition
 *   redis     another replica asked      call        asked over TLS with a client certificate
 *
 * Redis must be running; its keys expire by themselves. The webhook runs in a process of its own, so that
 * its work is not counted. Prints microseconds of CPU and of time per decision, one at a time and 32 at a
 * time.
 */
import { fork } from "node:child_process";
import { once, setMaxListeners } from "node:events";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../../storage/base/clock.js";
import { silentLogger } from "../../../storage/base/logger.js";
import { createNaming } from "../../api/naming.js";
import { parseClientConfig } from "../../client/client-config.js";
import { openClient } from "../../client/open-client.js";
import { ReviewClient } from "../../client/review-client.js";
import { openWebhookStub } from "../../client/testing/webhook-stub.js";
import { parseRequestInfo } from "../../request/request-info.js";
import { createUser } from "../../request/user-info.js";
import { countingMetrics } from "../testing/counting-metrics.js";
import { createConditionCompiler } from "./condition-environment.js";
import { parseRedisUrl, RedisDecisionCache } from "./redis-decision-cache.js";
import { WebhookAuthorizer, type WebhookAuthorizerOptions } from "./webhook-authorizer.js";

const PROCESS_DECISIONS = 300_000;
const REDIS_DECISIONS = 10_000;
const CALLS = 3_000;
const AT_A_TIME = 32;
/** The number of distinct questions that the process layer is asked repeatedly. */
const QUESTIONS = 1_000;

async function serve(): Promise<void> {
  const stub = await openWebhookStub();
  process.send?.(stub.kubeconfig);
  process.once("disconnect", () => process.exit());
  setInterval(() => stub.calls.splice(0), 100);
}

async function measure(redisUrl: string): Promise<void> {
  const webhook = fork(fileURLToPath(import.meta.url), ["webhook"]);
  const [kubeconfig] = (await once(webhook, "message")) as [string];
  const naming = createNaming("kubernetes");
  const config = await parseClientConfig(kubeconfig, { path: "/kubeconfig", naming });
  const client = openClient(config, { clock: systemClock, timeoutMs: 5_000 });
  const metrics = countingMetrics();
  const cache = new RedisDecisionCache({
    connection: parseRedisUrl(redisUrl),
    clock: systemClock,
    logger: silentLogger,
    metrics,
  });
  while (!cache.isConnected) await new Promise((resolve) => setTimeout(resolve, 10));
  const open = (options: Partial<WebhookAuthorizerOptions> = {}) =>
    new WebhookAuthorizer({
      name: "bench",
      configurationDigest: String(process.pid),
      reviews: new ReviewClient({ client, clock: systemClock }),
      version: "v1",
      naming,
      failurePolicy: "Deny",
      conditions: [],
      authorizedTtlMs: 60_000,
      unauthorizedTtlMs: 60_000,
      clock: systemClock,
      logger: silentLogger,
      metrics,
      ...options,
    });
  const expression = "has(request.resourceAttributes) && 'dev' in request.groups";
  const conditions = [{ expression, program: createConditionCompiler(naming)(expression) }];

  const remembering = open();
  const conditional = open({ conditions });
  for (let i = 0; i < QUESTIONS; i++) {
    await Promise.all([decide(remembering, i), decide(conditional, i)]);
  }
  await report("process", PROCESS_DECISIONS, 1, (i) => decide(remembering, i % QUESTIONS));
  await report("condition", PROCESS_DECISIONS, 1, (i) => decide(conditional, i % QUESTIONS));

  // One replica asks and shares; the other has no process cache and finds the decision in Redis.
  const sharing = open({ shared: cache });
  for (let i = 0; i < QUESTIONS; i++) await decide(sharing, i);
  for (const atATime of [1, AT_A_TIME]) {
    let finding = open({ shared: cache });
    await report("redis", REDIS_DECISIONS, atATime, (i) => {
      if (i % QUESTIONS === 0) finding = open({ shared: cache });
      return decide(finding, i % QUESTIONS);
    });
  }
  const asking = open({ authorizedTtlMs: 0, unauthorizedTtlMs: 0 });
  for (const atATime of [1, AT_A_TIME]) {
    await report("call", CALLS, atATime, (i) => decide(asking, i));
  }
  console.log(metrics.counts);
  await cache[Symbol.asyncDispose]();
  client.close();
  webhook.kill();
}

const user = createUser({
  name: "jane@example.com",
  groups: ["dev", "team-1", "system:authenticated"],
  extra: { "example.com/credential-id": ["X509SHA256=0123456789abcdef0123456789abcdef"] },
});
const never = { signal: new AbortController().signal };
setMaxListeners(0, never.signal);

function decide(authorizer: WebhookAuthorizer, index: number): unknown {
  const info = parseRequestInfo("GET", `/apis/apps/v1/namespaces/prod/deployments/web-${index}`);
  return authorizer.authorize({ user, info }, never);
}

async function report(
  layer: string,
  count: number,
  atATime: number,
  run: (index: number) => unknown,
): Promise<void> {
  const [cpu, startMs] = [process.cpuUsage(), performance.now()];
  for (let i = 0; i < count; i += atATime) {
    if (atATime === 1) {
      const answer = run(i);
      // No extra turn of the event loop where production has none.
      if (answer instanceof Promise) await answer;
    } else await Promise.all(Array.from({ length: atATime }, (_, index) => run(i + index)));
  }
  const elapsedUs = ((performance.now() - startMs) * 1_000) / count;
  const { user: userUs, system: systemUs } = process.cpuUsage(cpu);
  const cpuUs = (userUs + systemUs) / count;
  console.log(
    `${layer.padEnd(10)} ${String(atATime).padStart(2)} at a time  CPU ${cpuUs.toFixed(2)} us  time ${elapsedUs.toFixed(2)} us`,
  );
}

if (process.argv[2] === "webhook") await serve();
else await measure(process.argv[2] ?? "redis://127.0.0.1:6379");
