/** What webhooks see of an object, what they may do to it, and what counts as an answer of theirs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../../api/meta.js";
import { timeout } from "../../api/status.js";
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
import { inputOf, noSignal, writeOptions } from "../../registry/testing/registry-harness.js";
import { applyObject } from "../../registry/write/apply.js";
import { jsonPatch, type SentRequest } from "../testing/admission-webhook.js";

/** One mutating and one validating webhook for all writes. */
async function both(changes: JsonObject = {}): Promise<void> {
  const named = (step: string) =>
    webhook({
      name: `${step}.example.com`,
      clientConfig: hook.clientConfig(`/${step}`),
      ...changes,
    });
  await configure(MUTATING, [named("mutate")]);
  await configure(VALIDATING, [named("validate")]);
}

const metadataOf = (object: unknown) => (object as JsonObject | null)?.metadata as JsonObject;
const versionsOf = ({ object, oldObject }: SentRequest) =>
  [object, oldObject].map((one) => metadataOf(one)?.resourceVersion);

test("A27, CVE-2021-25735: rules see the resourceVersion of both objects", async () => {
  const made = await harness.create("configmaps", configMap());
  const { name = "", resourceVersion: first } = made.object.metadata;
  await both();
  const patched = await harness.patch("configmaps", name, { data: { a: "2" } });
  assert.deepEqual(hook.requests.splice(0).map(versionsOf), [
    [first, first],
    [first, first],
  ]);
  const second = patched.object.metadata.resourceVersion;
  assert.notEqual(second, first);
  const value = { metadata: { name }, data: { a: "3" } };
  const replaced = await harness.replace("configmaps", name, value);
  assert.deepEqual(hook.requests.splice(0).map(versionsOf), [
    [undefined, second],
    [second, second],
  ]);
  const third = replaced.object.metadata.resourceVersion;
  await harness.remove("configmaps", name);
  assert.deepEqual(hook.requests.splice(0).map(versionsOf), [
    [undefined, third],
    [undefined, third],
  ]);
});

test("A27: the options of a review are those that the client named", async () => {
  await both();
  const said = { isDryRun: true, fieldManager: "mine", fieldValidation: "Strict" };
  await harness.create("configmaps", configMap(), { isDryRun: true, said });
  await harness.create("configmaps", configMap(), { isDryRun: true });
  const shown = hook.requests.splice(0).map(({ options }) => {
    const { kind: _kind, apiVersion: _version, ...others } = options as JsonObject;
    return others;
  });
  const named = { dryRun: ["All"], fieldManager: "mine", fieldValidation: "Strict" };
  assert.deepEqual(shown, [named, named, { dryRun: ["All"] }, { dryRun: ["All"] }]);
});

test("A27: an apply shows the resourceVersion of what it changes", async () => {
  const made = await harness.create("configmaps", configMap());
  const { name = "", resourceVersion } = made.object.metadata;
  await both();
  const applied = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { b: "2" } };
  const target = {
    resource: harness.base.part("", "v1", "configmaps", ""),
    namespace: "default",
    name,
    subresource: "",
    force: true,
    input: inputOf(applied),
    options: writeOptions({ fieldManager: "applier" }),
  };
  await applyObject(harness.registry, target, noSignal);
  assert.deepEqual(hook.requests.splice(0).map(versionsOf), [
    [resourceVersion, resourceVersion],
    [resourceVersion, resourceVersion],
  ]);
});

for (const [what, value, code, words] of [
  ["namespace", "other", 400, /the namespace of the provided object does not match/],
  ["resourceVersion", "1", 500, /resourceVersion should not be set on objects to be created/],
] as const) {
  test(`A28: a webhook that sets another ${what} of a new object spoils the create`, async () => {
    await mutating();
    hook.respond = () => jsonPatch({ op: "add", path: `/metadata/${what}`, value });
    const refused = await refusal(harness.create("configmaps", configMap()));
    assert.equal(refused.code, code);
    assert.match(refused.message, words);
  });
}

test("A28: a webhook that moves an object to another namespace spoils the update", async () => {
  const { object } = await harness.create("configmaps", configMap());
  await mutating();
  hook.respond = () => jsonPatch({ op: "replace", path: "/metadata/namespace", value: "other" });
  const { name = "" } = object.metadata;
  const refused = await refusal(harness.patch("configmaps", name, { data: { a: "2" } }));
  assert.equal(refused.code, 400);
});

for (const failurePolicy of ["Fail", "Ignore"]) {
  test(`A23: a request whose own time is over while a webhook is asked is 504, with ${failurePolicy}`, async () => {
    await validating({ failurePolicy });
    const ended = new AbortController();
    hook.respond = () => {
      ended.abort(timeout("the request did not complete within its deadline"));
      return { isSilent: true };
    };
    const write = harness.create("configmaps", configMap(), { signal: ended.signal });
    assert.equal((await refusal(write)).code, 504);
  });
}

