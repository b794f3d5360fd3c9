/** Rules for the kinds of the other groups: what is accepted, what is refused and how. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { changeProblems, checkProblems, problemsOf, type TestObject } from "./testing/problems.js";

const backend = { service: { name: "web", port: { number: 80 } } };
const path = { path: "/", pathType: "Prefix", backend };
const rule = (parts: object = {}, at: object = {}): TestObject => ({
  spec: { rules: [{ host: "a.example.com", http: { paths: [{ ...path, ...at }] }, ...parts }] },
});
const PATH = "spec.rules[0].http.paths[0]";

test("ingresses are taken or refused by their rules, field by field", () => {
  checkProblems("networking.k8s.io/v1/ingresses", [
    [rule()],
    [rule({ host: "*.example.com" })],
    [rule({}, { path: "", pathType: "ImplementationSpecific" })],
    [{ spec: { defaultBackend: { resource: { apiGroup: "a.b", kind: "Bucket", name: "x" } } } }],
    [{ spec: {} }, "spec: Invalid value: []: either `defaultBackend` or `rules` must be specified"],
    [
      rule({ host: "10.0.0.1" }),
      'spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
    ],
    [rule({}, { path: "a" }), `${PATH}.path: Invalid value: "a": must be an absolute path`],
    [rule({}, { path: "/a//b" }), `${PATH}.path: Invalid value: "/a//b": must not contain '//'`],
    [rule({}, { path: "/a/.." }), `${PATH}.path: Invalid value: "/a/..": cannot end with '/..'`],
    [
      rule({}, { pathType: "Regex" }),
      `${PATH}.pathType: Unsupported value: "Regex": supported values: "Exact", "ImplementationSpecific", "Prefix"`,
    ],
    [
      rule({}, { backend: {} }),
      `${PATH}.backend: Invalid value: "": resource or service backend is required`,
    ],
    [
      rule({}, { backend: { service: { name: "web" } } }),
      `${PATH}.backend: Required value: port name or number is required`,
    ],
    [
      rule({}, { backend: { service: { name: "web", port: { number: 80, name: "http" } } } }),
      `${PATH}.backend: Invalid value: "": cannot set both port name & port number`,
    ],
  ]);
});

test("network policies are taken or refused by their rules, field by field", () => {
  const policy = (ingress: object): TestObject => ({
    spec: { podSelector: {}, ingress: [ingress] },
  });
  checkProblems("networking.k8s.io/v1/networkpolicies", [
    [{ spec: { podSelector: {}, policyTypes: ["Egress"] } }],
    [policy({ from: [{ podSelector: {}, namespaceSelector: {} }], ports: [{ port: "http" }] })],
    [policy({ from: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } }] })],
    [policy({ ports: [{ port: 80, endPort: 90 }, { protocol: "UDP" }] })],
    [policy({ from: [{}] }), "spec.ingress[0].from[0]: Required value: must specify a peer"],
    [
      policy({ from: [{ podSelector: {}, ipBlock: { cidr: "10.0.0.0/8" } }] }),
      "spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer",
    ],
    [
      policy({ from: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["11.0.0.0/16"] } }] }),
      'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`',
    ],
    [
      policy({ from: [{ ipBlock: { cidr: "10.0.0.0" } }] }),
      'spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
    [
      policy({ ports: [{ port: 80, endPort: 79 }] }),
      "spec.ingress[0].ports[0].endPort: Invalid value: 79: must be greater than or equal to `port`",
    ],
    [
      policy({ ports: [{ port: "http", endPort: 79 }] }),
      "spec.ingress[0].ports[0].endPort: Invalid value: 79: may not be specified when `port` is non-numeric",
    ],
  ]);
});

test("ingress classes, addresses and blocks are taken or refused by their rules, field by field", () => {
  const group = "networking.k8s.io/v1";
  const withScope = (parameters: object): TestObject => ({
    spec: { controller: "a.b/c", parameters: { kind: "K", name: "n", ...parameters } },
  });
  checkProblems(`${group}/ingressclasses`, [
    [{ spec: { controller: "example.com/ingress" } }],
    [withScope({ scope: "Namespace", namespace: "default" })],
    [{ spec: {} }, "spec.controller: Required value"],
    [
      { spec: { controller: "ingress" } },
      'spec.controller: Invalid value: "ingress": must be a domain-prefixed path (such as "acme.io/foo")',
    ],
    [
      withScope({ scope: "Namespace" }),
      "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
    ],
    [
      withScope({ scope: "Cluster", namespace: "a" }),
      "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'",
    ],
  ]);
  const controller = (name: string) => ({ spec: { controller: name } });
  assert.deepEqual(
    changeProblems(`${group}/ingressclasses`, controller("a.b/c"), controller("a.b/d")),
    ['spec.controller: Invalid value: "a.b/d": field is immutable'],
  );
  checkProblems(`${group}/servicecidrs`, [
    [{ spec: { cidrs: ["10.0.0.0/24", "fd00::/112"] } }],
    [{ spec: {} }, "spec.cidrs: Required value: at least one CIDR required"],
  ]);
});

const api = { apiGroups: [""], resources: ["pods"], verbs: ["get"] };
const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };

test("roles and bindings are taken or refused by their rules, field by field", () => {
  const group = "rbac.authorization.k8s.io/v1";
  checkProblems(`${group}/roles`, [
    [{ rules: [api] }],
    [{ rules: null }],
    [{ rules: [{ ...api, verbs: [] }] }, "rules[0].verbs: Required value"],
    [
      { rules: [{ ...api, apiGroups: [] }] },
      "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
    ],
    [
      { rules: [{ nonResourceURLs: ["/x"], verbs: ["get"] }] },
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
    ],
  ]);
  checkProblems(`${group}/clusterroles`, [
    [{ rules: [{ nonResourceURLs: ["/x"], verbs: ["get"] }] }],
    [{ aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] } }],
    [
      { rules: [{ ...api, nonResourceURLs: ["/x"] }] },
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
    ],
  ]);
  checkProblems(`${group}/rolebindings`, [
    [{ roleRef, subjects: [{ kind: "ServiceAccount", name: "web" }] }],
    [{ roleRef: { kind: "Role", name: "x:y" } }],
    [
      { roleRef: { ...roleRef, kind: "Thing" } },
      'roleRef.kind: Unsupported value: "Thing": supported values: "Role", "ClusterRole"',
    ],
    [
      { roleRef, subjects: [{ kind: "User", name: "ann", apiGroup: "other" }] },
      'subjects[0].apiGroup: Unsupported value: "other": supported values: "rbac.authorization.k8s.io"',
    ],
  ]);
  checkProblems(`${group}/clusterrolebindings`, [
    [
      { roleRef, subjects: [{ kind: "ServiceAccount", name: "web" }] },
      "subjects[0].namespace: Required value",
    ],
  ]);
  const other = { roleRef: { ...roleRef, name: "edit" } };
  assert.deepEqual(changeProblems(`${group}/rolebindings`, { roleRef }, other), [
    'roleRef: Invalid value: {"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"edit"}: cannot change roleRef',
  ]);
});

test("disruption budgets are taken or refused by their rules, field by field", () => {
  const selector = { matchLabels: { app: "web" } };
  checkProblems("policy/v1/poddisruptionbudgets", [
    [{ spec: { minAvailable: "50%", selector } }],
    [{ spec: { maxUnavailable: 0, selector } }],
    [
      { spec: { minAvailable: 1, maxUnavailable: 1 } },
      'spec: Invalid value: {"minAvailable":1,"maxUnavailable":1}: minAvailable and maxUnavailable cannot be both set',
    ],
    [
      { spec: { minAvailable: "101%" } },
      'spec.minAvailable: Invalid value: "101%": must not be greater than 100%',
    ],
  ]);
});

test("autoscalers of both versions are taken or refused by their rules, field by field", () => {
  const target = { kind: "Deployment", name: "web", apiVersion: "apps/v1" };
  const scaled = (parts: object): TestObject => ({
    spec: { scaleTargetRef: target, maxReplicas: 3, ...parts },
  });
  const cpu = (parts: object) => ({ type: "Resource", resource: { name: "cpu", target: parts } });
  checkProblems("autoscaling/v2/horizontalpodautoscalers", [
    [scaled({})],
    [scaled({ metrics: [cpu({ type: "Utilization", averageUtilization: 80 })] })],
    [scaled({ behavior: { scaleDown: { stabilizationWindowSeconds: 0 } } })],
    [
      scaled({ maxReplicas: 0 }),
      "spec.maxReplicas: Invalid value: 0: must be greater than 0",
      "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
    ],
    [
      scaled({ minReplicas: 4 }),
      "spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`",
    ],
    [
      scaled({ minReplicas: 0 }),
      "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
      "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
    ],
    [
      scaled({ metrics: [{ type: "Resource" }] }),
      "spec.metrics[0].resource: Required value: must populate information for the given metric source",
    ],
    [
      scaled({ metrics: [cpu({ type: "Utilization" })] }),
      "spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization",
    ],
    [
      scaled({
        behavior: { scaleUp: { policies: [{ type: "Pods", value: 0, periodSeconds: 2000 }] } },
      }),
      "spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero",
      "spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 2000: must be less than or equal to 1800",
    ],
  ]);
  checkProblems("autoscaling/v1/horizontalpodautoscalers", [
    [scaled({ targetCPUUtilizationPercentage: 50 })],
    [
      scaled({ minReplicas: 5 }),
      "spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`",
    ],
  ]);
});

test("storage classes, drivers and attachments are taken or refused by their rules, field by field", () => {
  const group = "storage.k8s.io/v1";
  checkProblems(`${group}/storageclasses`, [
    [{ provisioner: "example.com/Disk", parameters: { a: "b" }, reclaimPolicy: "Retain" }],
    [
      { provisioner: "a/b/c" },
      "provisioner: Invalid value: \"a/b/c\": a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
    ],
    [
      { provisioner: "a.b/c", reclaimPolicy: "Recycle" },
      'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
    ],
  ]);
  const a = { provisioner: "a.b/c" };
  const b = {
    provisioner: "a.b/d",
    parameters: { x: "y" },
    volumeBindingMode: "WaitForFirstConsumer",
  };
  assert.deepEqual(changeProblems(`${group}/storageclasses`, a, b), [
    "parameters: Forbidden: updates to parameters are forbidden.",
    "provisioner: Forbidden: updates to provisioner are forbidden.",
    'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable',
  ]);
  checkProblems(`${group}/csidrivers`, [
    [{ metadata: { name: "csi.example.com" }, spec: { volumeLifecycleModes: ["Ephemeral"] } }],
    [
      { spec: { fsGroupPolicy: "Some" } },
      'spec.fsGroupPolicy: Unsupported value: "Some": supported values: "File", "None", "ReadWriteOnceWithFSType"',
    ],
  ]);
  checkProblems(`${group}/volumeattachments`, [
    [
      { spec: { attacher: "a.b", nodeName: "n", source: {} } },
      "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName",
    ],
  ]);
});

test("endpoint slices are taken or refused by their rules, field by field", () => {
  const slice = (parts: object): TestObject => ({ addressType: "IPv4", endpoints: [], ...parts });
  checkProblems("discovery.k8s.io/v1/endpointslices", [
    [slice({ endpoints: [{ addresses: ["192.0.2.1"], hostname: "a" }], ports: [{ port: 80 }] })],
    [slice({ addressType: "FQDN", endpoints: [{ addresses: ["a.example.com"] }] })],
    [
      slice({ endpoints: [{ addresses: ["fd00::1"] }] }),
      'endpoints[0].addresses[0]: Invalid value: "fd00::1": must be a valid IPv4 address',
    ],
    [slice({ endpoints: [{ addresses: [] }] }), "endpoints[0].addresses: Required value"],
    [
      slice({ endpoints: Array.from({ length: 1001 }, () => ({ addresses: ["192.0.2.1"] })) }),
      "endpoints: Too many: 1001: must have at most 1000 items",
    ],
    [slice({ ports: [{ port: 1 }, { port: 2 }] }), 'ports[1].name: Duplicate value: ""'],
  ]);
  assert.deepEqual(
    changeProblems("discovery.k8s.io/v1/endpointslices", slice({}), slice({ addressType: "IPv6" })),
    ['addressType: Invalid value: "IPv6": field is immutable'],
  );
});

test("leases, priorities and runtimes are taken or refused by their rules, field by field", () => {
  checkProblems("coordination.k8s.io/v1/leases", [
    [{ spec: { leaseDurationSeconds: 15 } }],
    [
      { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } },
      "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
      "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    ],
  ]);
  checkProblems("scheduling.k8s.io/v1/priorityclasses", [
    [{ value: 1_000_000_000 }],
    [{ metadata: { name: "system-node-critical" }, value: 2_000_001_000 }],
    [
      { value: 1_000_000_001 },
      "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
    ],
    [
      { metadata: { name: "system-mine" }, value: 1 },
      "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-mine is not a known system priority class",
    ],
  ]);
  assert.deepEqual(
    changeProblems("scheduling.k8s.io/v1/priorityclasses", { value: 1 }, { value: 2 }),
    ["value: Forbidden: may not be changed in an update."],
  );
  const handler = (name: string) => ({ handler: name });
  assert.deepEqual(changeProblems("node.k8s.io/v1/runtimeclasses", handler("a"), handler("b")), [
    'handler: Invalid value: "b": field is immutable',
  ]);
  assert.equal(problemsOf("node.k8s.io/v1/runtimeclasses", handler("A")).length, 1);
});

const request = readFileSync(
  new URL("../../../e2e/fixtures/request.csr.pem", import.meta.url),
).toString("base64");

test("certificate requests are taken or refused by their rules, field by field", () => {
  const csr = (parts: object): TestObject => ({
    spec: { request, signerName: "a.b/c", usages: ["client auth"], ...parts },
  });
  checkProblems("certificates.k8s.io/v1/certificatesigningrequests", [
    [csr({ expirationSeconds: 600 })],
    [
      csr({ request: Buffer.from("no").toString("base64") }),
      'spec.request: Invalid value: "bm8=": PEM block type must be CERTIFICATE REQUEST',
    ],
    [csr({ usages: [] }), "spec.usages: Required value: usages must be provided"],
    [
      csr({ signerName: "signer" }),
      "spec.signerName: Invalid value: \"signer\": must be a fully qualified domain and path of the form 'example.com/signer-name'",
    ],
    [
      csr({ expirationSeconds: 599 }),
      "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)",
    ],
  ]);
});

test("events of both groups are taken or refused by their rules, field by field", () => {
  const about = (namespace: string) => ({ kind: "Pod", name: "p", namespace });
  checkProblems("v1/events", [
    [{ involvedObject: about("default") }],
    [{ involvedObject: { kind: "Node", name: "n" } }],
    [
      { involvedObject: about("other") },
      'involvedObject.namespace: Invalid value: "other": does not match event.namespace',
    ],
  ]);
  const now = "2030-01-02T03:04:05.000001Z";
  const full = {
    reportingController: "a.b/c",
    reportingInstance: "i",
    action: "A",
    reason: "R",
    type: "Normal",
  };
  checkProblems("events.k8s.io/v1/events", [
    [{ eventTime: now, regarding: about("default"), ...full }],
    [
      { eventTime: now, regarding: about("default"), ...full, action: "" },
      "action: Required value",
    ],
  ]);
});

test("webhook configurations are taken or refused by their rules, field by field", () => {
  const hook = {
    name: "a.example.com",
    clientConfig: { url: "https://hooks.example.com/a" },
    rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }],
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
  };
  const [first] = hook.rules;
  const hooks = (parts: object): TestObject => ({ webhooks: [{ ...hook, ...parts }] });
  const at = "webhooks[0]";
  checkProblems("admissionregistration.k8s.io/v1/validatingwebhookconfigurations", [
    [hooks({})],
    [hooks({ clientConfig: { service: { namespace: "a", name: "b", path: "/x" } } })],
    [
      hooks({ name: "short" }),
      `${at}.name: Invalid value: "short": should be a domain with at least three segments separated by dots`,
    ],
    [
      hooks({ clientConfig: {} }),
      `${at}.clientConfig: Required value: exactly one of url or service is required`,
    ],
    [
      hooks({ clientConfig: { url: "http://a/b" } }),
      `${at}.clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]`,
    ],
    [
      hooks({ sideEffects: "Some" }),
      `${at}.sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"`,
    ],
    [
      hooks({ timeoutSeconds: 31 }),
      `${at}.timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds`,
    ],
    [
      hooks({ admissionReviewVersions: ["v2"] }),
      `${at}.admissionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1`,
    ],
    [
      hooks({ rules: [{ ...first, operations: ["*", "CREATE"] }] }),
      `${at}.rules[0].operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations`,
    ],
    [
      hooks({ rules: [{ ...first, resources: ["pods/*", "pods/log"] }] }),
      `${at}.rules[0].resources[1]: Invalid value: "pods/log": if 'pods/*' is present, must not specify pods/log`,
    ],
    [{ webhooks: [hook, hook] }, 'webhooks[1].name: Duplicate value: "a.example.com"'],
  ]);
});

test("definitions of types and of group-versions are taken or refused by their rules, field by field", () => {
  const version = {
    name: "v1",
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: "object" } },
  };
  const definition = (spec: object = {}): TestObject => ({
    metadata: { name: "things.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "things", kind: "Thing" },
      versions: [version],
      ...spec,
    },
  });
  checkProblems("apiextensions.k8s.io/v1/customresourcedefinitions", [
    [definition()],
    [
      definition({ group: "example" }),
      'metadata.name: Invalid value: "things.example.com": must be spec.names.plural+"."+spec.group',
      'spec.group: Invalid value: "example": should be a domain with at least one dot',
    ],
    [
      definition({ scope: "Wide" }),
      'spec.scope: Unsupported value: "Wide": supported values: "Cluster", "Namespaced"',
    ],
    [
      definition({ versions: [{ ...version, schema: null }] }),
      "spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required",
    ],
  ]);
  const two = [version, { ...version, name: "v2" }];
  const [problem = ""] = problemsOf(
    "apiextensions.k8s.io/v1/customresourcedefinitions",
    definition({ versions: two }),
  );
  assert.match(problem, /must have exactly one version marked as storage version$/);
  const spec = { group: "a.b", version: "v1", groupPriorityMinimum: 1, versionPriority: 1 };
  checkProblems("apiregistration.k8s.io/v1/apiservices", [
    [{ metadata: { name: "v1.a.b" }, spec }],
    [
      { metadata: { name: "v1.a" }, spec },
      'metadata.name: Invalid value: "v1.a": must be `spec.version+"."+spec.group`',
    ],
    [
      { metadata: { name: "v1.a.b" }, spec: { ...spec, versionPriority: 0 } },
      "spec.versionPriority: Invalid value: 0: must be positive and less than 1000",
    ],
    [
      { metadata: { name: "v1.a.b" }, spec: { ...spec, service: { name: "x" } } },
      "spec.service.namespace: Required value",
    ],
  ]);
});
