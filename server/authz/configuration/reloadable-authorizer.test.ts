import assert from "node:assert/strict";
import { rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { makeTempDir, type TempDir } from "../../../e2e/harness/temp-dir.js";
import { silentLogger } from "../../../storage/base/logger.js";
import { ManualClock, settle } from "../../../storage/base/testing/manual-clock.js";
import { createNaming } from "../../api/naming.js";
import {
  kubeconfigFor,
  openWebhookStub,
  type WebhookStub,
  withStatus,
} from "../../client/testing/webhook-stub.js";
import { parseRequestInfo } from "../../request/request-info.js";
import { createUser } from "../../request/user-info.js";
import { alwaysAllow } from "../always-allow.js";
import { alwaysDeny } from "../always-deny.js";
import { type Authorizer, NO_OPINION } from "../authorizer.js";
import type { Decision } from "../metrics.js";
import { PrivilegedGroupsAuthorizer } from "../privileged-groups.js";
import { countingMetrics } from "../testing/counting-metrics.js";
import { createConditionCompiler } from "../webhook/condition-environment.js";
import type { ChainMember } from "./authorizer-chain.js";
import { ReloadableAuthorizer, type ReloadableAuthorizerOptions } from "./reloadable-authorizer.js";

const naming = createNaming("kubernetes");
const never = { signal: new AbortController().signal };
const jane = createUser({ name: "jane", groups: ["dev"] });
const GET = parseRequestInfo("GET", "/api/v1/namespaces/prod/pods/web");
const silent: Authorizer = { name: "RBAC", authorize: () => NO_OPINION };

const MEMBERS: Readonly<Record<string, ChainMember>> = {
  RBAC: silent,
  AlwaysAllow: alwaysAllow,
  AlwaysDeny: alwaysDeny,
};

function configText(names: readonly string[], file: string, others: readonly string[] = ["RBAC"]) {
  const webhook = (name: string) => ({
    type: "Webhook",
    name,
    webhook: {
      timeout: "3s",
      subjectAccessReviewVersion: "v1",
      matchConditionSubjectAccessReviewVersion: "v1",
      failurePolicy: "Deny",
      connectionInfo: { type: "KubeConfigFile", kubeConfigFile: file },
      matchConditions: [{ expression: `request.user != 'not-${name}'` }],
    },
  });
  return JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthorizationConfiguration",
    authorizers: [
      ...names.map(webhook),
      ...others.map((type) => ({ type, name: type.toLowerCase() })),
    ],
  });
}

async function open(
  dir: TempDir,
  stub: WebhookStub,
  names: readonly string[] = ["a"],
  options: Partial<ReloadableAuthorizerOptions> = {},
) {
  const file = join(dir.path, "config.yaml");
  const kubeconfig = join(dir.path, "kubeconfig");
  await writeFile(kubeconfig, stub.kubeconfig);
  const write = (text: string) => writeFile(file, text);
  await write(configText(names, kubeconfig));
  const clock = new ManualClock();
  const metrics = countingMetrics();
  const authorizer = await ReloadableAuthorizer.open({
    source: { file },
    compile: createConditionCompiler(naming),
    first: [new PrivilegedGroupsAuthorizer(["system:masters"])],
    memberOf: (type) => MEMBERS[type] ?? assert.fail(type),
    naming,
    clock,
    logger: silentLogger,
    metrics,
    ...options,
  });
  const ask = async (user = jane) => await authorizer.authorize({ user, info: GET }, never);
  return { authorizer, ask, clock, metrics, file, kubeconfig, write };
}

