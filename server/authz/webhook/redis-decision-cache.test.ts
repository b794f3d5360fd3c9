import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";
import { Redis } from "ioredis";
import { DEADLINE_MS, eventually } from "../../../e2e/harness/eventually.js";
import { makeTempDir } from "../../../e2e/harness/temp-dir.js";
import { TestAuthority } from "../../../e2e/harness/test-authority.js";
import { freePort } from "../../../e2e/tools/free-port.js";
import { startRedis } from "../../../e2e/tools/redis.js";
import { systemClock } from "../../../storage/base/clock.js";
import { silentLogger } from "../../../storage/base/logger.js";
import { ManualClock } from "../../../storage/base/testing/manual-clock.js";
import { SEED } from "../../../storage/base/testing/random.js";
import { createNaming } from "../../api/naming.js";
import { ReviewError } from "../../client/review-client.js";
import { parseRequestInfo } from "../../request/request-info.js";
import { createUser } from "../../request/user-info.js";
import type { AuthorizationAttributes } from "../authorizer.js";
import { type CountingMetrics, countingMetrics } from "../testing/counting-metrics.js";
import { CircuitBreaker } from "./circuit-breaker.js";
import {
  parseRedisUrl,
  RedisDecisionCache,
  type RedisDecisionCacheOptions,
} from "./redis-decision-cache.js";
import { WebhookAuthorizer, type WebhookAuthorizerOptions } from "./webhook-authorizer.js";

const never = { signal: new AbortController().signal };
// One signal for hundreds of concurrent questions; real requests have one each.
setMaxListeners(0, never.signal);
const jane = createUser({ name: "jane", groups: ["secret-group"], extra: { token: ["secret-1"] } });
const question = (name: string): AuthorizationAttributes => ({
  user: jane,
  info: parseRequestInfo("GET", `/api/v1/namespaces/prod/pods/${name}`),
});

const redis = await startRedis();
const admin = new Redis(redis.url, { maxRetriesPerRequest: null });
admin.on("error", () => {});

beforeEach(async () => {
  await admin.flushall();
});

after(async () => {
  admin.disconnect();
  await redis[Symbol.asyncDispose]();
});

/** Seeded random numbers. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The webhook as a replica sees it: counts calls and answers as the test says. */
function webhook() {
  const calls: string[] = [];
  const hook = {
    calls,
    status: (_name: string): object | Error => ({ allowed: true, reason: "secret-reason" }),
    ask: async (review: { spec: Record<string, unknown> }) => {
      const { name = "" } = review.spec.resourceAttributes as { name?: string };
      calls.push(name);
      const status = hook.status(name);
      if (status instanceof Error) throw status;
      return status as Record<string, unknown>;
    },
  };
  return hook;
}

interface Replica extends AsyncDisposable {
  readonly cache: RedisDecisionCache;
  readonly metrics: CountingMetrics;
  decide(name: string): Promise<string>;
}

function openReplica(
  hook: ReturnType<typeof webhook>,
  options: Partial<WebhookAuthorizerOptions> = {},
  cacheOptions: Partial<RedisDecisionCacheOptions> = { budgetMs: DEADLINE_MS },
): Replica {
  const metrics = countingMetrics();
  const cache = new RedisDecisionCache({
    connection: parseRedisUrl(redis.url),
    clock: systemClock,
    logger: silentLogger,
    metrics,
    ...cacheOptions,
  });
  const authorizer = new WebhookAuthorizer({
    name: "authz",
    configurationDigest: "c1",
    reviews: { ask: (review) => hook.ask(review) },
    version: "v1",
    naming: createNaming("kubernetes"),
    failurePolicy: "NoOpinion",
    conditions: [],
    authorizedTtlMs: 60_000,
    unauthorizedTtlMs: 30_000,
    shared: cache,
    clock: systemClock,
    logger: silentLogger,
    metrics,
    ...options,
  });
  return {
    cache,
    metrics,
    decide: async (name) => (await authorizer.authorize(question(name), never)).decision,
    [Symbol.asyncDispose]: () => cache[Symbol.asyncDispose](),
  };
}

