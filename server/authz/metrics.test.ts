import assert from "node:assert/strict";
import { test } from "node:test";
import { createAuthorizationMetrics } from "./metrics.js";

test("S2-AZC-24: kube-apiserver's metrics have the same names and labels here", () => {
  const values = new Map<string, number>();
  const collectors: (() => void)[] = [];
  const key = (name: string, labelNames: readonly string[], labels: readonly string[]) =>
    `${name}{${labelNames.map((label, index) => `${label}=${labels[index]}`).join(",")}}`;
  const metrics = createAuthorizationMetrics(
    {
      counter: ({ name, labelNames = [] }) => ({
        add(count, ...labels) {
          assert.equal(labels.length, labelNames.length, name);
          const at = key(name, labelNames, labels);
          values.set(at, (values.get(at) ?? 0) + count);
        },
        cell: () => assert.fail(name),
      }),
      histogram: ({ name, labelNames = [] }) => ({
        cell: (...labels) => ({
          observe: (value) => {
            assert.equal(labels.length, labelNames.length, name);
            values.set(key(name, labelNames, labels), value);
          },
        }),
      }),
      gauge({ name, labelNames = [] }, collect) {
        collectors.push(() =>
          collect((value, ...labels) => values.set(key(name, labelNames, labels), value)),
        );
      },
    },
    "sha256:me",
  );
  metrics.called("w", "success", 1_500);
  metrics.called("w", "timeout", 10);
  metrics.failedOpen("w", "timeout");
  metrics.conditionsEvaluated("w", "match", 1);
  metrics.conditionsEvaluated("w", "excluded", 2);
  metrics.conditionsEvaluated("w", "error", 3);
  metrics.hit("process");
  metrics.hit("redis");
  metrics.missed();
  metrics.failed("get", "timeout");
  metrics.fellBack();
  metrics.decided("Webhook", "w", "allowed");
  metrics.reloaded(true, 5_000);
  metrics.reloaded(false, 6_000);
  metrics.configured("sha256:file");
  for (const collect of collectors) collect();

  const a = "apiserver_authorization";
  assert.deepEqual(Object.fromEntries(values), {
    [`${a}_webhook_evaluations_total{name=w,result=success}`]: 1,
    [`${a}_webhook_evaluations_total{name=w,result=timeout}`]: 1,
    [`${a}_webhook_duration_seconds{name=w,result=success}`]: 1.5,
    [`${a}_webhook_duration_seconds{name=w,result=timeout}`]: 0.01,
    [`${a}_webhook_evaluations_fail_open_total{name=w,result=timeout}`]: 1,
    [`${a}_match_condition_evaluation_seconds{type=Webhook,name=w}`]: 0.003,
    [`${a}_match_condition_exclusions_total{type=Webhook,name=w}`]: 1,
    [`${a}_match_condition_evaluation_errors_total{type=Webhook,name=w}`]: 1,
    [`${a}_decisions_total{type=Webhook,name=w,decision=allowed}`]: 1,
    [`${a}_webhook_cache_hits_total{layer=process}`]: 1,
    [`${a}_webhook_cache_hits_total{layer=redis}`]: 1,
    [`${a}_webhook_cache_misses_total{}`]: 1,
    [`${a}_webhook_cache_errors_total{operation=get,reason=timeout}`]: 1,
    [`${a}_webhook_cache_fallbacks_total{}`]: 1,
    [`${a}_config_controller_automatic_reloads_total{status=success,apiserver_id_hash=sha256:me}`]: 1,
    [`${a}_config_controller_automatic_reloads_total{status=failure,apiserver_id_hash=sha256:me}`]: 1,
    [`${a}_config_controller_automatic_reload_last_timestamp_seconds{status=success,apiserver_id_hash=sha256:me}`]: 5,
    [`${a}_config_controller_automatic_reload_last_timestamp_seconds{status=failure,apiserver_id_hash=sha256:me}`]: 6,
    [`${a}_config_controller_last_config_info{apiserver_id_hash=sha256:me,hash=sha256:file}`]: 1,
  });
});
