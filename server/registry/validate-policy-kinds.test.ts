/** Rules of kinds that say who may, how many and for how long: what they are refused for. */
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { checkProblems } from "./testing/problems.js";

const RBAC = "rbac.authorization.k8s.io";
const roleRef = { apiGroup: RBAC, kind: "ClusterRole", name: "view" };
const target = { kind: "Deployment", name: "web", apiVersion: "apps/v1" };
const scaled = (parts: object) => ({ spec: { scaleTargetRef: target, maxReplicas: 3, ...parts } });
const measured = (metric: object) => scaled({ metrics: [metric] });
const to = (parts: object) => ({ type: "Value", ...parts });
const request = readFileSync(
  new URL("../../../e2e/fixtures/request.csr.pem", import.meta.url),
).toString("base64");
const signing = (parts: object) => ({
  spec: { request, signerName: "a.b/c", usages: ["client auth"], ...parts },
});
const about = { kind: "Pod", name: "p", namespace: "default" };
const happened = (parts: object) => ({
  eventTime: "2030-01-02T03:04:05.000001Z",
  regarding: about,
  reportingController: "a.b/c",
  reportingInstance: "i",
  action: "A",
  reason: "R",
  type: "Normal",
  ...parts,
});

test("roles that break a rule are refused, field by field", () => {
  checkProblems("rbac.authorization.k8s.io/v1/roles", [
    [
      { rules: [{ verbs: ["get"], apiGroups: [""] }] },
      "rules[0].resources: Required value: resource rules must supply at least one resource",
    ],
    [
      { rules: [{ verbs: ["get"], resources: ["pods"] }] },
      "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
    ],
  ]);
});

test("cluster roles that break a rule are refused, field by field", () => {
  checkProblems("rbac.authorization.k8s.io/v1/clusterroles", [
    [
      { aggregationRule: {} },
      "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil",
    ],
    [
      { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { "a b": "c" } }] } },
      "aggregationRule.clusterRoleSelectors[0].matchLabels: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
    [{ rules: [{ nonResourceURLs: ["/x"] }] }, "rules[0].verbs: Required value"],
    [{ metadata: { name: "a%b" } }, "metadata.name: Invalid value: \"a%b\": may not contain '%'"],
    [{ metadata: { name: ".." } }, "metadata.name: Invalid value: \"..\": may not be '..'"],
    [
      { metadata: { name: "a\u0000" } },
      'metadata.name: Invalid value: "a\\u0000": may not contain control characters',
    ],
  ]);
});

test("role bindings that break a rule are refused, field by field", () => {
  checkProblems("rbac.authorization.k8s.io/v1/rolebindings", [
    [
      { roleRef: { ...roleRef, apiGroup: "b" } },
      'roleRef.apiGroup: Unsupported value: "b": supported values: "rbac.authorization.k8s.io"',
    ],
    [{ roleRef: { ...roleRef, name: "" } }, "roleRef.name: Required value"],
    [
      { roleRef: { ...roleRef, name: "a/b" } },
      "roleRef.name: Invalid value: \"a/b\": may not contain '/'",
    ],
    [{}, "roleRef.kind: Required value", "roleRef.name: Required value"],
    [
      { roleRef, subjects: [{ kind: "ServiceAccount", name: "A", apiGroup: RBAC }] },
      "subjects[0].name: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      'subjects[0].apiGroup: Unsupported value: "rbac.authorization.k8s.io": supported values: ""',
    ],
    [
      { roleRef, subjects: [{ kind: "Robot", name: "a" }, { kind: "Group" }] },
      "subjects[1].name: Required value",
      'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
    ],
  ]);
});

test("cluster role bindings that break a rule are refused, field by field", () => {
  checkProblems("rbac.authorization.k8s.io/v1/clusterrolebindings", [
    [
      { roleRef: { ...roleRef, kind: "Role" } },
      'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
    ],
  ]);
});