const isConnected = (replica: Replica) =>
  eventually("connected to Redis", () => replica.cache.isConnected);

test("S2-AZC-23: what replica A was told, replica B knows without a call, for what is left of the TTL", async () => {
  const hook = webhook();
  const answers: Record<string, object> = {
    web: { allowed: true, reason: "secret-reason" },
    db: { denied: true },
    cache: {},
  };
  hook.status = (name) => answers[name] ?? {};
  await using a = openReplica(hook);
  await using b = openReplica(hook);
  await Promise.all([isConnected(a), isConnected(b)]);
  const decisions = { web: "allow", db: "deny", cache: "no-opinion" };
  for (const [name, decision] of Object.entries(decisions)) {
    assert.equal(await a.decide(name), decision);
  }
  await eventually("written", async () => (await admin.dbsize()) === 3);
  for (const [name, decision] of Object.entries(decisions)) {
    assert.equal(await b.decide(name), decision);
    assert.equal(await b.decide(name), decision);
  }
  assert.deepEqual(hook.calls, ["web", "db", "cache"]);
  assert.deepEqual([b.metrics.of("hit redis"), b.metrics.of("hit process")], [3, 3]);

  for (const key of await admin.keys("*")) {
    assert.match(key, /^keelson:authorization:[0-9a-f]{64}$/);
    const [value, ttlMs] = [await admin.get(key), await admin.pttl(key)];
    assert.match(String(value), /^1:(allow|deny|no-opinion)$/);
    const ttlMax = value === "1:allow" ? 60_000 : 30_000;
    assert.ok(ttlMs > ttlMax - 10_000 && ttlMs <= ttlMax, `${value} ${ttlMs}`);
  }
});

test("S2-AZC-23: another configuration or another authorizer is another question", async () => {
  const hook = webhook();
  await using a = openReplica(hook);
  await using b = openReplica(hook, { configurationDigest: "c2" });
  await using c = openReplica(hook, { name: "other" });
  await Promise.all([a, b, c].map(isConnected));
  for (const replica of [a, b, c]) await replica.decide("web");
  assert.equal(hook.calls.length, 3);
});

test("decisions that are not to be remembered are neither written nor believed", async () => {
  const hook = webhook();
  await using a = openReplica(hook, { authorizedTtlMs: 0 });
  await isConnected(a);
  await a.decide("web");
  await a.decide("web");
  assert.equal(hook.calls.length, 2);
  assert.equal(await admin.dbsize(), 0);

  // Another client with the same key, for example an older process.
  await using b = openReplica(hook);
  await isConnected(b);
  await b.decide("web");
  await eventually("written", async () => (await admin.dbsize()) === 1);
  await a.decide("web");
  assert.equal(hook.calls.length, 4);
});

test("a TTL in Redis that is longer than the configuration's does not count", async () => {
  const hook = webhook();
  await using a = openReplica(hook, { authorizedTtlMs: 1_000 });
  await isConnected(a);
  await a.decide("web");
  await eventually("written", async () => (await admin.dbsize()) === 1);
  const [key] = await admin.keys("*");
  await admin.pexpire(String(key), 1_000_000);
  let nowMs = 0;
  const clock = { ...systemClock, monotonic: () => nowMs };
  await using b = openReplica(hook, { authorizedTtlMs: 1_000, clock });
  await isConnected(b);
  await b.decide("web");
  assert.equal(b.metrics.of("hit redis"), 1);
  nowMs = 1_000;
  await admin.flushall();
  await b.decide("web");
  assert.equal(hook.calls.length, 2);
});