test("S2-AZ-02, S2-AZ-17, S2-AZC-01: members are asked in order after system:masters, decisions are counted", async () => {
  await using dir = await makeTempDir("authz");
  await using stub = await openWebhookStub(({ body }) => withStatus(body, { allowed: false }));
  const { ask, metrics, authorizer } = await open(dir, stub, ["a", "b"]);
  assert.equal((await ask()).decision, "no-opinion");
  assert.equal(stub.calls.length, 2);
  const boss = createUser({ name: "boss", groups: ["system:masters"] });
  assert.equal((await ask(boss)).decision, "allow");
  assert.equal(stub.calls.length, 2);
  stub.answer = ({ body }) => withStatus(body, { allowed: body.spec.user === "joe" });
  assert.equal((await ask(createUser({ name: "joe" }))).decision, "allow");
  stub.answer = ({ body }) => withStatus(body, { denied: true });
  assert.equal((await ask(createUser({ name: "eve" }))).decision, "deny");
  assert.equal((await ask(createUser({ name: "not-a" }))).decision, "deny", "b alone was asked");
  assert.deepEqual(
    ["allowed", "denied"].map((word) => [
      metrics.of(`decided Webhook a ${word}`),
      metrics.of(`decided Webhook b ${word}`),
    ]),
    [
      [1, 0],
      [1, 1],
    ],
  );
  const rules = await authorizer.rulesFor(jane, "prod", never.signal);
  assert.ok(rules.incomplete);
  assert.match(String(rules.evaluationError), /webhook authorizer does not support user rule/);
});

test("S2-AZC-19, S2-LIM-02: a changed file is in use within a minute, a bad one changes nothing, both are counted", async () => {
  await using dir = await makeTempDir("authz");
  await using stub = await openWebhookStub(({ body }) => withStatus(body, { denied: true }));
  const { authorizer, ask, clock, metrics, write, kubeconfig, file } = await open(dir, stub);
  const controller = new AbortController();
  const running = authorizer.run(controller.signal);
  const afterAMinute = async () => {
    await clock.untilAsleep();
    for (let i = 0; i < 12; i++) {
      clock.advance(5_000);
      await clock.untilAsleep();
    }
    await settle();
  };
  assert.equal((await ask()).decision, "deny");
  await utimes(file, new Date(), new Date());
  await afterAMinute();
  assert.equal(metrics.of("reloaded true") + metrics.of("reloaded false"), 0, "only touched");

  await write(configText([], kubeconfig));
  await afterAMinute();
  assert.equal((await ask()).decision, "no-opinion");
  assert.equal(metrics.of("reloaded true"), 1);

  for (const bad of ["{", configText([], kubeconfig, ["RBAC", "AlwaysAllow"]), "", "[]"]) {
    await write(bad);
    await afterAMinute();
    assert.equal((await ask()).decision, "no-opinion");
  }
  await rm(file);
  await afterAMinute();
  assert.equal(metrics.of("reloaded false"), 5);
  await write(configText(["a"], kubeconfig));
  await afterAMinute();
  assert.equal((await ask()).decision, "deny");
  assert.equal(metrics.of("reloaded true"), 2);
  controller.abort();
  await running;
  authorizer.close();
});

test("S2-AZC-20: authorizers that are no webhooks can neither be added nor removed on reload", async () => {
  await using dir = await makeTempDir("authz");
  await using stub = await openWebhookStub();
  const { authorizer, metrics, write, kubeconfig, ask } = await open(dir, stub);
  await write(configText(["a"], kubeconfig, ["RBAC", "AlwaysAllow"]));
  assert.equal(await authorizer.check(), false);
  await write(configText(["a"], kubeconfig, []));
  assert.equal(await authorizer.check(), false);
  assert.equal(metrics.of("reloaded false"), 2);
  await write(configText(["b", "a"], kubeconfig));
  assert.equal(await authorizer.check(), true);
  assert.equal((await ask()).decision, "allow");
});

