/** Rules from files: which are accepted, which are refused, and what happens when files change. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { systemClock } from "../../../storage/base/clock.js";
import { silentLogger } from "../../../storage/base/logger.js";
import type { RulePlugin } from "../../admission/static/admission-configuration.js";
import { createNaming, DEFAULT_VENDOR } from "../../api/naming.js";
import { createFactsCodecs } from "../../kinds/facts-codecs.js";
import { LiveCatalog } from "../../kinds/live-catalog.js";
import { loadFacts } from "../../types/load-facts.js";
import { createBuiltInCatalog } from "../built-in-catalog.js";
import { StaticRules } from "./static-rules.js";

const naming = createNaming(DEFAULT_VENDOR);
const facts = loadFacts(naming);
const catalog = new LiveCatalog(
  createBuiltInCatalog({ naming, facts, codecs: createFactsCodecs(facts) }),
);
const root = await mkdtemp(join(tmpdir(), "keelson-static-"));
after(() => rm(root, { recursive: true, force: true }));
const counter = { directories: 0 };

const API = "admissionregistration.k8s.io/v1";
const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] };
const policy = (name: string, spec: object = {}) => ({
  apiVersion: API,
  kind: "ValidatingAdmissionPolicy",
  metadata: { name },
  spec: {
    matchConstraints: { resourceRules: [rule] },
    validations: [{ expression: "true" }],
    ...spec,
  },
});
const binding = (name: string, policyName: string, spec: object = {}) => ({
  apiVersion: API,
  kind: "ValidatingAdmissionPolicyBinding",
  metadata: { name },
  spec: { policyName, validationActions: ["Deny"], ...spec },
});
const hooks = (name: string, clientConfig: object) => ({
  apiVersion: API,
  kind: "ValidatingWebhookConfiguration",
  metadata: { name },
  webhooks: [
    {
      name: "a.example.com",
      clientConfig,
      rules: [rule],
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
    },
  ],
});

/** The files' contents: text, or a sequence of objects. */
type Files = Readonly<Record<string, string | readonly object[]>>;

async function fill(directory: string, files: Files): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const text =
      typeof content === "string"
        ? content
        : content.map((object) => JSON.stringify(object)).join("\n---\n");
    await writeFile(join(directory, name), text);
  }
}

async function open(files: Files, plugin: RulePlugin = "ValidatingAdmissionPolicy") {
  const directory = join(root, String(counter.directories++));
  await mkdir(directory);
  await fill(directory, files);
  const told: string[] = [];
  const rules = await StaticRules.open({
    directories: new Map([[plugin, directory]]),
    naming,
    catalog,
    clock: systemClock,
    logger: silentLogger,
    metrics: {
      reloaded: (_, isGood) => told.push(isGood ? "good" : "bad"),
      configured: (_, hash) => told.push(/^sha256:[0-9a-f]{64}$/.test(hash) ? "hash" : hash),
    },
  });
  const names = (resource: string) => rules.of(resource).map(({ metadata }) => metadata.name);
  return { directory, rules, names, told };
}

const A = "a.static.k8s.io";
const B = "b.static.k8s.io";

test("all files of a directory are read, with defaults, in the order of names", async () => {
  const { rules, names } = await open({
    "2.yml": [{ apiVersion: "v1", kind: "List", items: [policy(A), binding(B, A)] }],
    "1.YAML": [policy(B), binding(A, B)],
    "ignored.txt": "nonsense",
    "empty.json": "",
    "3.yaml": "---\n# nothing\n",
  });
  assert.deepEqual(names("validatingadmissionpolicies"), [A, B]);
  assert.deepEqual(names("validatingadmissionpolicybindings"), [A, B]);
  assert.deepEqual(names("mutatingadmissionpolicies"), []);
  const [first] = rules.of("validatingadmissionpolicies");
  const { spec } = first as unknown as { spec: Record<string, unknown> };
  assert.equal(spec.failurePolicy, "Fail");
});