test("S2-AZC-23: garbage in Redis is not a decision", async () => {
  const hook = webhook();
  hook.status = () => ({ allowed: false });
  await using a = openReplica(hook);
  await isConnected(a);
  await a.decide("web");
  const key = await eventually("written", async () => (await admin.keys("*"))[0]);
  const ttl = ["PX", 60_000] as const;
  const plants: readonly (() => Promise<unknown>)[] = [
    () => admin.set(key, "allow", ...ttl),
    () => admin.set(key, "1:allow ", ...ttl),
    () => admin.set(key, "1:allow\0", ...ttl),
    () => admin.set(key, "1:ALLOW", ...ttl),
    () => admin.set(key, "2:allow", ...ttl),
    () => admin.set(key, '{"decision":"allow"}', ...ttl),
    () => admin.set(key, Buffer.from([0xff, 0xfe, 0x31]), ...ttl),
    () => admin.set(key, "1:allow".padEnd(1_000_000, "x"), ...ttl),
    () => admin.set(key, "1:allow"), // for ever
    () => admin.lpush(key, "1:allow"),
    () => admin.hset(key, "1:allow", "1"),
  ];
  for (const plant of plants) {
    await admin.del(key);
    await plant();
    await using b = openReplica(hook);
    await isConnected(b);
    assert.equal(await b.decide("web"), "no-opinion");
    assert.equal(b.metrics.of("failed get garbage"), 1);
    assert.equal(b.metrics.of("fell back"), 0);
  }
  assert.equal(hook.calls.length, plants.length + 1);
});

test("S2-AZC-23: Redis that does not answer (SIGSTOP) costs its budget three times, then nothing", async () => {
  const hook = webhook();
  const clock = new ManualClock();
  await using a = openReplica(hook, {}, { clock });
  await isConnected(a);
  redis.pause();
  try {
    // The breaker's time stands still: it lets nobody try again.
    for (let i = 0; i < 30; i++) assert.equal(await a.decide(`web-${i}`), "allow");
    assert.equal(a.metrics.of("failed get timeout"), 3);
    assert.equal(a.metrics.of("fell back"), 30);
    assert.equal(hook.calls.length, 30);
  } finally {
    redis.resume();
  }
  await eventually("Redis is in use again", async () => {
    clock.advance(1_000);
    await a.decide(`again-${a.metrics.of("missed")}`);
    return (await admin.dbsize()) > 1;
  });
});

test("S2-AZC-23: concurrent requests while Redis hangs share one look-up per question", async () => {
  const hook = webhook();
  await using a = openReplica(hook, {}, {});
  await isConnected(a);
  redis.pause();
  try {
    const decisions = await Promise.all(Array.from({ length: 100 }, () => a.decide("web")));
    assert.ok(decisions.every((decision) => decision === "allow"));
    assert.equal(hook.calls.length, 1);
    assert.equal(a.metrics.of("failed get timeout"), 1);
  } finally {
    redis.resume();
  }
});

test("S2-AZC-23: Redis down, and failing webhooks on top, never let anybody in; nothing of it is remembered", async () => {
  const hook = webhook();
  await using a = openReplica(hook, { failurePolicy: "Deny" });
  await isConnected(a);
  await redis.kill();
  hook.status = () => new ReviewError("error", "down");
  assert.equal(await a.decide("web"), "deny");
  await redis.restart();
  await isConnected(a);
  assert.equal(await admin.dbsize(), 0, "a webhook error is not shared");
  hook.status = () => ({ allowed: true });
  assert.equal(await a.decide("web"), "allow");
});

test("S2-AZC-23: a killed Redis is done without, a restarted one is used again, empty", async () => {
  const hook = webhook();
  await using a = openReplica(hook);
  await using b = openReplica(hook);
  await Promise.all([isConnected(a), isConnected(b)]);
  await a.decide("web");
  await eventually("written", async () => (await admin.dbsize()) === 1);
  await redis.kill();
  assert.equal(await b.decide("web"), "allow");
  assert.equal(hook.calls.length, 2);
  assert.equal(b.metrics.of("fell back"), 1);
  await redis.restart();
  await Promise.all([isConnected(a), isConnected(b)]);
  await eventually("B shares again", async () => {
    const name = `after-${hook.calls.length}`;
    await b.decide(name);
    return (await admin.dbsize()) > 0;
  });
});

