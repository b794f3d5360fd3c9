/** Health endpoints in the forms that probes and people use. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "../../storage/base/clock.js";
import { systemClock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import { StatusError } from "../api/status.js";
import { parseQuery } from "../request/query.js";
import { Health } from "./health.js";

const never = new AbortController().signal;

function openHealth(options: { livezGracePeriodMs?: number; clock?: Clock } = {}): {
  health: Health;
  etcd: { isUp: boolean };
} {
  const health = new Health({
    logger: silentLogger,
    clock: options.clock ?? systemClock,
    livezGracePeriodMs: options.livezGracePeriodMs ?? 0,
  });
  const etcd = { isUp: true };
  health.add({
    name: "etcd",
    check() {
      if (!etcd.isUp) throw new Error("secret address refused");
    },
  });
  return { health, etcd };
}

test("S2-HEALTH-01..03: all well is a 200 with the body ok", async () => {
  const { health } = openHealth();
  for (const endpoint of ["livez", "readyz", "healthz"] as const) {
    const { status, body } = await health.report(endpoint, parseQuery(""), never);
    assert.deepEqual([status, body], [200, "ok"]);
  }
});

test("S2-HEALTH-05, C-04: verbose lists the checks and ends with the same line on all paths", async () => {
  const { health } = openHealth();
  for (const endpoint of ["livez", "readyz", "healthz"] as const) {
    const { body } = await health.report(endpoint, parseQuery("verbose"), never);
    assert.equal(body, "[+]ping ok\n[+]log ok\n[+]etcd ok\nhealthz check passed\n");
  }
});

test("S2-HEALTH-06, S2-HEALTH-07: excluded checks count as well; unknown ones are warned of", async () => {
  const { health, etcd } = openHealth();
  etcd.isUp = false;
  const query = parseQuery("exclude=etcd&exclude=ping&exclude=moon&verbose");
  const { status, body } = await health.report("readyz", query, never);
  assert.equal(status, 200);
  assert.equal(
    body,
    '[+]ping excluded: ok\n[+]log ok\n[+]etcd excluded: ok\nwarn: some health checks cannot be excluded: no matches for "moon"\nhealthz check passed\n',
  );
});

test("CARD-08: /metrics/slis says what each check said last, and how often it said what", async () => {
  const { health, etcd } = openHealth();
  await health.report("readyz", parseQuery(""), never);
  etcd.isUp = false;
  await health.report("readyz", parseQuery(""), never);
  await health.report("livez", parseQuery("exclude=etcd&exclude=log"), never);
  const lines = (await health.results.registry.metrics()).split("\n");
  assert.deepEqual(
    lines.filter((line) => line.startsWith("kubernetes_")),
    [
      'kubernetes_healthcheck{name="ping",type="readyz"} 1',
      'kubernetes_healthcheck{name="log",type="readyz"} 1',
      'kubernetes_healthcheck{name="etcd",type="readyz"} 0',
      'kubernetes_healthcheck{name="ping",type="livez"} 1',
      'kubernetes_healthchecks_total{name="ping",status="success",type="readyz"} 2',
      'kubernetes_healthchecks_total{name="log",status="success",type="readyz"} 2',
      'kubernetes_healthchecks_total{name="etcd",status="success",type="readyz"} 1',
      'kubernetes_healthchecks_total{name="etcd",status="error",type="readyz"} 1',
      'kubernetes_healthchecks_total{name="ping",status="success",type="livez"} 1',
    ],
  );
});

test("S2-HEALTH-10: a failure is a 500 that withholds the reason", async () => {
  const { health, etcd } = openHealth();
  etcd.isUp = false;
  const { status, body } = await health.report("livez", parseQuery(""), never);
  assert.equal(status, 500);
  assert.equal(
    body,
    "[+]ping ok\n[+]log ok\n[-]etcd failed: reason withheld\nlivez check failed\n",
  );
});

test("S2-HEALTH-04: each check has a path of its own; an unknown one is a 404", async () => {
  const { health, etcd } = openHealth();
  assert.equal((await health.reportOne("livez", "etcd", never)).body, "ok");
  etcd.isUp = false;
  assert.equal((await health.reportOne("livez", "etcd", never)).status, 500);
  await assert.rejects(
    health.reportOne("livez", "moon", never),
    (error) => error instanceof StatusError && error.code === 404,
  );
});

test("S2-HEALTH-08: the status says all that a probe needs, whatever the words", async () => {
  const { health, etcd } = openHealth();
  const statusesOf = (queries: readonly string[]) =>
    Promise.all(
      queries.map(
        async (query) => (await health.report("readyz", parseQuery(query), never)).status,
      ),
    );
  const forms = ["", "verbose", "verbose=false", "exclude=moon", "exclude=ping&verbose", "moon=1"];
  assert.deepEqual(new Set(await statusesOf(forms)), new Set([200]));
  etcd.isUp = false;
  assert.deepEqual(new Set(await statusesOf(forms)), new Set([500]));
});

test("S2-HEALTH-04: what an endpoint does not depend on can still be asked for by name below it", async () => {
  const { health } = openHealth();
  let isUp = true;
  const check = () => {
    if (!isUp) throw new Error("down");
  };
  health.add({ name: "store", check }, ["readyz"]);
  const answers = async () => [
    (await health.report("livez", parseQuery("verbose&exclude=store"), never)).body,
    (await health.report("livez", parseQuery(""), never)).status,
    (await health.reportOne("livez", "store", never)).status,
    (await health.reportOne("readyz", "store", never)).status,
  ];
  const verbose = "[+]ping ok\n[+]log ok\n[+]etcd ok\nhealthz check passed\n";
  assert.deepEqual(await answers(), [verbose, 200, 200, 200]);
  isUp = false;
  assert.deepEqual(await answers(), [verbose, 200, 500, 500]);
  assert.ok(health.names("livez").includes("store"), "for the list of paths");
});

test("S2-HEALTH-05: a check that does not count is shown to those who want all, and says so when it fails", async () => {
  const { health } = openHealth();
  let asked = 0;
  let isUp = true;
  const check = () => {
    asked++;
    if (!isUp) throw new Error("down");
  };
  health.add({ name: "store", check, shownAt: ["livez"] }, ["readyz"]);
  const answer = async (query: string) => {
    const { status, body } = await health.report("livez", parseQuery(query), never);
    return [status, body];
  };
  const [before, end] = ["[+]ping ok\n[+]log ok\n[+]etcd ok\n", "healthz check passed\n"];
  assert.deepEqual(await answer("verbose"), [200, `${before}[+]store ok\n${end}`]);
  isUp = false;
  const failed = `[-]store failed: reason withheld\nwarn: store failed, which does not count for livez\n`;
  assert.deepEqual(await answer("verbose"), [200, `${before}${failed}${end}`]);
  const excluded = "[+]store excluded: ok\n";
  assert.deepEqual(await answer("verbose&exclude=store"), [200, `${before}${excluded}${end}`]);
  asked = 0;
  assert.deepEqual(await answer(""), [200, "ok"]);
  assert.equal(asked, 0, "a probe does not wait for what it does not depend on");
  assert.equal((await health.report("readyz", parseQuery(""), never)).status, 500);
});

test("S2-HEALTH-09, S2-HEALTH-11: a start hook fails until it is done; livez forgives it for the grace period", async () => {
  let nowMs = 0;
  const clock: Clock = { ...systemClock, monotonic: () => nowMs };
  const { health } = openHealth({ livezGracePeriodMs: 1000, clock });
  const finish = health.addStartCheck("poststarthook/bootstrap");
  const statusOf = async (endpoint: "livez" | "readyz") =>
    (await health.report(endpoint, parseQuery(""), never)).status;
  assert.deepEqual([await statusOf("livez"), await statusOf("readyz")], [200, 500]);
  nowMs = 1001;
  assert.deepEqual([await statusOf("livez"), await statusOf("readyz")], [500, 500]);
  finish();
  assert.deepEqual([await statusOf("livez"), await statusOf("readyz")], [200, 200]);
  assert.ok(health.names("livez").includes("poststarthook/bootstrap"));
});

test("a check that hangs fails at its deadline, and endpoints can have checks of their own", async () => {
  const { health } = openHealth();
  health.add({ name: "slow", deadlineMs: 1, check: () => new Promise(() => {}) }, ["readyz"]);
  // Our own timers do not keep a process alive.
  const alive = setInterval(() => {}, 1_000);
  try {
    assert.equal((await health.report("readyz", parseQuery(""), never)).status, 500);
    assert.equal((await health.report("livez", parseQuery(""), never)).status, 200);
  } finally {
    clearInterval(alive);
  }
});
