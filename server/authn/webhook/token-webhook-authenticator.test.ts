import assert from "node:assert/strict";
import { test } from "node:test";
import { type LogFields, type Logger, silentLogger } from "../../../storage/base/logger.js";
import { ManualClock } from "../../../storage/base/testing/manual-clock.js";
import { createNaming } from "../../api/naming.js";
import { parseClientConfig } from "../../client/client-config.js";
import { ConfiguredCredentials } from "../../client/credentials.js";
import { HttpsClient } from "../../client/https-client.js";
import { ReviewClient } from "../../client/review-client.js";
import {
  openWebhookStub,
  type WebhookStub,
  withStatus,
} from "../../client/testing/webhook-stub.js";
import type { RequestFacts } from "../authenticator.js";
import {
  TokenWebhookAuthenticator,
  type TokenWebhookOptions,
} from "./token-webhook-authenticator.js";

const never = { signal: new AbortController().signal };
const JANE = { username: "jane", uid: "42", groups: ["dev"], extra: { scope: ["a", "b"] } };

const withToken = (token: string): RequestFacts => ({
  headers: { authorization: `Bearer ${token}` },
  socket: undefined,
  path: "/api",
});

async function open(stub: WebhookStub, options: Partial<TokenWebhookOptions> = {}) {
  const naming = options.naming ?? createNaming("kubernetes");
  const config = await parseClientConfig(stub.kubeconfig, { path: "/config", naming });
  const clock = new ManualClock();
  const logs: string[] = [];
  const error = (fields: LogFields, message: string) => {
    logs.push(`${message} ${JSON.stringify(fields)} ${fields.err}`);
  };
  const logger: Logger = { ...silentLogger, error };
  const client = new HttpsClient({
    endpoint: config,
    credentials: new ConfiguredCredentials(config.user, clock),
    timeoutMs: 5_000,
  });
  const authenticator = new TokenWebhookAuthenticator({
    reviews: new ReviewClient({ client, clock, random: () => 0 }),
    version: "v1",
    naming,
    cacheTtlMs: 120_000,
    apiAudiences: [],
    clock,
    logger,
    ...options,
  });
  const ask = async (token: string) => await authenticator.authenticate(withToken(token), never);
  return { authenticator, ask, clock, logs };
}

test("S2-TR-01, 05, 06: the token goes to the webhook over mutual TLS and its answer is the user", async () => {
  await using stub = await openWebhookStub(({ body }) =>
    withStatus(body, { authenticated: true, user: JANE, error: "ignored when authenticated" }),
  );
  const { ask } = await open(stub);
  assert.deepEqual(await ask("t-1"), {
    name: "jane",
    uid: "42",
    groups: ["dev", "system:authenticated"],
    extra: { scope: ["a", "b"] },
  });
  assert.deepEqual(
    stub.calls.map(({ body, clientName, method }) => [method, clientName, body]),
    [
      [
        "POST",
        "apiserver",
        {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenReview",
          metadata: {},
          spec: { token: "t-1" },
          status: { user: {} },
        },
      ],
    ],
  );
});

test("requests without a bearer token are not the webhook's business", async () => {
  await using stub = await openWebhookStub();
  const { authenticator } = await open(stub);
  for (const authorization of [undefined, "", "Basic dTpw", "Bearer", "Bearer ", "Bearer a b"]) {
    const headers = authorization === undefined ? {} : { authorization };
    const facts = { headers, socket: undefined, path: "/" };
    assert.equal(authenticator.authenticate(facts, never), undefined);
  }
  assert.equal(stub.calls.length, 0);
});

test("S2-TR-04, S2-TR-09: it speaks the version it is told to and takes no other", async () => {
  await using stub = await openWebhookStub(({ body }) =>
    withStatus(body, { authenticated: true, user: JANE }),
  );
  const beta = await open(stub, { version: "v1beta1", naming: createNaming("acme") });
  assert.equal((await beta.ask("t"))?.name, "jane");
  assert.equal(stub.calls[0]?.body.apiVersion, "authentication.acme.io/v1beta1");

  stub.answer = ({ body }) => ({
    body: {
      ...body,
      apiVersion: "authentication.k8s.io/v1beta1",
      status: { authenticated: true, user: JANE },
    },
  });
  const { ask } = await open(stub);
  await assert.rejects(ask("t"), { code: 401, message: "Unauthorized" });
});

test("S2-TR-09: the spec of the answer is ignored", async () => {
  await using stub = await openWebhookStub(({ body }) => ({
    body: { ...body, spec: { token: "other" }, status: { authenticated: true, user: JANE } },
  }));
  assert.equal((await (await open(stub)).ask("t"))?.name, "jane");
});