test("S2-AZC-23: a full Redis (maxmemory) shares what it has and refuses the rest, unnoticed", async () => {
  const hook = webhook();
  await using a = openReplica(hook);
  await using b = openReplica(hook);
  await Promise.all([isConnected(a), isConnected(b)]);
  await a.decide("web");
  await eventually("written", async () => (await admin.dbsize()) === 1);
  await admin.config("SET", "maxmemory-policy", "noeviction");
  await admin.config("SET", "maxmemory", "1");
  try {
    for (let i = 0; i < 5; i++) assert.equal(await b.decide(`web-${i}`), "allow");
    await eventually("refused", () => b.metrics.of("failed set reply") === 5);
    assert.equal(await b.decide("web"), "allow");
    assert.equal(b.metrics.of("hit redis"), 1, "reads go on");
  } finally {
    await admin.config("SET", "maxmemory", "0");
  }
});

test("S2-AZC-23: whatever happens to Redis, no decision of any replica is ever another than the webhook's", async () => {
  const random = mulberry32(SEED);
  const pick = (count: number) => Math.floor(random() * count);
  const decisionOf = (name: string) =>
    (["allow", "deny", "no-opinion"] as const)[Number(name.split("-")[1]) % 3] ?? "no-opinion";
  const hook = webhook();
  hook.status = (name) => {
    const decision = decisionOf(name);
    return { allowed: decision === "allow", denied: decision === "deny" };
  };
  // Process caches expire at once, so every question goes to Redis or the webhook.
  const options = { authorizedTtlMs: 30, unauthorizedTtlMs: 30 };
  await using first = openReplica(hook, options, {});
  await using second = openReplica(hook, options, {});
  const replicas = [first, second];
  await Promise.all(replicas.map(isConnected));
  // Redis answers while all is well; the faults leave that partly to chance.
  await eventually("each was told something by Redis", async () => {
    for (const [name, order] of [
      ["pod-1", replicas] as const,
      ["pod-2", [second, first]] as const,
    ]) {
      for (const replica of order) await replica.decide(name);
    }
    return replicas.every(({ metrics }) => metrics.of("hit redis") > 0);
  });
  let asked = 0;
  /** Until something has happened so much more often to each replica. */
  const untilMore = async (what: string, countOf: (replica: Replica) => number, more: number) => {
    const before = replicas.map(countOf);
    await eventually(what, () =>
      replicas.every((replica, at) => countOf(replica) >= (before[at] ?? 0) + more),
    );
  };
  const faults: readonly (() => Promise<unknown>)[] = [
    async () => {
      redis.pause();
      await untilMore("Redis is done without", ({ metrics }) => metrics.of("fell back"), 1);
      redis.resume();
    },
    async () => {
      await redis.kill();
      await redis.restart();
    },
    async () => {
      const keys = await admin.keys("*");
      const values = ["1:allow ", "allow", "", "1:allow1:allow", "\u0001"];
      for (const key of keys) await admin.set(key, String(values[pick(values.length)]));
    },
    () => admin.flushall(),
    () => admin.config("SET", "maxmemory", "1"),
    () => admin.config("SET", "maxmemory", "0"),
  ];
  let isOver = false;
  const ask = async (replica: Replica) => {
    for (let turn = 0; !isOver; turn++, asked++) {
      const name = `pod-${pick(300)}`;
      assert.equal(await replica.decide(name), decisionOf(name), `seed ${SEED}, ${name}`);
      if (turn % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const asking = Promise.all(replicas.flatMap((replica) => [ask(replica), ask(replica)]));
  for (let round = 0; round < 14; round++) {
    await faults[round < faults.length ? round : pick(faults.length)]?.();
    await untilMore("others ask", () => asked, 40);
  }
  isOver = true;
  await asking;
  await admin.config("SET", "maxmemory", "0");
  assert.ok(asked > 14 * 40, String(asked));
  for (const { metrics } of replicas) {
    assert.ok(metrics.of("fell back") > 0, JSON.stringify(metrics.counts));
  }
});

test("S2-AZC-23: passwords and TLS: the right ones connect, the wrong ones are done without", async () => {
  await using dir = await makeTempDir("redis-tls");
  const authority = await TestAuthority.create();
  const serving = await authority.issueServer();
  const file = async (name: string, text: string) => {
    await writeFile(join(dir.path, name), text);
    return join(dir.path, name);
  };
  const port = await freePort();
  await using secured = await startRedis([
    ...["--tls-port", String(port), "--tls-auth-clients", "no", "--requirepass", "open sesame"],
    ...["--tls-cert-file", await file("cert", serving.cert)],
    ...["--tls-key-file", await file("key", serving.key)],
    ...["--tls-ca-cert-file", await file("ca", authority.certificate)],
  ]);
  const open = (text: string, ca = authority.certificate) => {
    const metrics = countingMetrics();
    const connection = parseRedisUrl(text);
    const options = { connection, ca, clock: systemClock, logger: silentLogger, metrics };
    return { cache: new RedisDecisionCache(options), metrics };
  };
  assert.ok(secured.url.startsWith("redis://"));
  const good = open(`rediss://:open%20sesame@127.0.0.1:${port}/2`);
  await eventually("connected", () => good.cache.isConnected);
  good.cache.put("k", "deny", 60_000);
  const read = await eventually("shared", async () => (await good.cache.get("k")).found);
  assert.equal(read.decision, "deny");

  const other = await TestAuthority.create("other");
  const unsafe = open(`rediss://:open%20sesame@127.0.0.1:${port}/2`, other.certificate);
  const wrong = open(`rediss://:closed@127.0.0.1:${port}/2`);
  await eventually("refused", async () => {
    assert.deepEqual(await unsafe.cache.get("k"), { isAsked: false });
    assert.deepEqual(await wrong.cache.get("k"), { isAsked: false });
    return wrong.metrics.of("failed get reply") + wrong.metrics.of("failed get skipped") > 3;
  });
  wrong.cache.replacePassword("open sesame");
  await eventually("the new password is used", async () => {
    return (await wrong.cache.get("k")).found?.decision === "deny";
  });
  unsafe.cache.replaceAuthorities(authority.certificate);
  await eventually("P10: the new authority is believed", async () => {
    return (await unsafe.cache.get("k")).found?.decision === "deny";
  });
  for (const { cache } of [good, unsafe, wrong]) await cache[Symbol.asyncDispose]();
});

test("addresses of Redis are read, bad ones are refused without their password", () => {
  assert.deepEqual(parseRedisUrl("redis://r.example"), {
    host: "r.example",
    port: 6379,
    database: 0,
    username: "",
    password: "",
    isTls: false,
  });
  assert.deepEqual(parseRedisUrl("rediss://me:p%40ss@[::1]:7000/3"), {
    host: "::1",
    port: 7000,
    database: 3,
    username: "me",
    password: "p@ss",
    isTls: true,
  });
  const wrong = ["", "r.example:6379", "http://:pw@r", "redis://:pw@r/a", "redis://r?x=pw"];
  for (const text of [...wrong, "redis://:%pw@r"]) {
    assert.throws(
      () => parseRedisUrl(text),
      (error: Error) => !error.message.includes("pw") && /must be redis:/.test(error.message),
    );
  }
});

test("a breaker opens after three failures in a row, lets one try after a second, closes by success", () => {
  const clock = new ManualClock();
  const breaker = new CircuitBreaker(clock);
  breaker.failed();
  breaker.failed();
  breaker.succeeded();
  breaker.failed();
  breaker.failed();
  assert.ok(breaker.mayTry() && !breaker.isOpen);
  breaker.failed();
  assert.ok(!breaker.mayTry() && breaker.isOpen);
  clock.advance(1_000);
  assert.ok(breaker.mayTry());
  assert.ok(!breaker.mayTry(), "one at a time");
  breaker.failed();
  assert.ok(!breaker.mayTry());
  clock.advance(1_000);
  assert.ok(breaker.mayTry());
  breaker.succeeded();
  assert.ok(breaker.mayTry() && breaker.mayTry());
});
