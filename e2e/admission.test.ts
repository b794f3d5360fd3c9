/**
 * Rules that users bring, with real clients on two replicas over one etcd: kubectl shows warnings and
 * refusals, and a rule that is changed through one replica judges the next write through the other.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  type AdmissionHook,
  openAdmissionHook,
} from "../server/admission/testing/admission-webhook.js";
import { Kubectl } from "./harness/kubectl.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { type EtcdProcess, startEtcd } from "./tools/etcd.js";

const IS_LONG = process.env.KEELSON_TEST_LONG === "1";
const ROUNDS = IS_LONG ? 10_000 : 150;
const RULES = "/apis/admissionregistration.k8s.io/v1";
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const API_VERSION = "admissionregistration.k8s.io/v1";

const rule = {
  apiGroups: [""],
  apiVersions: ["v1"],
  operations: ["CREATE"],
  resources: ["configmaps"],
};

function policy(name: string, expression: string, message: string): object {
  return {
    apiVersion: API_VERSION,
    kind: "ValidatingAdmissionPolicy",
    metadata: { name },
    spec: {
      matchConstraints: { resourceRules: [rule] },
      matchConditions: [{ name: "mine", expression: `'${name}' in object.data` }],
      validations: [{ expression, message }],
    },
  };
}

function binding(name: string, ...validationActions: string[]): object {
  return {
    apiVersion: API_VERSION,
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name },
    spec: { policyName: name, validationActions },
  };
}

const configMap = (name: string, data: object) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data,
});

describe("rules that users bring", () => {
  const servers: ServerProcess[] = [];
  const opened: AsyncDisposable[] = [];
  let etcd: EtcdProcess | undefined;
  let hook: AdmissionHook | undefined;

  before(async () => {
    etcd = await startEtcd();
    hook = await openAdmissionHook();
    const etcdEndpoints = [etcd.endpoint];
    const flags = ["--run-controllers"];
    servers.push(...(await Promise.all([0, 1].map(() => startServer({ etcdEndpoints, flags })))));
  });
  after(async () => {
    for (const one of opened) await one[Symbol.asyncDispose]();
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
    await hook?.[Symbol.asyncDispose]();
    await etcd?.[Symbol.asyncDispose]();
  });

  test("a policy that changes through one replica judges the next write through the other", {
    timeout: IS_LONG ? 3_600_000 : 60_000,
  }, async () => {
    const [a, b] = servers.map(({ client }) => client);
    assert.ok(a !== undefined && b !== undefined);
    const policies = `${RULES}/validatingadmissionpolicies`;
    const expression = (round: number) => `int(object.data.round) >= ${round}`;
    (await a.post(policies, policy("round", expression(0), "old"))).expect(201);
    (await a.post(`${RULES}/validatingadmissionpolicybindings`, binding("round", "Deny"))).expect(
      201,
    );
    let stale = 0;
    for (let round = 1; round <= ROUNDS; round++) {
      const [here, there] = round % 2 === 0 ? [a, b] : [b, a];
      const current = (await there.get(`${policies}/round`)).expect(200).object;
      const spec = current.spec as { validations: object[] };
      spec.validations = [{ expression: expression(round), message: "old" }];
      (await here.put(`${policies}/round`, current)).expect(200);
      const data = (value: number) => ({ round: String(value) });
      const late = await there.post(CONFIG_MAPS, configMap(`late-${round}`, data(round - 1)));
      if (late.status !== 422) stale++;
      const good = await there.post(CONFIG_MAPS, configMap(`good-${round}`, data(round)));
      good.expect(201, `round ${round}`);
    }
    assert.equal(stale, 0, "writes judged by an older rule");
  });

  test("kubectl shows warnings and refusals of policies and webhooks", {
    timeout: 60_000,
  }, async () => {
    const [server] = servers;
    assert.ok(server !== undefined && hook !== undefined);
    const kubectl = await Kubectl.open(server);
    opened.push(kubectl);
    const create = (...objects: object[]) =>
      kubectl.run(
        ["create", "-f", "-"],
        JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }),
      );
    const rules = await create(
      policy("warns", "object.data.warns == 'no'", "better not"),
      binding("warns", "Warn"),
      policy("denies", "object.data.denies == 'no'", "never"),
      binding("denies", "Deny"),
      {
        apiVersion: API_VERSION,
        kind: "ValidatingWebhookConfiguration",
        metadata: { name: "hooked" },
        webhooks: [
          {
            name: "hook.example.com",
            clientConfig: hook.clientConfig(),
            rules: [rule],
            matchConditions: [{ name: "mine", expression: "'hooked' in object.data" }],
            sideEffects: "None",
            admissionReviewVersions: ["v1"],
          },
        ],
      },
    );
    assert.equal(rules.code, 0, rules.stderr);
    const warned = await create(configMap("warned", { warns: "yes" }));
    assert.equal(warned.code, 0);
    assert.equal(
      warned.stderr,
      "Warning: Validation failed for ValidatingAdmissionPolicy 'warns' with binding 'warns': better not\n",
    );
    const denied = await create(configMap("denied", { denies: "yes" }));
    assert.equal(denied.code, 1);
    assert.match(
      denied.stderr,
      /configmaps "denied" is invalid: : ValidatingAdmissionPolicy 'denies' with binding 'denies' denied request: never/,
    );
    hook.respond = () => ({ allowed: false, warnings: ["w"], status: { message: "not today" } });
    const asked = await create(configMap("asked", { hooked: "yes" }));
    assert.match(asked.stderr, /^Warning: w\n/);
    assert.match(
      asked.stderr,
      /admission webhook "hook.example.com" denied the request: not today/,
    );
    const dry = `${CONFIG_MAPS}?dryRun=All`;
    const headers = { "Explain-Admission": "1" };
    const explained = await server.client.request(dry, {
      method: "POST",
      headers,
      body: configMap("plain", { denies: "no" }),
    });
    const said = String(explained.headers.warning);
    assert.match(said, /ValidatingAdmissionPolicy denies\/denies allowed/);
    assert.match(said, /ValidatingAdmissionWebhook hooked\/hook.example.com skipped/);
  });
});
