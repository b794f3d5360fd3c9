/** Admission webhooks in the write path: calls, requests and the handling of answers, over real TLS. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../../api/meta.js";
import {
  ALL_CONFIG_MAPS,
  configMap,
  configure,
  harness,
  hook,
  MUTATING,
  mutating,
  refusal,
  removeAll,
  VALIDATING,
  validating,
  webhook,
} from "../../registry/testing/hook-harness.js";
import { noSignal, testUser } from "../../registry/testing/registry-harness.js";
import { countingRuleMetrics, openRuleHarness } from "../../registry/testing/rule-harness.js";
import { CONDITION_ENVIRONMENT } from "../matching/request-environment.js";
import { type RuleContext, RuleMatcher } from "../matching/rule-context.js";
import { jsonPatch } from "../testing/admission-webhook.js";
import { type Hook, readHooks } from "./hook.js";
import { askWebhook } from "./invocation.js";
import { WebhookCaller } from "./webhook-caller.js";

/** A nested member of a request. */
function member(request: JsonObject | undefined, outer: string, inner: string): unknown {
  return (request?.[outer] as JsonObject | undefined)?.[inner];
}

test("a review has every field of the write that it is about", async () => {
  await validating();
  const { object } = await harness.create("configmaps", configMap());
  const [request] = hook.requests;
  assert.ok(request);
  const { uid, object: sent, ...rest } = request;
  assert.match(uid, /^[0-9a-f-]{36}$/);
  assert.equal((sent as JsonObject).kind, "ConfigMap");
  assert.deepEqual((sent as JsonObject).data, { a: "1" });
  assert.deepEqual(rest, {
    kind: { group: "", version: "v1", kind: "ConfigMap" },
    resource: { group: "", version: "v1", resource: "configmaps" },
    requestKind: { group: "", version: "v1", kind: "ConfigMap" },
    requestResource: { group: "", version: "v1", resource: "configmaps" },
    name: object.metadata.name,
    namespace: "default",
    operation: "CREATE",
    userInfo: { username: "tester", groups: ["system:authenticated"] },
    oldObject: null,
    dryRun: false,
    options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1" },
  });
  const [call] = hook.stub.calls.slice(-1);
  assert.equal(call?.url, "/review?timeout=10s");
});

test("updates show both objects, deletes the old one, subresources their name", async () => {
  await validating({
    rules: [{ ...ALL_CONFIG_MAPS, apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] }],
  });
  const { object } = await harness.create("configmaps", configMap());
  const name = object.metadata.name ?? "";
  await harness.patch("configmaps", name, { data: { a: "2" } });
  await harness.remove("configmaps", name);
  const [, update, removal] = hook.requests;
  assert.equal((member(update, "oldObject", "data") as JsonObject).a, "1");
  assert.equal((member(update, "object", "data") as JsonObject).a, "2");
  assert.equal(member(update, "options", "kind"), "UpdateOptions");
  assert.equal(removal?.operation, "DELETE");
  assert.equal(removal?.object, null);
  assert.equal(member(removal, "oldObject", "kind"), "ConfigMap");
  assert.equal(member(removal, "options", "kind"), "DeleteOptions");
  hook.requests.length = 0;
  await harness.patch(
    "namespaces",
    "default",
    { metadata: { labels: { x: "y" } } },
    {
      subresource: "status",
    },
  );
  const [status] = hook.requests;
  assert.equal(status?.subResource, "status");
  assert.equal(status?.requestSubResource, "status");
  assert.equal(status?.namespace, "default");
});

test("a refusal has the webhook's code, reason and words", async () => {
  await validating();
  const table: [JsonObject, number, string, string][] = [
    [{ allowed: false }, 400, "", "without explanation"],
    [{ allowed: false, status: { message: "no" } }, 400, "", "no"],
    [{ allowed: false, status: { code: 418, message: "tea" } }, 418, "", "tea"],
    [{ allowed: false, status: { code: 200, message: "odd" } }, 400, "", "odd"],
    [{ allowed: false, status: { reason: "Conflict", code: 409 } }, 409, "Conflict", "Conflict"],
  ];
  for (const [response, code, reason, words] of table) {
    hook.respond = () => response;
    const error = await refusal(harness.create("configmaps", configMap()));
    const separator = words === "without explanation" ? " " : ": ";
    const message = `admission webhook "judge.example.com" denied the request${separator}${words}`;
    assert.deepEqual([error.code, error.reason, error.message], [code, reason, message]);
  }
});

