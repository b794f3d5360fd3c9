/** AdmissionReviews of the older version, which webhooks may still ask for: sent as such, and read less strictly. */
import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { openRuleHarness } from "../../registry/testing/rule-harness.js";
import { openAdmissionHook } from "../testing/admission-webhook.js";

const harness = await openRuleHarness();
const hook = await openAdmissionHook();
after(async () => {
  await hook[Symbol.asyncDispose]();
  await harness[Symbol.asyncDispose]();
});

const GROUP = "admissionregistration.k8s.io/v1";
const kinds = {
  mutating: "mutatingwebhookconfigurations",
  validating: "validatingwebhookconfigurations",
};

async function configure(kind: keyof typeof kinds, ...admissionReviewVersions: string[]) {
  const about = { operations: ["*"], apiGroups: [""], apiVersions: ["v1"] };
  const webhook = {
    name: "old.example.com",
    clientConfig: hook.clientConfig(),
    rules: [{ ...about, resources: ["configmaps"] }],
    sideEffects: "None",
    admissionReviewVersions,
  };
  await harness.create(`${GROUP}/${kinds[kind]}`, {
    metadata: { name: kind },
    webhooks: [webhook],
  });
}

afterEach(async () => {
  for (const kind of ["mutating", "validating"] as const) {
    await harness.remove(`${GROUP}/${kinds[kind]}`, kind).catch(() => {});
  }
});

const sentVersion = () => hook.stub.calls.at(-1)?.body.apiVersion;
const patch = Buffer.from('[{"op":"add","path":"/data","value":{"b":"2"}}]').toString("base64");

test("a webhook is sent the first version in its list that there is", async () => {
  for (const [versions, expected] of [
    [["v7", "v1beta1", "v1"], "admission.k8s.io/v1beta1"],
    [["v1", "v1beta1"], "admission.k8s.io/v1"],
  ] as const) {
    await configure("validating", ...versions);
    await harness.create("configmaps", { metadata: { name: expected.split("/")[1] ?? "" } });
    assert.equal(sentVersion(), expected);
    await harness.remove(`${GROUP}/${kinds.validating}`, "validating");
  }
});

test("answers of the older version need no uid, kind or type of patch", async () => {
  await configure("mutating", "v1beta1");
  hook.respond = () => ({ body: { response: { allowed: true, patch } } });
  const { object } = await harness.create("configmaps", { metadata: { name: "patched" } });
  assert.deepEqual(object.data, { b: "2" });
});

test("a patch of a validating webhook is passed over in the older version", async () => {
  await configure("validating", "v1beta1");
  hook.respond = () => ({ body: { response: { allowed: true, patch, patchType: "JSONPatch" } } });
  const { object } = await harness.create("configmaps", { metadata: { name: "plain" } });
  assert.equal(object.data, undefined);
  hook.respond = () => ({ body: { response: { allowed: false, status: { message: "no" } } } });
  await assert.rejects(harness.create("configmaps", { metadata: { name: "refused" } }), {
    message: 'admission webhook "old.example.com" denied the request: no',
  });
});
