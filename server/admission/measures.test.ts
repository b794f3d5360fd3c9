/** What webhooks and policies count, and when: as kube-apiserver does. */
import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import type { JsonObject } from "../api/meta.js";
import { type Changes, openRuleHarness } from "../registry/testing/rule-harness.js";
import { jsonPatch, openAdmissionHook } from "./testing/admission-webhook.js";

const harness = await openRuleHarness();
const hook = await openAdmissionHook();
after(async () => {
  await hook[Symbol.asyncDispose]();
  await harness[Symbol.asyncDispose]();
});

const GROUP = "admissionregistration.k8s.io/v1";
const rule = {
  operations: ["CREATE"],
  apiGroups: [""],
  apiVersions: ["v1"],
  resources: ["configmaps"],
};
const stored: [string, string][] = [];
const names = { counter: 0 };

async function store(kind: string, name: string, content: JsonObject): Promise<void> {
  await harness.create(`${GROUP}/${kind}`, { metadata: { name }, ...content });
  stored.push([`${GROUP}/${kind}`, name]);
}

afterEach(async () => {
  for (const [resource, name] of stored.splice(0)) await harness.remove(resource, name);
  hook.respond = () => ({ allowed: true });
});

/** What one create counts, whatever becomes of it. */
async function counted(changes: Changes = {}): Promise<Record<string, number>> {
  harness.counts.clear();
  const object = { metadata: { name: `map-${++names.counter}` }, data: { a: "1" } };
  await harness.create("configmaps", object, changes).catch(() => {});
  return Object.fromEntries(harness.counts);
}

async function judge(spec: JsonObject, ...validationActions: string[]): Promise<void> {
  const matchConstraints = { resourceRules: [rule] };
  await store("validatingadmissionpolicies", "p", { spec: { matchConstraints, ...spec } });
  const bound = { policyName: "p", validationActions };
  await store("validatingadmissionpolicybindings", "b", { spec: bound });
}

const list = `[${Array.from({ length: 40 }, (_, index) => index).join(",")}]`;
const COSTLY = `${list}.all(a, ${list}.all(b, ${list}.all(c, ${list}.all(d, a+b+c+d >= 0))))`;
const TRUE = { expression: "true" };
const FALSE = { expression: "false" };
const BROKEN = { expression: "object.data['none'] == ''" };

const VALIDATIONS: [string, JsonObject, string[], Record<string, number>][] = [
  ["what holds is not counted", { validations: [TRUE, TRUE] }, ["Deny"], {}],
  [
    "each that is false counts for each action",
    { validations: [TRUE, FALSE, FALSE] },
    ["Warn", "Audit"],
    { "validated p b warn invalid_error": 2, "validated p b audit invalid_error": 2 },
  ],
  [
    "an error is treated like one that is false",
    { validations: [BROKEN] },
    ["Deny"],
    { "validated p b deny invalid_error": 1 },
  ],
  [
    "an ignored error is allowed",
    { validations: [BROKEN, FALSE], failurePolicy: "Ignore" },
    ["Deny"],
    { "validated p b allow invalid_error": 1, "validated p b deny invalid_error": 1 },
  ],
  [
    "a budget that is used up is told apart",
    { validations: Array(12).fill({ expression: COSTLY }) },
    ["Deny"],
    { "validated p b deny invalid_error": 9, "validated p b deny out_of_budget": 1 },
  ],
  [
    "a note that cannot be made is denied, though bindings only warn",
    { auditAnnotations: [{ key: "k", valueExpression: "'a' + object.data['none']" }] },
    ["Warn"],
    { "validated p b deny invalid_error": 1 },
  ],
  [
    "a note that cannot be made is left out where errors are ignored",
    {
      auditAnnotations: [{ key: "k", valueExpression: "'a' + object.data['none']" }],
      failurePolicy: "Ignore",
    },
    ["Deny"],
    {},
  ],
  [
    "conditions count by themselves, and what they leave out is not checked",
    { validations: [FALSE], matchConditions: [{ name: "c", expression: "false" }] },
    ["Deny"],
    { "conditions policy p false": 1 },
  ],
];

for (const [title, spec, actions, expected] of VALIDATIONS) {
  test(`validations: ${title}`, async () => {
    await judge(spec, ...actions);
    assert.deepEqual(await counted(), expected);
  });
}

test("a note that cannot be made says why, and refuses", async () => {
  await judge(
    { auditAnnotations: [{ key: "k", valueExpression: "'a' + object.data['none']" }] },
    "Warn",
  );
  const why =
    /^configmaps "map" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: expression ''a' \+ object.data\['none'\]' resulted in error: no such key: none$/;
  await assert.rejects(
    harness.create("configmaps", { metadata: { name: "map" }, data: { a: "1" } }),
    ({ message, code }: { message: string; code: number }) => {
      assert.match(message, why);
      assert.equal(code, 422);
      return true;
    },
  );
});

