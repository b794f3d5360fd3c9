/**
 * Admission by files: a server whose webhooks and policies lie in directories of its own. They are in
 * force before and above those of the API, also for these themselves, and follow their files.
 */
import assert from "node:assert/strict";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  type AdmissionHook,
  openAdmissionHook,
} from "../server/admission/testing/admission-webhook.js";
import { eventually } from "./harness/eventually.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir, type TempDir } from "./harness/temp-dir.js";

const API = "admissionregistration.k8s.io/v1";
const RULES = `/apis/${API}`;
const CONFIG = "apiserver.config.k8s.io/v1";
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const GATE = "--feature-gates=ManifestBasedAdmissionControlConfig=true";

interface Rule {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly operations: readonly string[];
  readonly resources: readonly string[];
}
const configMaps: Rule = {
  apiGroups: [""],
  apiVersions: ["v1"],
  operations: ["CREATE"],
  resources: ["configmaps"],
};

function validating(name: string, rule: Rule, expression: string, message: string) {
  const spec = {
    matchConstraints: { resourceRules: [rule] },
    validations: [{ expression, message }],
  };
  const bound = { policyName: name, validationActions: ["Deny"] };
  return [
    { apiVersion: API, kind: "ValidatingAdmissionPolicy", metadata: { name }, spec },
    { apiVersion: API, kind: "ValidatingAdmissionPolicyBinding", metadata: { name }, spec: bound },
  ] as const;
}

const documents = (...objects: readonly object[]) =>
  objects.map((object) => JSON.stringify(object)).join("\n---\n");