test("disruption budgets that break a rule are refused, field by field", () => {
  checkProblems("policy/v1/poddisruptionbudgets", [
    [{ spec: {} }],
    [
      { spec: { minAvailable: -1 } },
      "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0",
    ],
    [
      { spec: { maxUnavailable: "x%" } },
      "spec.maxUnavailable: Invalid value: \"x%\": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
    ],
    [
      { spec: { minAvailable: 1, unhealthyPodEvictionPolicy: "Sometimes" } },
      'spec.unhealthyPodEvictionPolicy: Unsupported value: "Sometimes": supported values: "AlwaysAllow", "IfHealthyBudget"',
    ],
    [
      {
        spec: { selector: { matchExpressions: [{ key: "a", operator: "Exists", values: ["b"] }] } },
      },
      "spec.selector.matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    ],
  ]);
});

test("autoscalers that break a rule are refused, field by field", () => {
  checkProblems("autoscaling/v2/horizontalpodautoscalers", [
    [
      scaled({ minReplicas: -1 }),
      "spec.minReplicas: Invalid value: -1: must be greater than or equal to 1",
    ],
    [
      scaled({ scaleTargetRef: { kind: "a/b", name: "" } }),
      "spec.scaleTargetRef.name: Required value",
      "spec.scaleTargetRef.kind: Invalid value: \"a/b\": may not contain '/'",
    ],
    [
      measured({ type: "Disk" }),
      'spec.metrics[0].type: Unsupported value: "Disk": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
    ],
    [
      measured({ type: "Pods", pods: { metric: { name: "a/b" }, target: to({}) } }),
      "spec.metrics[0].pods.metric.name: Invalid value: \"a/b\": may not contain '/'",
      "spec.metrics[0].pods.target.averageValue: Required value: must specify a positive target averageValue",
    ],
    [
      measured({
        type: "Pods",
        pods: { metric: { name: "m" }, target: to({ averageValue: "0" }) },
      }),
      'spec.metrics[0].pods.target.averageValue: Invalid value: "0": must be positive',
    ],
    [
      measured({
        type: "Object",
        object: {
          describedObject: { kind: "K", name: "n" },
          metric: { name: "m" },
          target: to({}),
        },
      }),
      "spec.metrics[0].object.target.averageValue: Required value: must set either a target value for metric or a per-pod target",
    ],
    [
      measured({
        type: "External",
        external: { metric: { name: "m" }, target: to({ value: "1", averageValue: "2" }) },
      }),
      "spec.metrics[0].external.target.value: Forbidden: may not set both a target value for metric and a per-pod target",
    ],
    [
      measured({
        type: "Resource",
        resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 0 } },
      }),
      "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
    ],
    [
      measured({
        type: "Resource",
        resource: {
          name: "cpu",
          target: { type: "Utilization", averageUtilization: 50, averageValue: "1" },
        },
        pods: { metric: { name: "m" }, target: to({ averageValue: "1" }) },
      }),
      "spec.metrics[0].resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization",
      "spec.metrics[0].pods: Forbidden: must populate the given metric source only",
    ],
    [
      measured({
        type: "ContainerResource",
        containerResource: {
          name: "cpu",
          container: "",
          target: { type: "Other", averageUtilization: 50 },
        },
      }),
      "spec.metrics[0].containerResource.container: Required value",
      'spec.metrics[0].containerResource.target.type: Invalid value: "Other": must be either Utilization, Value, or AverageValue',
    ],
    [
      scaled({
        behavior: {
          scaleDown: {
            selectPolicy: "Some",
            stabilizationWindowSeconds: 3601,
            policies: [{ type: "Pods", value: 1, periodSeconds: 0 }],
          },
        },
      }),
      "spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600",
      'spec.behavior.scaleDown.selectPolicy: Unsupported value: "Some": supported values: "Disabled", "Max", "Min"',
      "spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 0: must be greater than zero",
    ],
    [
      scaled({ behavior: { scaleUp: { stabilizationWindowSeconds: -1, policies: [] } } }),
      "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to 0",
    ],
    [
      scaled({
        behavior: { scaleUp: { policies: [{ type: "Nodes", value: 1, periodSeconds: 15 }] } },
      }),
      'spec.behavior.scaleUp.policies[0].type: Unsupported value: "Nodes": supported values: "Percent", "Pods"',
    ],
  ]);
});