test("webhooks are read from a directory of their own", async () => {
  const { names } = await open(
    { "a.json": [hooks(A, { url: "https://hook.example.com/" })] },
    "ValidatingAdmissionWebhook",
  );
  assert.deepEqual(names("validatingwebhookconfigurations"), [A]);
});

test("what cannot be used keeps a server from starting, in words that name file and object", async () => {
  const text = (object: object) => JSON.stringify(object);
  const doubled = text(policy(A)).replace('"spec":', '"spec":{},"spec":');
  const table: [string | readonly object[], RegExp, RulePlugin?][] = [
    ["a: [", /error loading .*a\.yaml: /],
    ["just text", /error loading .*a\.yaml: /],
    [[{ apiVersion: "v1", kind: "Pod" }], /unsupported resource type v1, Kind=Pod for Validating/],
    [[{ ...policy(A), apiVersion: `${API}beta1` }], /unsupported resource type/],
    [[hooks(A, { url: "https://a/" })], /unsupported resource type/],
    [[policy("")], /metadata.name: Required value/],
    [[policy("a.example.com")], /object name "a.example.com" must end with ".static.k8s.io"/],
    [[policy(A), policy(A)], /duplicate object name "a.static.k8s.io", which is also in .*a.yaml/],
    [[{ ...policy(A), more: 1 }], /strict decoding error: unknown field "more"/],
    [doubled, /strict decoding error: .*spec/],
    [[policy(A, { matchConstraints: null })], /spec.matchConstraints: Required value/],
    [[policy(A, { validations: [{ expression: "1 +" }] })], /compilation failed/],
    [
      [policy(A, { paramKind: { apiVersion: "v1", kind: "ConfigMap" } })],
      /ValidatingAdmissionPolicy "a.static.k8s.io": spec.paramKind is not supported for static/,
    ],
    [[binding(A, "b")], /binding "a.static.k8s.io": spec.policyName "b" must end with ".static/],
    [
      [binding(A, B)],
      /binding "a.static.k8s.io" references policy "b.static.k8s.io" which does not/,
    ],
    [
      [policy(B), binding(A, B, { paramRef: { name: "x", parameterNotFoundAction: "Allow" } })],
      /binding "a.static.k8s.io": spec.paramRef is not supported for static manifests/,
    ],
    [
      [hooks(A, { service: { namespace: "a", name: "b" } })],
      /webhook "a.example.com" in "a.static.k8s.io": clientConfig.service is not supported/,
      "ValidatingAdmissionWebhook",
    ],
    [[hooks(A, {})], /clientConfig/, "ValidatingAdmissionWebhook"],
  ];
  for (const [content, message, plugin] of table) {
    await assert.rejects(open({ "a.yaml": content }, plugin), (error: Error) => {
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /\n/);
      return true;
    });
  }
});

test("a change is in force as a whole; what is no good leaves the last good rules, and is told once", async () => {
  const { directory, rules, names, told } = await open({ "a.yaml": [policy(A)] });
  let changes = 0;
  rules.subscribe(() => changes++);
  await rules.check();
  assert.equal(changes, 0);
  const before = rules.of("validatingadmissionpolicies");
  assert.equal(rules.of("validatingadmissionpolicies"), before);

  await fill(directory, { "b.yaml": [binding(B, B)] });
  await rules.check();
  await rules.check();
  assert.equal(rules.of("validatingadmissionpolicies"), before);

  await fill(directory, { "c.yaml": [policy(B)] });
  await rules.check();
  assert.deepEqual(names("validatingadmissionpolicies"), [A, B]);
  assert.deepEqual(names("validatingadmissionpolicybindings"), [B]);

  await rm(directory, { recursive: true });
  await rules.check();
  await rules.check();
  assert.deepEqual(names("validatingadmissionpolicies"), [A, B]);
  assert.equal(changes, 1);
  assert.deepEqual(told, ["good", "hash", "bad", "good", "hash", "bad"]);
});