test("S2-TR-03, S2-LIM-02: good and bad answers are remembered for the TTL, refusals with a reason are not", async () => {
  await using stub = await openWebhookStub(({ body }) => {
    const isGood = body.spec.token === "good";
    return withStatus(body, isGood ? { authenticated: true, user: JANE } : {});
  });
  const { ask, clock } = await open(stub);
  const first = await ask("good");
  assert.equal(await ask("good"), first);
  assert.equal(await ask("bad"), undefined);
  assert.equal(await ask("bad"), undefined);
  assert.equal(stub.calls.length, 2);
  clock.advance(119_999);
  await ask("good");
  assert.equal(stub.calls.length, 2);
  clock.advance(1);
  await ask("good");
  await ask("bad");
  assert.equal(stub.calls.length, 4);

  stub.answer = ({ body }) => withStatus(body, { error: "Credentials are expired" });
  await assert.rejects(ask("old"));
  await assert.rejects(ask("old"));
  assert.equal(stub.calls.length, 6);

  const forgetful = await open(stub, { cacheTtlMs: 0 });
  stub.answer = ({ body }) => withStatus(body, { authenticated: true, user: JANE });
  await forgetful.ask("good");
  await forgetful.ask("good");
  assert.equal(stub.calls.length, 8);
});

test("concurrent requests with one token make one call", async () => {
  await using stub = await openWebhookStub(({ body }) =>
    withStatus(body, { authenticated: true, user: JANE }),
  );
  const { ask } = await open(stub);
  const users = await Promise.all(Array.from({ length: 20 }, () => ask("t")));
  assert.deepEqual(new Set(users).size, 1);
  assert.equal(stub.calls.length, 1);
});

test("S2-TR-08: the webhook's reason is what the client reads, without one a generic 401 follows", async () => {
  await using stub = await openWebhookStub(({ body }) =>
    withStatus(body, { authenticated: false, error: "Credentials are expired" }),
  );
  const { ask } = await open(stub);
  await assert.rejects(ask("t"), { code: 401, message: "Credentials are expired" });
  stub.answer = ({ body }) => withStatus(body, { authenticated: false, user: JANE });
  assert.equal(await ask("t"), undefined, "no opinion: the last member of the union refuses");
});

test("S2-TR-07: a token must be meant for an audience of this server", async () => {
  await using stub = await openWebhookStub(({ body }) =>
    withStatus(body, { authenticated: true, user: JANE, audiences: ["vault", "api-2"] }),
  );
  const { ask, authenticator } = await open(stub, { apiAudiences: ["api-1", "api-2"] });
  assert.equal((await ask("t"))?.name, "jane");
  assert.deepEqual(stub.calls[0]?.body.spec, { token: "t", audiences: ["api-1", "api-2"] });
  assert.deepEqual((await authenticator.authenticateToken("t", ["vault", "x"], never))?.audiences, [
    "vault",
  ]);

  stub.answer = ({ body }) =>
    withStatus(body, { authenticated: true, user: JANE, audiences: ["somebody"] });
  assert.equal(await ask("u"), undefined);

  stub.answer = ({ body }) => withStatus(body, { authenticated: true, user: JANE });
  assert.equal((await ask("v"))?.name, "jane", "nothing said: valid for this server");
  assert.equal(await authenticator.authenticateToken("v", ["vault"], never), undefined);
});

test("S2-TR-06: malformed answers let nobody in", async () => {
  await using stub = await openWebhookStub();
  const { ask, logs, clock } = await open(stub);
  const statuses: unknown[] = [
    { authenticated: "true", user: JANE },
    { authenticated: true },
    { authenticated: true, user: { uid: "1" } },
    { authenticated: true, user: { username: "" } },
    { authenticated: true, user: { username: "x", groups: "dev" } },
    { authenticated: true, user: { username: "x", extra: { a: "b" } } },
    { authenticated: true, user: JANE, audiences: "x" },
    "authenticated",
  ];
  for (const status of statuses) {
    stub.answer = ({ body }) => withStatus(body, status);
    await assert.rejects(ask("secret-token"), { code: 401, message: "Unauthorized" });
    await assert.rejects(ask("secret-token"), { code: 401, message: "Unauthorized" });
    clock.advance(1_000);
  }
  assert.equal(logs.length, statuses.length, "one line a second");
  assert.match(String(logs[1]), /"suppressed":1/);
  assert.ok(!logs.join().includes("secret-token"), "the token is not logged");
});

test("S2-TR-10: an outage is a 401 after the retries, and nothing of it is remembered", async () => {
  await using stub = await openWebhookStub(() => ({ status: 500 }));
  const { ask, clock, logs } = await open(stub);
  const refused = assert.rejects(ask("t"), { code: 401, message: "Unauthorized" });
  for (let i = 0; i < 4; i++) {
    await clock.untilAsleep();
    clock.advance(2_000);
  }
  await refused;
  assert.equal(stub.calls.length, 5);
  assert.equal(logs.length, 1);
  stub.answer = ({ body }) => withStatus(body, { authenticated: true, user: JANE });
  assert.equal((await ask("t"))?.name, "jane");
  await stub.stop();
  await assert.rejects(ask("u"), { code: 401 });
});