test("mutations count one by one, up to the one that fails", async () => {
  const label = (value: string) => ({
    patchType: "ApplyConfiguration",
    applyConfiguration: {
      expression: `Object{metadata: Object.metadata{labels: {"a": ${value}}}}`,
    },
  });
  const spec = {
    matchConstraints: { resourceRules: [rule] },
    reinvocationPolicy: "Never",
    mutations: [label("'x'"), label("object.data['none']"), label("'y'")],
  };
  await store("mutatingadmissionpolicies", "m", { spec });
  await store("mutatingadmissionpolicybindings", "b", { spec: { policyName: "m" } });
  assert.deepEqual(await counted(), { "mutated m b no_error": 1, "mutated m b invalid_error": 1 });
});

function webhook(changes: JsonObject = {}): JsonObject {
  const base = { rules: [rule], sideEffects: "None", admissionReviewVersions: ["v1"] };
  return { name: "w.example.com", clientConfig: hook.clientConfig(), ...base, ...changes };
}

const W = "w.example.com";
type Respond = typeof hook.respond;
const CALLS: [string, Respond, JsonObject, Changes, Record<string, number>][] = [
  ["allowed", () => ({ allowed: true }), {}, {}, { [`asked ${W} TYPE 200 false`]: 1 }],
  [
    "refused",
    () => ({ allowed: false, status: { code: 418 } }),
    {},
    {},
    { [`asked ${W} TYPE 418 true`]: 1, [`refused ${W} TYPE no_error 418`]: 1 },
  ],
  [
    "an answer of HTTP that is none",
    () => ({ status: 404, body: "" }),
    {},
    {},
    { [`asked ${W} TYPE 404 true`]: 1, [`refused ${W} TYPE calling_webhook_error 404`]: 1 },
  ],
  [
    "no answer",
    () => ({ isReset: true }),
    {},
    {},
    { [`asked ${W} TYPE 503 true`]: 1, [`refused ${W} TYPE calling_webhook_error 503`]: 1 },
  ],
  [
    "no answer, which is ignored",
    () => ({ isReset: true }),
    { failurePolicy: "Ignore" },
    {},
    { [`asked ${W} TYPE 503 false`]: 1, [`open ${W} TYPE`]: 1 },
  ],
];

for (const [title, respond, changes, options, expected] of CALLS) {
  for (const [kind, type] of [
    ["mutatingwebhookconfigurations", "admit"],
    ["validatingwebhookconfigurations", "validating"],
  ] as const) {
    test(`calls of ${type} webhooks: ${title}`, async () => {
      await store(kind, "c", { webhooks: [webhook(changes)] });
      hook.respond = respond;
      const renamed = Object.entries(expected).map(([key, value]) => [
        key.replace("TYPE", type),
        value,
      ]);
      assert.deepEqual(await counted(options), Object.fromEntries(renamed));
    });
  }
}

test("a patch that does not fit is the server's own error, and counts once", async () => {
  await store("mutatingwebhookconfigurations", "c", { webhooks: [webhook()] });
  hook.respond = () => jsonPatch({ op: "remove", path: "/nothing" });
  assert.deepEqual(await counted(), {
    [`asked ${W} admit 0 true`]: 1,
    [`refused ${W} admit apiserver_internal_error 0`]: 1,
  });
});

test("a call that nobody waits for any more is no refusal", async () => {
  await store("validatingwebhookconfigurations", "c", { webhooks: [webhook()] });
  const gone = new AbortController();
  hook.respond = () => {
    gone.abort(new Error("gone"));
    return { isSilent: true };
  };
  harness.counts.clear();
  const object = { metadata: { name: "gone" } };
  await assert.rejects(harness.create("configmaps", object, { signal: gone.signal }));
  assert.deepEqual(Object.fromEntries(harness.counts), { [`asked ${W} validating 503 true`]: 1 });
});

test("a failed call is noted in the audit record, and that nothing was changed", async () => {
  const webhooks = [webhook({ failurePolicy: "Ignore" })];
  await store("mutatingwebhookconfigurations", "c", { webhooks });
  hook.respond = () => ({ allowed: true, patchType: "Merge", patch: "e30=" });
  const { annotations } = await harness.create("configmaps", { metadata: { name: "noted" } });
  const place = "webhook.admission.k8s.io/round_0_index_0";
  assert.deepEqual(Object.fromEntries(annotations), {
    [`failed-open.mutation.${place}`]: W,
    [`mutation.${place}`]: `{"configuration":"c","webhook":"${W}","mutated":false}`,
  });
});