test("A28: a new object gets name, uid and creation time after mutating webhooks", async () => {
  await both();
  const made = await harness.create("configmaps", { metadata: { generateName: "gen-" } });
  const { name = "", uid, creationTimestamp } = made.object.metadata;
  assert.match(name, /^gen-[a-z0-9]{5}$/);
  const [before, after] = hook.requests.splice(0);
  assert.deepEqual(Object.keys(metadataOf(before?.object)).sort(), [
    "generateName",
    "managedFields",
    "namespace",
  ]);
  assert.equal("name" in (before ?? {}), false);
  const { managedFields: _, ...shown } = metadataOf(after?.object);
  const expected = { generateName: "gen-", name, namespace: "default", uid, creationTimestamp };
  assert.deepEqual(shown, expected);
  assert.equal(after?.name, name);
});

for (const metadata of [{ generateName: "gen-" }, { name: "by-user" }]) {
  test(`A28: the name that a mutating webhook sets is the name, over ${Object.keys(metadata)}`, async () => {
    await both();
    const chosen = `by-hook-${Object.keys(metadata)}`.toLowerCase();
    const patch = jsonPatch(
      { op: "add", path: "/metadata/name", value: chosen },
      { op: "add", path: "/metadata/uid", value: "mine" },
      { op: "add", path: "/metadata/creationTimestamp", value: "2001-01-01T00:00:00Z" },
    );
    hook.respond = (_, url) => (url.startsWith("/mutate") ? patch : { allowed: true });
    const { object } = await harness.create("configmaps", { metadata });
    assert.equal(object.metadata.name, chosen);
    assert.notEqual(object.metadata.uid, "mine");
    assert.doesNotMatch(object.metadata.creationTimestamp ?? "", /^2001/);
    const again = await refusal(harness.create("configmaps", { metadata }));
    assert.deepEqual([again.code, again.reason], [409, "AlreadyExists"]);
    hook.respond = () => ({ allowed: true });
    await harness.remove("configmaps", chosen);
  });
}

test("A25: a webhook that drops its connection is called once, fresh or kept, mutating or validating", async () => {
  for (const configured of [mutating, validating]) {
    for (const failurePolicy of ["Fail", "Ignore"]) {
      await configured({ failurePolicy });
      hook.respond = () => ({ allowed: true });
      await harness.create("configmaps", configMap());
      hook.requests.length = 0;
      hook.respond = () => ({ isReset: true });
      const write = harness.create("configmaps", configMap());
      if (failurePolicy === "Fail") {
        const { code, message } = await refusal(write);
        assert.equal(code, 500);
        assert.match(
          message,
          /failed to call webhook: Post "https:.*\?timeout=10s": (EOF|read: connection reset by peer)$/,
        );
      } else await write;
      assert.equal(hook.requests.length, 1);
      await removeAll();
    }
  }
});

test("A25 NEW-1: a webhook that is busy and says when to come back is asked again, within its timeout", async () => {
  await validating({ timeoutSeconds: 3 });
  const busy = (status: number, headers: Record<string, string>) => ({ status, headers, body: "" });
  for (const status of [429, 503]) {
    hook.requests.length = 0;
    hook.respond = () =>
      hook.requests.length === 1 ? busy(status, { "retry-after": "0" }) : { allowed: true };
    await harness.create("configmaps", configMap());
    assert.equal(hook.requests.length, 2);
  }
  hook.requests.length = 0;
  hook.respond = () => busy(503, { "retry-after": "0" });
  assert.equal((await refusal(harness.create("configmaps", configMap()))).code, 500);
  assert.equal(hook.requests.length, 11);
  for (const [status, headers] of [
    [503, {}],
    [404, { "retry-after": "0" }],
    [500, { "retry-after": "Thu, 01 Jan 1970 00:00:00 GMT" }],
  ] as const) {
    hook.requests.length = 0;
    hook.respond = () => busy(status, headers);
    assert.equal((await refusal(harness.create("configmaps", configMap()))).code, 500);
    assert.equal(hook.requests.length, 1, String(status));
  }
  hook.respond = () => busy(429, { "retry-after": "60" });
  const late = await refusal(harness.create("configmaps", configMap()));
  assert.match(late.message, /context deadline exceeded$/);
});

test("A24: a write that begins again because a rule changed asks no webhook twice", async () => {
  await both();
  const { answer } = hook.stub;
  let rules = 0;
  hook.stub.answer = async (call) => {
    // Each call moves the epoch of the cluster, so the write that asked is judged again.
    await configure(VALIDATING, [
      webhook({ rules: [{ ...ALL_CONFIG_MAPS, resources: ["pods"] }] }),
    ]);
    rules++;
    return await answer(call);
  };
  try {
    const { object } = await harness.create("configmaps", configMap());
    assert.deepEqual([hook.requests.splice(0).length, rules], [2, 2]);
    await harness.patch("configmaps", object.metadata.name ?? "", { data: { a: "2" } });
    assert.equal(hook.requests.splice(0).length, 2);
    await harness.remove("configmaps", object.metadata.name ?? "");
    assert.equal(hook.requests.splice(0).length, 2);
  } finally {
    hook.stub.answer = answer;
  }
});