test("a webhook that did not change keeps what it remembers, a changed one forgets it", async () => {
  await using dir = await makeTempDir("authz");
  await using stub = await openWebhookStub();
  await using other = await openWebhookStub(({ body }) => withStatus(body, { denied: true }));
  const { authorizer, ask, write, kubeconfig } = await open(dir, stub);
  await ask();
  await write(configText(["a", "b"], kubeconfig));
  assert.equal(await authorizer.check(), true);
  await ask();
  assert.equal(stub.calls.length, 1);
  await write(configText(["a", "b"], kubeconfig).replaceAll('"3s"', '"2s"'));
  assert.equal(await authorizer.check(), true);
  await ask();
  assert.equal(stub.calls.length, 2);

  // A change of the webhook's file alone counts, too.
  await writeFile(kubeconfig, other.kubeconfig);
  assert.equal(await authorizer.check(), true);
  assert.equal((await ask()).decision, "deny");
  await writeFile(kubeconfig, other.kubeconfig.replace("https://", "http://"));
  assert.equal(await authorizer.check(), false);
  assert.equal((await ask()).decision, "deny");
});

test("an authority that a client configuration names by its path is followed as well", async () => {
  await using dir = await makeTempDir("authz");
  await using stub = await openWebhookStub();
  await using stranger = await openWebhookStub();
  const ca = join(dir.path, "ca.pem");
  await writeFile(ca, stranger.ca);
  const parsed = JSON.parse(stub.kubeconfig);
  parsed.clusters[0].cluster = { server: stub.url, "certificate-authority": "ca.pem" };
  const kubeconfig = JSON.stringify(parsed);
  const { authorizer, ask } = await open(dir, { ...stub, kubeconfig } as WebhookStub);
  assert.equal((await ask()).decision, "deny", "the policy decides: it is not trusted");
  await writeFile(ca, stub.ca);
  assert.equal(await authorizer.check(), true);
  assert.equal((await ask()).decision, "allow");
});

test("S2-AZC-23: replicas with credentials of their own share decisions, other installations do not", async () => {
  await using stub = await openWebhookStub();
  const shared = new Map<string, Decision>();
  const ask = async (name: string, installation?: string) => {
    await using dir = await makeTempDir("authz");
    const client = await stub.authority.issueClient(name);
    const kubeconfig = kubeconfigFor({ server: stub.url, ca: stub.ca, client });
    const replica = await open(dir, { ...stub, kubeconfig } as WebhookStub, ["a"], {
      ...(installation === undefined ? {} : { installation }),
      shared: {
        async get(key) {
          const decision = shared.get(key);
          return { isAsked: true, ...(decision && { found: { decision, ttlMs: 1_000 } }) };
        },
        put: (key, decision) => shared.set(key, decision),
      },
    });
    await replica.ask();
    replica.authorizer.close();
    return stub.calls.length;
  };
  assert.deepEqual([await ask("a"), await ask("b")], [1, 2], "they may be strangers");
  assert.deepEqual([await ask("a", "one"), await ask("b", "one")], [3, 3]);
  assert.equal(await ask("c", "two"), 4);
});

test("S2-AZC-21: what cannot work at the start is one clear line", async () => {
  await using dir = await makeTempDir("authz");
  await using stub = await openWebhookStub();
  const cases: readonly (readonly [string, RegExp])[] = [
    [stub.kubeconfig.replace("https://", "http://"), /authorizer "a": .*must be an https address$/],
    ["{}", /authorizer "a": .*current-context is not set/],
  ];
  for (const [kubeconfig, expected] of cases) {
    const broken = { ...stub, kubeconfig } as WebhookStub;
    await assert.rejects(open(dir, broken), {
      name: "AuthorizationConfigurationError",
      message: expected,
    });
  }
});

test("S2-AZC-25: an expression that runs out of its budget is an error, decided by the failure policy", () => {
  const compile = createConditionCompiler(naming);
  const program = compile("request.groups.all(a, request.groups.all(b, a + b != 'x'))");
  const groups = Array.from({ length: 5_000 }, (_, index) => `group-${index}`);
  const request = { user: "x", groups, uid: "", extra: {} };
  assert.throws(() => program.evaluateWithin({ request }, 1_000_000), /cost limit exceeded/);
  const few = { request: { ...request, groups: groups.slice(0, 10) } };
  assert.equal(program.evaluateWithin(few, 1_000_000).value, true);
});