test("leases that break a rule are refused, field by field", () => {
  checkProblems("coordination.k8s.io/v1/leases", [
    [
      { spec: { strategy: "" } },
      'spec.strategy: Unsupported value: "": supported values: "OldestEmulationVersion"',
    ],
    [
      { spec: { strategy: "Mine" } },
      'spec.strategy: Unsupported value: "Mine": supported values: "OldestEmulationVersion"',
    ],
    [
      { spec: { strategy: "a.b/c d" } },
      "spec.strategy: Invalid value: \"a.b/c d\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
    [
      { spec: { preferredHolder: "me" } },
      "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined",
    ],
    [
      { spec: { leaseDurationSeconds: -1 } },
      "spec.leaseDurationSeconds: Invalid value: -1: must be greater than 0",
    ],
  ]);
});

test("lease candidates that break a rule are refused, field by field", () => {
  checkProblems("coordination.k8s.io/v1beta1/leasecandidates", [
    [
      { spec: {} },
      "spec.leaseName: Required value",
      "spec.binaryVersion: Required value",
      "spec.strategy: Required value",
    ],
    [
      {
        spec: {
          leaseName: "a",
          binaryVersion: "x",
          emulationVersion: "1",
          strategy: "OldestEmulationVersion",
        },
      },
      'spec.emulationVersion: Invalid value: "1": must be a valid semantic version',
      'spec.binaryVersion: Invalid value: "x": must be a valid semantic version',
    ],
    [
      { spec: { leaseName: "a", binaryVersion: "1.2.3", strategy: "OldestEmulationVersion" } },
      "spec.emulationVersion: Required value: must be specified when `strategy` is 'OldestEmulationVersion'",
    ],
  ]);
});

test("priority classes that break a rule are refused, field by field", () => {
  checkProblems("scheduling.k8s.io/v1/priorityclasses", [
    [
      { metadata: { name: "system-node-critical" }, value: 5 },
      "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: value of system-node-critical PriorityClass must be 2000001000",
    ],
    [
      { value: 1, preemptionPolicy: "Always" },
      'preemptionPolicy: Unsupported value: "Always": supported values: "Never", "PreemptLowerPriority"',
    ],
  ]);
});

test("runtime classes that break a rule are refused, field by field", () => {
  checkProblems("node.k8s.io/v1/runtimeclasses", [
    [{}, "handler: Required value"],
    [
      { handler: "a", overhead: { podFixed: { "a b": "1", cpu: "-1" } } },
      "overhead.podFixed.limits[a b]: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      'overhead.podFixed.limits[a b]: Invalid value: "a b": must be a standard resource for containers',
      'overhead.podFixed.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
    ],
    [
      {
        handler: "a",
        scheduling: {
          nodeSelector: { "a b": "c" },
          tolerations: [{ operator: "Exists", key: "a", value: "b" }],
        },
      },
      "scheduling.nodeSelector: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      "scheduling.tolerations[0].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'",
    ],
  ]);
});

test("certificate requests that break a rule are refused, field by field", () => {
  checkProblems("certificates.k8s.io/v1/certificatesigningrequests", [
    [
      signing({ usages: ["client auth", "client auth"] }),
      'spec.usages[1]: Duplicate value: "client auth"',
    ],
    [
      signing({ usages: ["flying"] }),
      'spec.usages[0]: Unsupported value: "flying": supported values: "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment", "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping"',
    ],
    [
      signing({ signerName: "A/b" }),
      "spec.signerName: Invalid value: \"A\": validating label \"A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      'spec.signerName: Invalid value: "A": should be a domain with at least two segments separated by dots',
    ],
    [
      signing({ signerName: "host/x" }),
      'spec.signerName: Invalid value: "host": should be a domain with at least two segments separated by dots',
    ],
    [
      signing({ signerName: "a.b/" }),
      "spec.signerName: Invalid value: \"\": must be a path of letters, digits, '-' and '.'",
    ],
    [signing({ signerName: "" }), "spec.signerName: Required value"],
    [signing({ request: "" }), "spec.request: Required value"],
  ]);
});

test("events of the old group that break a rule are refused, field by field", () => {
  checkProblems("v1/events", [
    [
      { metadata: { namespace: "shop" }, involvedObject: { kind: "Node", name: "n" } },
      'involvedObject.namespace: Invalid value: "": does not match event.namespace',
    ],
  ]);
});

test("events: what the newer group asks for besides", () => {
  checkProblems("events.k8s.io/v1/events", [
    [happened({ eventTime: null }), "eventTime: Required value"],
    [happened({ type: "Odd" }), 'type: Invalid value: "": has invalid value: Odd'],
    [
      happened({ deprecatedFirstTimestamp: "2030-01-02T03:04:05Z", deprecatedCount: 2 }),
      'firstTimestamp: Invalid value: "": needs to be unset',
      'count: Invalid value: "": needs to be unset',
    ],
    [
      happened({ series: { count: 1, lastObservedTime: null } }),
      'series.count: Invalid value: "": should be at least 2',
      "series.lastObservedTime: Required value",
    ],
  ]);
});

test("events of the new group that break a rule are refused, field by field", () => {
  checkProblems("events.k8s.io/v1/events", [
    [
      happened({
        reportingController: "",
        reportingInstance: "a".repeat(129),
        reason: "a".repeat(129),
      }),
      "reportingController: Required value",
      'reportingInstance: Invalid value: "": can have at most 128 characters',
      'reason: Invalid value: "": can have at most 128 characters',
    ],
    [
      happened({ note: "a".repeat(1025) }),
      'message: Invalid value: "": can have at most 1024 characters',
    ],
    [
      { ...happened({ regarding: { kind: "Node", name: "n" } }), metadata: { namespace: "shop" } },
      'involvedObject.namespace: Invalid value: "": does not match event.namespace',
    ],
    [
      happened({ reportingController: "a b" }),
      "reportingController: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
  ]);
});