test("patches of several webhooks add up, in the order of configurations and webhooks", async () => {
  const add = (key: string) => ({ op: "add", path: `/data/${key}`, value: key });
  hook.respond = (_request, url) => jsonPatch(add(url.slice(1, 2)));
  const named = (letter: string) =>
    webhook({ name: `${letter}.example.com`, clientConfig: hook.clientConfig(`/${letter}`) });
  await configure(MUTATING, [named("c")], "z-last");
  await configure(MUTATING, [named("a"), named("b")], "a-first");
  const { object, annotations } = await harness.create("configmaps", configMap());
  assert.deepEqual(object.data, { a: "a", b: "b", c: "c" });
  assert.deepEqual(
    hook.stub.calls.slice(-3).map(({ url }) => url.slice(1, 2)),
    ["a", "b", "c"],
  );
  const [, , third] = hook.requests;
  assert.deepEqual(member(third, "object", "data"), { a: "a", b: "b" });
  assert.deepEqual(
    JSON.parse(annotations.get("mutation.webhook.admission.k8s.io/round_0_index_1") ?? ""),
    { configuration: "a-first", webhook: "b.example.com", mutated: true },
  );
});

test("what a patch makes gets defaults, is validated, and keeps its identity and owners", async () => {
  await mutating({
    rules: [{ ...ALL_CONFIG_MAPS, resources: ["services", "configmaps"] }],
  });
  hook.respond = () =>
    jsonPatch({
      op: "replace",
      path: "/spec",
      value: { ports: [{ port: 80 }], clusterIP: "None" },
    });
  const service = { metadata: { name: "web" }, spec: { ports: [{ port: 1 }], clusterIP: "None" } };
  const { object } = await harness.create("services", service);
  const { ports } = object.spec as { ports: JsonObject[] };
  assert.deepEqual(ports, [{ port: 80, protocol: "TCP", targetPort: 80 }]);

  hook.respond = () => jsonPatch({ op: "add", path: "/data/bad key!", value: "x" });
  assert.equal((await refusal(harness.create("configmaps", configMap()))).code, 422);

  hook.respond = () => jsonPatch({ op: "add", path: "/metadata/uid", value: "mine" });
  const map = configMap();
  const kept = (await harness.create("configmaps", map)).object;
  assert.equal(kept.metadata.name, (map.metadata as JsonObject).name);
  assert.notEqual(kept.metadata.uid, "mine");
  assert.equal(kept.metadata.managedFields?.[0]?.manager, "tester");
});

test("patches that are none are the server's error, whatever the failure policy", async () => {
  await mutating({ failurePolicy: "Ignore" });
  const bad: JsonObject[] = [
    jsonPatch({ op: "wish", path: "/data" }),
    jsonPatch({ op: "remove", path: "/nothing" }),
    jsonPatch({ op: "replace", path: "/data", value: 7 }),
  ];
  for (const response of bad) {
    hook.respond = () => response;
    assert.equal((await refusal(harness.create("configmaps", configMap()))).code, 500);
  }
  // The failure policy handles an invalid answer.
  const undecodable = (patch: string) => ({
    allowed: true,
    patchType: "JSONPatch",
    patch: Buffer.from(patch).toString("base64"),
  });
  const unusable: [JsonObject, RegExp][] = [
    [undecodable("{"), /: received undecodable patch in webhook response: /],
    [undecodable("{}"), /: received undecodable patch in webhook response: /],
    [
      undecodable(`[${"[],".repeat(500_000)}[]]`),
      /patch in webhook response: it has more than 60000 values$/,
    ],
    [{ allowed: true, patchType: "Merge", patch: "e30=" }, /unsupported patch type "Merge"$/],
    [{ allowed: true, patch: "e30=" }, /returned response.patch but not response.patchType$/],
    [
      { allowed: true, patchType: "JSONPatch" },
      /returned response.patchType but not response.patch$/,
    ],
  ];
  for (const [response] of unusable) {
    hook.respond = () => response;
    await harness.create("configmaps", configMap());
  }
  await removeAll();
  await mutating({ failurePolicy: "Fail" });
  for (const [response, why] of unusable) {
    hook.respond = () => response;
    const error = await refusal(harness.create("configmaps", configMap()));
    assert.equal(error.code, 500);
    assert.match(error.message, why);
  }
});

test("a delete cannot be changed", async () => {
  const { object } = await harness.create("configmaps", configMap());
  await mutating();
  hook.respond = () => jsonPatch({ op: "add", path: "/data", value: {} });
  const error = await refusal(harness.remove("configmaps", object.metadata.name ?? ""));
  assert.match(error.message, /attempted to modify the object, which is not supported for this/);
});