describe("admission by files", () => {
  let dir: TempDir | undefined;
  let hook: AdmissionHook | undefined;
  let server: ServerProcess | undefined;
  const inDir = (...parts: string[]) => join(dir?.path ?? "", ...parts);

  before(async () => {
    dir = await makeTempDir("static-manifests");
    hook = await openAdmissionHook();
    const { port } = new URL(hook.stub.url);
    for (const name of ["policies", "mutations", "hooks"]) await mkdir(inDir(name));
    const guarded = {
      ...configMaps,
      apiGroups: ["admissionregistration.k8s.io"],
      operations: ["UPDATE", "DELETE"],
      resources: ["*"],
    };
    const isFree = "!('protected' in oldObject.metadata.?labels.orValue({}))";
    await writeFile(
      inDir("policies", "guard.yaml"),
      documents(
        ...validating("guard.static.k8s.io", guarded, isFree, "it is protected"),
        ...validating("plain.static.k8s.io", configMaps, "!has(object.data.bad)", "from a file"),
      ),
    );
    await writeFile(
      inDir("mutations", "label.json"),
      documents({
        apiVersion: "v1",
        kind: "List",
        items: [
          {
            apiVersion: API,
            kind: "MutatingAdmissionPolicy",
            metadata: { name: "label.static.k8s.io" },
            spec: {
              matchConstraints: { resourceRules: [configMaps] },
              reinvocationPolicy: "Never",
              mutations: [
                {
                  patchType: "ApplyConfiguration",
                  applyConfiguration: {
                    expression: `Object{data: {"from": "file"}}`,
                  },
                },
              ],
            },
          },
          {
            apiVersion: API,
            kind: "MutatingAdmissionPolicyBinding",
            metadata: { name: "label.static.k8s.io" },
            spec: { policyName: "label.static.k8s.io" },
          },
        ],
      }),
    );
    await writeFile(
      inDir("hooks", "hook.yaml"),
      documents({
        apiVersion: API,
        kind: "ValidatingWebhookConfiguration",
        metadata: { name: "hook.static.k8s.io" },
        webhooks: [
          {
            name: "hook.example.com",
            clientConfig: hook.clientConfig(),
            rules: [{ ...configMaps, resources: ["configmaps"] }, guarded],
            matchConditions: [{ name: "asked", expression: "request.name.startsWith('asked')" }],
            sideEffects: "None",
            admissionReviewVersions: ["v1"],
          },
        ],
      }),
    );
    const user = { name: `127.0.0.1:${port}`, user: { token: "the-servers-own" } };
    await writeFile(inDir("users"), JSON.stringify({ users: [user] }));
    const plugin = (name: string, kind: string, folder: string, more: object = {}) => ({
      name,
      configuration: { apiVersion: CONFIG, kind, staticManifestsDir: inDir(folder), ...more },
    });
    const plugins = [
      plugin("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyConfiguration", "policies"),
      plugin("MutatingAdmissionPolicy", "MutatingAdmissionPolicyConfiguration", "mutations"),
      plugin("ValidatingAdmissionWebhook", "WebhookAdmissionConfiguration", "hooks", {
        kubeConfigFile: inDir("users"),
      }),
    ];
    const configuration = { apiVersion: CONFIG, kind: "AdmissionConfiguration", plugins };
    await writeFile(inDir("admission.yaml"), JSON.stringify(configuration));
    const flags = [GATE, `--admission-control-config-file=${inDir("admission.yaml")}`];
    server = await startServer({ flags });
  });
  after(async () => {
    await server?.[Symbol.asyncDispose]();
    await hook?.[Symbol.asyncDispose]();
    await dir?.[Symbol.asyncDispose]();
  });

  const client = () => {
    assert.ok(server !== undefined);
    return server.client;
  };
  const create = (name: string, data: object) =>
    client().post(CONFIG_MAPS, { metadata: { name }, data });

  test("rules from files judge and change writes, before those of the API, and are in no list", async () => {
    const made = (await create("plain", { a: "1" })).expect(201).object;
    assert.deepEqual(made.data, { a: "1", from: "file" });
    for (const object of validating("also", configMaps, "!has(object.data.bad)", "of the API")) {
      const resource = `${object.kind.toLowerCase().replace(/y$/, "ie")}s`;
      (await client().post(`${RULES}/${resource}`, object)).expect(201);
    }
    const refused = await create("bad", { bad: "1" });
    assert.equal(refused.status, 422);
    assert.match(refused.text, /ValidatingAdmissionPolicy 'plain.static.k8s.io'.*from a file/);
    const list = (await client().get(`${RULES}/validatingadmissionpolicies`)).expect(200);
    assert.doesNotMatch(list.text, /static/);
  });

  test("webhooks from files are asked as whom the configuration says", async () => {
    assert.ok(hook !== undefined);
    hook.respond = () => ({ allowed: false, status: { message: "not this one" } });
    const refused = await create("asked", {});
    assert.match(refused.text, /admission webhook \\"hook.example.com\\" denied the request: not/);
    assert.equal(hook.stub.calls.at(-1)?.headers.authorization, "Bearer the-servers-own");
    hook.respond = () => ({ allowed: true });
  });

  test("they judge rules of the API themselves, which rules of the API do not", async () => {
    const metadata = { name: "asked-mine", labels: { protected: "yes" } };
    const configurations = `${RULES}/mutatingwebhookconfigurations`;
    const before = hook?.requests.length ?? 0;
    (await client().post(configurations, { metadata, webhooks: [] })).expect(201);
    const deleted = await client().delete(`${configurations}/asked-mine`);
    assert.equal(deleted.status, 422);
    assert.match(deleted.text, /'guard.static.k8s.io'.*it is protected/);
    const labels = JSON.stringify({ metadata: { labels: null } });
    const patched = await client().patch(`${configurations}/asked-mine`, labels);
    assert.equal(patched.status, 422);
    // Refused before it was asked, and creates are none of its business.
    assert.equal(hook?.requests.length, before);
  });

  test("nobody creates a rule under a name of theirs", async () => {
    for (const resource of [
      "validatingwebhookconfigurations",
      "mutatingwebhookconfigurations",
      "validatingadmissionpolicybindings",
    ]) {
      const spec = { policyName: "a", validationActions: ["Deny"] };
      const metadata = { name: "x.static.k8s.io" };
      const answer = await client().post(`${RULES}/${resource}`, { metadata, spec, webhooks: [] });
      assert.equal(answer.status, 422, answer.text);
      assert.match(
        answer.text,
        /metadata.name: Invalid value: \\"x.static.k8s.io\\": names ending with \\".static.k8s.io\\" are reserved/,
      );
    }
  });

  test("files are followed, a bad one changes nothing, and metrics tell", async () => {
    const metric = async (pattern: RegExp) => {
      const { text } = await client().get("/metrics");
      return pattern.exec(text)?.[1];
    };
    const hash = /last_config_info\{plugin="ValidatingAdmissionPolicy",[^}]*hash="([^"]+)"\} 1/;
    const failures =
      /automatic_reloads_total\{status="failure",plugin="ValidatingAdmissionPolicy"[^}]*\} (\d+)/;
    const first = await metric(hash);
    assert.match(first ?? "", /^sha256:/);
    await writeFile(inDir("policies", "more.yaml"), "kind: Nonsense");
    await eventually("the bad file is counted", async () => (await metric(failures)) === "1");
    assert.equal(await metric(hash), first);
    assert.equal((await create("still", { bad: "1" })).status, 422);
    await writeFile(
      inDir("policies", "more.yaml"),
      documents(...validating("more.static.k8s.io", configMaps, "!has(object.data.no)", "more")),
    );
    await eventually("the new policy is in force", async () => {
      const { status, text } = await client().post(`${CONFIG_MAPS}?dryRun=All`, {
        metadata: { name: "n" },
        data: { no: "1" },
      });
      return status === 422 && text.includes("more.static.k8s.io");
    });
    await rm(inDir("policies", "more.yaml"));
    await eventually("the policy is gone", async () => {
      const body = { metadata: { name: "n" }, data: { no: "1" } };
      return (await client().post(`${CONFIG_MAPS}?dryRun=All`, body)).status === 201;
    });
  });

  test("a server with files that are no good does not start", async () => {
    await mkdir(inDir("broken"));
    await writeFile(inDir("broken", "a.yaml"), "kind: Nonsense");
    const configuration = {
      apiVersion: CONFIG,
      kind: "AdmissionConfiguration",
      plugins: [
        {
          name: "MutatingAdmissionPolicy",
          configuration: {
            apiVersion: CONFIG,
            kind: "MutatingAdmissionPolicyConfiguration",
            staticManifestsDir: inDir("broken"),
          },
        },
      ],
    };
    await writeFile(inDir("broken.yaml"), JSON.stringify(configuration));
    const flag = `--admission-control-config-file=${inDir("broken.yaml")}`;
    await assert.rejects(
      startServer({ flags: [GATE, flag] }),
      /error loading .*a\.yaml: unsupported resource type/,
    );
  });
});
