import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import { createNaming } from "../api/naming.js";
import { type ClientConfig, parseClientConfig } from "./client-config.js";
import { FollowedClient } from "./followed-client.js";
import { openWebhookStub } from "./testing/webhook-stub.js";

const signal = new AbortController().signal;
const POST = { method: "POST", path: "", body: "{}" };

function configOf(text: string): Promise<ClientConfig> {
  return parseClientConfig(text, { path: "/config", naming: createNaming("kubernetes") });
}

test("a replaced configuration is used by the next request, and a request under way ends where it was sent", async () => {
  let arrived = () => {};
  let answer = () => {};
  const isThere = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const mayAnswer = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await using before = await openWebhookStub(async () => {
    arrived();
    await mayAnswer;
    return { body: "before" };
  });
  await using after = await openWebhookStub(() => ({ body: "after" }));
  const client = new FollowedClient(await configOf(before.kubeconfig), {
    clock: new ManualClock(),
    timeoutMs: 5_000,
  });
  const underWay = client.request(POST, signal);
  await isThere;
  client.replace(await configOf(after.kubeconfig));
  assert.equal((await client.request(POST, signal)).body.toString(), "after");
  answer();
  assert.equal((await underWay).body.toString(), "before");
  assert.equal((await client.request(POST, signal)).body.toString(), "after");
  assert.deepEqual([before.calls.length, after.calls.length], [1, 2]);
  client.close();
});
