/** What others do to a write on its way names itself in the record: webhooks, policies, their refusals, defaults and conversions. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonPatch, openAdmissionHook } from "../../server/admission/testing/admission-webhook.js";
import { openWebhookStub, type StubCall } from "../../server/client/testing/webhook-stub.js";
import type { Explanation, RecordedWrite, Timeline } from "../../server/recorder/record-types.js";
import { answerConversion, hostsConvertedBy } from "../harness/converted-hosts.js";
import { eventually } from "../harness/eventually.js";
import { grant } from "../harness/grant.js";
import { HttpsClient } from "../harness/https-client.js";
import { shareApi } from "./running-api.js";

const theApi = shareApi({ record: true, users: [{ name: "reader" }] });
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const RULES = "/apis/admissionregistration.k8s.io/v1";
const EXAMPLE = "/apis/example.com";

async function writesOf(client: HttpsClient, query: string): Promise<readonly RecordedWrite[]> {
  const answer = (await client.get(`/debug/record/timeline?${query}`)).expect(200);
  return (answer.object as unknown as Timeline).writes;
}

/** Of what carries this label alone. */
function hooked(name: string, clientConfig: object) {
  const rule = { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] };
  return {
    metadata: { name },
    webhooks: [
      {
        name: `${name}.example.com`,
        clientConfig,
        rules: [{ ...rule, operations: ["CREATE"] }],
        objectSelector: { matchLabels: { [name]: "yes" } },
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
      },
    ],
  };
}

test("#46 a mutating webhook that changed a write, and one that refused it, are named to who may read them", async () => {
  const { admin, api } = theApi();
  await using marker = await openAdmissionHook(() =>
    jsonPatch({ op: "add", path: "/data", value: { marked: "by-the-hook" } }),
  );
  await using refuser = await openAdmissionHook(() => ({
    allowed: false,
    status: { message: "not today: secret-of-the-hook" },
  }));
  const configurations = `${RULES}/mutatingwebhookconfigurations`;
  (await admin.post(configurations, hooked("marker", marker.clientConfig()))).expect(201);
  const validating = `${RULES}/validatingwebhookconfigurations`;
  (await admin.post(validating, hooked("refuser", refuser.clientConfig()))).expect(201);
  await eventually("the webhook is in force", async () => {
    const labels = { marker: "yes" };
    const body = { metadata: { generateName: "marked-", labels } };
    const { object } = (await admin.post(`${CONFIG_MAPS}?dryRun=All`, body)).expect(201);
    return object.data !== undefined;
  });
  const marked = { metadata: { name: "marked", labels: { marker: "yes" } } };
  (await admin.post(CONFIG_MAPS, marked)).expect(201);
  const refused = { metadata: { name: "refused", labels: { refuser: "yes" } } };
  const status = await eventually("the other one is in force", async () => {
    const answer = await admin.post(CONFIG_MAPS, refused);
    if (answer.status === 201) (await admin.delete(`${CONFIG_MAPS}/refused`)).expect(200);
    return answer.status === 201 ? undefined : answer.status;
  });

  const [write] = await writesOf(admin, "resource=configmaps&name=marked");
  assert.deepEqual(
    write?.causes.map(({ by, name }) => [by, name]),
    [["admission-webhook", "marker/marker.example.com"]],
  );
  const refusal = (await writesOf(admin, "resource=configmaps&name=refused")).at(-1);
  assert.deepEqual([refusal?.outcome, refusal?.status], ["refused", status]);
  assert.deepEqual(
    refusal?.causes.map(({ by, name }) => [by, name]),
    [["admission-webhook", "refuser/refuser.example.com refused it"]],
  );
  assert.doesNotMatch(JSON.stringify([write, refusal]), /by-the-hook|secret-of-the-hook/);
  const why = "/debug/record/why?resource=configmaps&namespace=default&name=marked";
  const { steps } = (await admin.get(why)).expect(200).object as unknown as Explanation;
  assert.equal(steps.length, 1);

  const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list"] }];
  await grant(admin, { name: "maps", to: "User reader", rules, namespace: "default" });
  const { url, ca, token } = api.as("reader");
  const reader = new HttpsClient(url, { ca }, { authorization: `Bearer ${token}` });
  const [shown] = await writesOf(reader, "resource=configmaps&name=marked");
  reader.close();
  assert.deepEqual(shown?.causes, [{ by: "admission-webhook", name: "" }]);
});

test("#46 a mutating policy that changed a write names itself", async () => {
  const { admin } = theApi();
  const rule = { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] };
  const expression = 'Object{data: {"marked": "by-the-policy"}}';
  const policy = {
    metadata: { name: "policy" },
    spec: {
      matchConstraints: {
        resourceRules: [{ ...rule, operations: ["CREATE"] }],
        objectSelector: { matchLabels: { policy: "yes" } },
      },
      reinvocationPolicy: "Never",
      mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression } }],
    },
  };
  (await admin.post(`${RULES}/mutatingadmissionpolicies`, policy)).expect(201);
  const binding = { metadata: { name: "policy" }, spec: { policyName: "policy" } };
  (await admin.post(`${RULES}/mutatingadmissionpolicybindings`, binding)).expect(201);
  const metadata = { labels: { policy: "yes" } };
  await eventually("the policy is in force", async () => {
    const body = { metadata: { ...metadata, generateName: "by-policy-" } };
    const { object } = (await admin.post(`${CONFIG_MAPS}?dryRun=All`, body)).expect(201);
    return object.data !== undefined;
  });
  (await admin.post(CONFIG_MAPS, { metadata: { ...metadata, name: "by-policy" } })).expect(201);
  const [write] = await writesOf(admin, "resource=configmaps&name=by-policy");
  assert.deepEqual(
    write?.causes.map(({ by, name }) => [by, name.split("/")[0]]),
    [["admission-policy", "policy"]],
  );
});

test("#46 defaults of a definition and its conversion by a webhook name themselves", async () => {
  const { admin } = theApi();
  const convert = (call: StubCall) =>
    answerConversion(call, (object, apiVersion) => ({ ...object, apiVersion }));
  await using converter = await openWebhookStub(convert, true);
  const size = { type: "integer", default: 3 };
  const spec = { type: "object", properties: { size, color: { type: "string" } } };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec } } };
  const version = (name: string) => ({ name, served: true, storage: name === "v2", schema });
  const definition = hostsConvertedBy(converter, [version("v2"), version("v1")]);
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  (await admin.post(definitions, definition)).expect(201);
  const path = `${EXAMPLE}/v1/namespaces/default/hosts`;
  await eventually("the kind is served", async () => (await admin.get(path)).status === 200);
  const body = { apiVersion: "example.com/v1", kind: "Host", metadata: { name: "host" } };
  (await admin.post(path, { ...body, spec: { color: "red" } })).expect(201);
  const [write] = await writesOf(admin, "group=example.com&resource=hosts&name=host");
  assert.deepEqual(write?.causes, [
    { by: "defaulting", name: "", paths: ["spec.size"] },
    { by: "conversion", name: "from example.com/v1, by its webhook" },
  ]);
});
