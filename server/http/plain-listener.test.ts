/** Health and metrics over HTTP, for probes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import { Metrics } from "../metrics/metrics.js";
import { Health } from "./health.js";
import { PlainListener } from "./plain-listener.js";

test("P8: probes and Prometheus get health and metrics, and nothing else is there", async () => {
  const health = new Health({ logger: silentLogger, clock: systemClock, livezGracePeriodMs: 0 });
  const started = health.addStartCheck("start", ["readyz"]);
  const metrics = new Metrics();
  metrics.collectProcessMetrics();
  const options = { host: "127.0.0.1", port: 0, health, metrics, logger: silentLogger };
  await using listener = await PlainListener.open(options);
  const ask = async (path: string, method = "GET") => {
    const answer = await fetch(`http://127.0.0.1:${listener.port}${path}`, { method });
    return { status: answer.status, text: await answer.text() };
  };
  assert.deepEqual(await ask("/livez"), { status: 200, text: "ok" });
  assert.equal((await ask("/readyz")).status, 500);
  started();
  assert.deepEqual(await ask("/readyz"), { status: 200, text: "ok" });
  assert.match((await ask("/readyz?verbose")).text, /\[\+\]start ok/);
  assert.deepEqual(await ask("/livez/ping"), { status: 200, text: "ok" });
  assert.deepEqual(await ask("/livez", "HEAD"), { status: 200, text: "" });
  assert.match((await ask("/metrics")).text, /^process_start_time_seconds /m);
  for (const [path, method, status] of [
    ["/livez/no-such", "GET", 404],
    ["/api/v1/namespaces", "GET", 404],
    ["/livez?exclude=%", "GET", 400],
    ["/livez", "POST", 405],
  ] as const) {
    assert.equal((await ask(path, method)).status, status, path);
  }
});