test("IfNeeded webhooks see what later ones changed, once, and Never ones do not", async () => {
  hook.respond = (request, url) => {
    const { data } = request.object as { data: Record<string, string> };
    const letter = url.slice(1, 2);
    const seen = Object.keys(data).sort().join("");
    return jsonPatch({
      op: "add",
      path: `/data/${letter}`,
      value: `${data[letter] ?? ""}${seen}.`,
    });
  };
  const named = (letter: string, reinvocationPolicy: string) =>
    webhook({
      name: `${letter}.example.com`,
      clientConfig: hook.clientConfig(`/${letter}`),
      reinvocationPolicy,
    });
  await configure(MUTATING, [named("x", "IfNeeded"), named("y", "Never"), named("z", "IfNeeded")]);
  const { object } = await harness.create("configmaps", configMap());
  // z changed the object after x was called; in the second round x changes it again after z was called.
  assert.deepEqual(object.data, { a: "1", x: "a.axyz.", y: "ax.", z: "axy.axyz." });
});

test("a built-in plugin's second look makes reinvocable webhooks due", async () => {
  const plain = await openRuleHarness([
    {
      name: "LimitRanger",
      mutate(attributes) {
        const map = attributes.object as { data?: Record<string, string> };
        if (map.data?.hooked === undefined || map.data.late !== undefined) return false;
        map.data.late = "yes";
        return true;
      },
    },
  ]);
  try {
    hook.respond = () => jsonPatch({ op: "add", path: "/data/hooked", value: "yes" });
    const webhooks = [webhook({ reinvocationPolicy: "IfNeeded" })];
    await plain.create(MUTATING, { metadata: { name: "m" }, webhooks });
    const { object } = await plain.create("configmaps", configMap());
    assert.deepEqual(object.data, { a: "1", hooked: "yes", late: "yes" });
    assert.equal(hook.requests.length, 2);
  } finally {
    await plain[Symbol.asyncDispose]();
  }
});

test("validating webhooks of one write are asked at once", async () => {
  let waiting = 0;
  let most = 0;
  const release = new Map<number, () => void>();
  const { answer } = hook.stub;
  hook.stub.answer = async ({ body }) => {
    most = Math.max(most, ++waiting);
    if (waiting < 3) await new Promise<void>((resolve) => release.set(waiting, resolve));
    for (const go of release.values()) go();
    const { request } = body as unknown as { request: { uid: string } };
    return { body: { ...body, response: { uid: request.uid, allowed: true } } };
  };
  const three = ["a", "b", "c"].map((letter) => webhook({ name: `${letter}.example.com` }));
  try {
    await configure(VALIDATING, three);
    await harness.create("configmaps", configMap());
    assert.equal(most, 3);
  } finally {
    hook.stub.answer = answer;
  }
});

test("a webhook of older times that has side effects makes the dry run fail (S1-DRY-06)", async () => {
  const { registry } = harness;
  const [read] = readHooks(
    {
      apiVersion: "v1",
      kind: "ValidatingWebhookConfiguration",
      metadata: { name: "old" },
      webhooks: [webhook({ sideEffects: "Some" })],
    },
    CONDITION_ENVIRONMENT,
    false,
  );
  assert.equal(read?.hasNoSideEffects, false);
  const resource = harness.base.resource("", "v1", "configmaps");
  const attributes = {
    operation: "CREATE" as const,
    resource,
    served: resource,
    subresource: "",
    namespace: "default",
    name: "a",
    object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } },
    oldObject: undefined,
    options: { isDryRun: true },
    user: testUser,
    warn() {},
  };
  const context: RuleContext = {
    ...registry,
    ask: harness.permissions,
    nowMs: () => 0,
    metrics: countingRuleMetrics(harness.counts),
  };
  const matcher = new RuleMatcher(context, attributes, resource, noSignal);
  const caller = new WebhookCaller({
    naming: registry.naming,
    resolve: () => assert.fail("nobody is to be called"),
  });
  const asking = askWebhook(
    matcher,
    caller,
    { hook: read as Hook, resource },
    { plugin: "ValidatingAdmissionWebhook", step: "validating", place: "round_0_index_0" },
    noSignal,
  );
  const error = await refusal(asking);
  const message = 'admission webhook "judge.example.com" does not support dry run';
  assert.deepEqual([error.code, error.message], [400, message]);
});

test("a dry run asks only those without side effects, and says that it is one", async () => {
  await validating({ sideEffects: "NoneOnDryRun" });
  await harness.create("configmaps", configMap(), { isDryRun: true });
  const [request] = hook.requests;
  assert.equal(request?.dryRun, true);
  assert.deepEqual(member(request, "options", "dryRun"), ["All"]);
});

test("A22: warnings and audit annotations of webhooks arrive", async () => {
  await validating();
  hook.respond = () => ({
    allowed: true,
    warnings: ["this is old"],
    // A22: those with keys that are none are left out.
    auditAnnotations: { mood: "good", "a b": "x", "a/b": "x", "": "x" },
  });
  const { warnings, annotations } = await harness.create("configmaps", configMap());
  assert.ok([...annotations.values()].every((value) => value !== "x"));
  assert.deepEqual(warnings, ["this is old"]);
  assert.equal(annotations.get("judge.example.com/mood"), "good");
});