test("A24: a webhook is called once for each state that an update meets, and failures count as answers", async () => {
  const { object } = await harness.create("configmaps", configMap());
  const name = object.metadata.name ?? "";
  await validating({ objectSelector: { matchLabels: { asked: "yes" } }, failurePolicy: "Ignore" });
  const { answer } = hook.stub;
  let states = 0;
  hook.stub.answer = async (call) => {
    hook.respond = () => ({ status: 500, body: "" });
    // Another client changes the object, once.
    if (++states === 1) await harness.patch("configmaps", name, { data: { other: "yes" } });
    return await answer(call);
  };
  try {
    await harness.patch("configmaps", name, { metadata: { labels: { asked: "yes" } } });
    assert.equal(hook.requests.length, 2);
  } finally {
    hook.stub.answer = answer;
  }
});

test("A31 NEW-3: a patch that fails says what failed, and one to another kind is an error", async () => {
  await mutating({ failurePolicy: "Ignore" });
  const table: [JsonObject, RegExp][] = [
    [
      { op: "test", path: "/metadata/name", value: "x" },
      /^Internal error occurred: testing value \/metadata\/name failed: test failed$/,
    ],
    [
      { op: "add", path: "/a/b", value: "x" },
      /^Internal error occurred: add operation does not apply: doc is missing path: "\/a\/b": missing value$/,
    ],
    [
      { op: "replace", path: "/kind", value: "Secret" },
      /converting \(v1.Secret\) to \(core.ConfigMap\): unknown/,
    ],
    [
      { op: "replace", path: "/apiVersion", value: "v2" },
      /no kind "ConfigMap" is registered for version "v2"/,
    ],
  ];
  for (const [operation, expected] of table) {
    hook.respond = () => jsonPatch(operation);
    const { code, message } = await refusal(harness.create("configmaps", configMap()));
    assert.equal(code, 500);
    assert.match(message, expected);
  }
});

test("A31: an answer with members of other types is no answer", async () => {
  const answers: [JsonObject, RegExp][] = [
    [
      { allowed: "yes" },
      /failed to call webhook: json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool$/,
    ],
    [{ allowed: true, warnings: "w" }, /response.warnings of type \[\]string/],
    [{ allowed: true, auditAnnotations: { a: 1 } }, /response.auditAnnotations of type map/],
    [{ allowed: false, status: { code: "403" } }, /response.status.code of type int32/],
    [{ allowed: true, patchType: "JSONPatch", patch: "*" }, /illegal base64 data/],
  ];
  for (const configured of [mutating, validating]) {
    for (const failurePolicy of ["Fail", "Ignore"]) {
      await configured({ failurePolicy });
      for (const [answer, expected] of answers) {
        hook.respond = (request) => ({ body: bodyOf(request, answer) });
        const write = harness.create("configmaps", configMap());
        if (failurePolicy === "Ignore") await write;
        else {
          const { code, message } = await refusal(write);
          assert.equal(code, 500);
          assert.match(message, expected);
        }
      }
      await removeAll();
    }
  }
});

function bodyOf({ uid }: SentRequest, response: JsonObject): JsonObject {
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    response: { uid, ...response },
  };
}

test("A31: the review of a collection that is deleted names no object", async () => {
  const { object } = await harness.create(
    "configmaps",
    configMap({ metadata: { labels: { sweep: "a31" } } }),
  );
  await validating();
  await harness.sweep("configmaps", "sweep=a31");
  const [request] = hook.requests;
  assert.equal(request?.operation, "DELETE");
  assert.equal("name" in (request ?? {}), false);
  assert.equal(metadataOf(request?.oldObject).name, object.metadata.name);
});

test("A31: owners are stored as a webhook leaves them, unless they are invalid, which warns", async () => {
  await mutating({ rules: [ALL_CONFIG_MAPS] });
  hook.respond = () => jsonPatch({ op: "remove", path: "/metadata/managedFields" });
  const none = await harness.create("configmaps", configMap());
  assert.equal(none.object.metadata.managedFields, undefined);
  assert.deepEqual(none.warnings, []);
  hook.respond = () =>
    jsonPatch({ op: "replace", path: "/metadata/managedFields/0/operation", value: "Guess" });
  const { object, warnings } = await harness.create("configmaps", configMap());
  assert.equal(object.metadata.managedFields?.[0]?.operation, "Update");
  assert.deepEqual(warnings, [
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: operation must be `Apply` or `Update`",
  ]);
});
