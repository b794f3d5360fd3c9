import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../storage/base/clock.js";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import { createNaming, DEFAULT_VENDOR } from "../api/naming.js";
import { parseClientConfig } from "../client/client-config.js";
import { openClient } from "../client/open-client.js";
import { openWebhookStub, type StubAnswer } from "../client/testing/webhook-stub.js";
import { AuditWebhook } from "./audit-webhook.js";

const naming = createNaming(DEFAULT_VENDOR);
const INITIAL_MS = 10_000;

/** @param answers in this order; the last one stands for all further calls */
async function openWebhook(...answers: readonly StubAnswer[]) {
  const stub = await openWebhookStub(() => {
    return answers[Math.min(stub.calls.length, answers.length) - 1] ?? {};
  });
  const clock = new ManualClock();
  const config = await parseClientConfig(stub.kubeconfig, { path: "webhook", naming });
  const webhook = new AuditWebhook({
    client: openClient(config, { clock: systemClock, timeoutMs: 10_000 }),
    naming,
    clock,
    initialBackoffMs: INITIAL_MS,
  });
  return {
    stub,
    clock,
    webhook,
    async [Symbol.asyncDispose]() {
      await webhook[Symbol.asyncDispose]();
      await stub[Symbol.asyncDispose]();
    },
  };
}

test("S2-REQ-09: a batch is one list of events", async () => {
  await using opened = await openWebhook({ status: 200 });

  await opened.webhook.send(['{"auditID":"1"}', '{"auditID":"2"}']);

  const [call, ...others] = opened.stub.calls;
  assert.deepEqual([call?.method, others], ["POST", []]);
  assert.deepEqual(call?.body, {
    kind: "EventList",
    apiVersion: "audit.k8s.io/v1",
    metadata: {},
    items: [{ auditID: "1" }, { auditID: "2" }],
  });
});

test("S2-REQ-09: a batch that may pass by itself is sent again after a growing delay", async () => {
  await using opened = await openWebhook(
    { status: 503 },
    { status: 500 },
    { status: 429 },
    { status: 200 },
  );
  const { stub, clock, webhook } = opened;

  const sent = webhook.send(["{}"]);
  for (const factor of [1, 1.5, 1.5 ** 2]) {
    await clock.untilAsleep();
    const before = stub.calls.length;
    clock.advance(INITIAL_MS * factor - 1);
    assert.equal(stub.calls.length, before, "not before its time");
    clock.advance(1);
  }
  await sent;

  assert.equal(stub.calls.length, 4);
  assert.ok(stub.calls.every(({ body }) => body.kind === "EventList"));
});

test("S2-REQ-09: a batch that is refused is not sent again, and the reason has no event in it", async () => {
  await using opened = await openWebhook({ status: 403, body: "planted" });

  await assert.rejects(opened.webhook.send(['{"secret":"planted"}']), {
    message: "the audit webhook answered with status 403",
  });

  assert.equal(opened.stub.calls.length, 1);
});

test("S2-REQ-09: after five attempts a batch is given up", async () => {
  await using opened = await openWebhook({ status: 500 });
  const { clock, webhook, stub } = opened;

  const sent = assert.rejects(webhook.send(["{}"]), /answered with status 500/);
  for (let attempt = 1; attempt < 5; attempt++) {
    await clock.untilAsleep();
    clock.advance(INITIAL_MS * 1.5 ** attempt);
  }
  await sent;

  assert.equal(stub.calls.length, 5);
});

test("S2-REQ-09: the end of the process does not wait for the next attempt", async () => {
  await using opened = await openWebhook({ status: 503 });
  const { clock, webhook } = opened;
  const sent = assert.rejects(webhook.send(["{}"]));
  await clock.untilAsleep();

  await webhook[Symbol.asyncDispose]();

  await sent;
});