test("selectors look at the old object, too, and at namespaces themselves", async () => {
  await validating({
    rules: [{ ...ALL_CONFIG_MAPS, resources: ["configmaps", "namespaces"] }],
    namespaceSelector: { matchLabels: { team: "blue" } },
    objectSelector: { matchExpressions: [{ key: "watched", operator: "Exists" }] },
  });
  const asked = async (write: () => Promise<unknown>) => {
    hook.requests.length = 0;
    await write();
    return hook.requests.length;
  };
  const labels = { watched: "yes" };
  assert.equal(await asked(() => harness.create("configmaps", configMap())), 0);
  const inDefault = configMap({ metadata: { labels } });
  assert.equal(await asked(() => harness.create("configmaps", inDefault)), 0);
  const blue = { metadata: { name: "blue", labels: { ...labels, team: "blue" } } };
  assert.equal(await asked(() => harness.create("namespaces", blue)), 1);
  const map = configMap({ metadata: { labels, name: "both" } });
  assert.equal(await asked(() => harness.create("configmaps", map, { namespace: "blue" })), 1);
  const unlabel = { metadata: { labels: { watched: null } } };
  const patch = () => harness.patch("configmaps", "both", unlabel, { namespace: "blue" });
  assert.equal(await asked(patch), 1);
  const change = { data: { a: "3" } };
  const again = () => harness.patch("configmaps", "both", change, { namespace: "blue" });
  assert.equal(await asked(again), 0);
});

test("A30: match conditions decide who is asked; errors follow the failure policy", async () => {
  const conditions = (expression: string, failurePolicy = "Fail") =>
    validating({ matchConditions: [{ name: "only", expression }], failurePolicy });
  const table: [string, number | RegExp][] = [
    ["object.data.a == '1'", 1],
    ["object.data.a == '2'", 0],
    ["namespaceObject == null", 1],
    ["namespaceObject == null || namespaceObject.metadata.name != 'default'", 1],
    ["request.userInfo.username == 'tester' && oldObject == null", 1],
    ["request.operation == 'CREATE' && request.resource.resource == 'configmaps'", 1],
    ["authorizer.group('').resource('pods').namespace('default').check('list').allowed()", 1],
    ["authorizer.requestResource.check('fly').allowed()", 0],
    ["object.data.missing == '2'", /no such key: missing/],
  ];
  harness.permissions = async (_user, { resource, verb }) => ({
    isAllowed: resource === "pods" && verb === "list",
    reason: "",
    error: "",
  });
  for (const [expression, expected] of table) {
    await conditions(expression);
    const write = harness.create("configmaps", configMap());
    if (typeof expected === "number") {
      await write;
      assert.equal(hook.requests.length, expected, expression);
    } else {
      const error = await refusal(write);
      assert.equal(error.code, 403);
      assert.match(error.message, expected);
      await removeAll();
      await conditions(expression, "Ignore");
      await harness.create("configmaps", configMap());
      assert.equal(hook.requests.length, 0);
    }
    await removeAll();
    hook.requests.length = 0;
  }
});

test("matchPolicy Equivalent asks about other versions, converted; Exact does not", async () => {
  const rules = [
    {
      operations: ["*"],
      apiGroups: ["autoscaling"],
      apiVersions: ["v1"],
      resources: ["horizontalpodautoscalers"],
    },
  ];
  const scaler = (name: string) => ({
    metadata: { name },
    spec: {
      maxReplicas: 3,
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
      metrics: [
        {
          type: "Resource",
          resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 55 } },
        },
      ],
    },
  });
  const resource = "autoscaling/v2/horizontalpodautoscalers";
  await validating({ rules, matchPolicy: "Exact" });
  await harness.create(resource, scaler("exact"));
  assert.equal(hook.requests.length, 0);
  await mutating({ rules, matchPolicy: "Equivalent" });
  hook.respond = () =>
    jsonPatch({ op: "replace", path: "/spec/targetCPUUtilizationPercentage", value: 44 });
  const { object } = await harness.create(resource, scaler("equivalent"));
  const [request] = hook.requests;
  assert.equal(member(request, "object", "apiVersion"), "autoscaling/v1");
  assert.deepEqual(request?.kind, {
    group: "autoscaling",
    version: "v1",
    kind: "HorizontalPodAutoscaler",
  });
  assert.equal(member(request, "requestResource", "version"), "v2");
  const { metrics } = object.spec as { metrics: { resource: { target: JsonObject } }[] };
  assert.equal(metrics[0]?.resource.target.averageUtilization, 44);
});

test("configurations are never judged by webhooks, so that a broken one can be removed", async () => {
  await validating({
    rules: [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] }],
    clientConfig: { url: "https://127.0.0.1:1/" },
  });
  await refusal(harness.create("configmaps", configMap()));
  await removeAll();
  await harness.create("configmaps", configMap());
});
