import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming, DEFAULT_VENDOR } from "../api/naming.js";
import { parseRequestInfo } from "../request/request-info.js";
import { createUser } from "../request/user-info.js";
import { ruleFor } from "./evaluate-policy.js";
import { AuditPolicyError, parseAuditPolicy, RECORD_ALL } from "./policy.js";

const naming = createNaming(DEFAULT_VENDOR);
const HEAD = `apiVersion: audit.${naming.groupDomain}/v1\nkind: Policy\n`;

/** In the shape of the example of kube-apiserver's documentation. */
const EXAMPLE = `${HEAD}omitStages: [RequestReceived]
rules:
  - level: RequestResponse
    resources: [{group: "", resources: ["pods"]}]
  - level: Metadata
    resources: [{group: "", resources: ["pods/log", "pods/status"]}]
  - level: None
    resources: [{group: "", resources: ["configmaps"], resourceNames: ["controller-leader"]}]
  - level: None
    users: ["system:kube-proxy"]
    verbs: ["watch"]
    resources: [{group: "", resources: ["endpoints", "services"]}]
  - level: None
    userGroups: ["system:authenticated"]
    nonResourceURLs: ["/api*", "/version"]
  - level: Request
    resources: [{group: "", resources: ["configmaps"]}]
    namespaces: ["kube-system"]
  - level: Metadata
    resources: [{group: "", resources: ["secrets", "configmaps"]}]
  - level: Request
    resources: [{group: ""}, {group: "extensions"}]
  - level: Metadata
    omitStages: [ResponseStarted]
    omitManagedFields: true
`;

test("the first rule that matches says how a request is recorded", () => {
  const policy = parseAuditPolicy(EXAMPLE, naming);
  const jane = createUser({ name: "jane", groups: ["system:authenticated"] });
  const proxy = createUser({ name: "system:kube-proxy", groups: ["system:authenticated"] });
  const level = (user: typeof jane | undefined, method: string, path: string) =>
    ruleFor(policy, user, parseRequestInfo(method, path))?.level ?? "None";

  const core = "/api/v1/namespaces/shop";
  assert.deepEqual(
    [
      level(jane, "POST", `${core}/pods`),
      level(jane, "GET", `${core}/pods/web/log`),
      level(jane, "GET", `${core}/configmaps/controller-leader`),
      level(jane, "GET", `${core}/configmaps/other`),
      level(jane, "GET", "/api/v1/namespaces/kube-system/configmaps/other"),
      level(proxy, "GET", "/api/v1/services?watch=1"),
      level(jane, "GET", "/api/v1/services?watch=1"),
      level(jane, "GET", "/apis"),
      level(jane, "GET", "/version"),
      level(undefined, "GET", "/version"),
      level(jane, "GET", "/apis/apps/v1/deployments"),
    ],
    [
      ...["RequestResponse", "Metadata", "None", "Metadata", "Request", "None", "Request"],
      ...["None", "None", "Metadata", "Metadata"],
    ],
  );
});

/** In the shape of the one that the same documentation names as what a provider runs with. */
const PROVIDER = `${HEAD}rules:
  - {level: None, users: ["system:kube-proxy"], verbs: [watch], resources: [{group: "", resources: [endpoints, services, services/status]}]}
  - {level: None, userGroups: ["system:nodes"], verbs: [get], resources: [{group: "", resources: [nodes, nodes/status]}]}
  - level: None
    users: ["system:kube-controller-manager", "system:serviceaccount:kube-system:endpoint-controller"]
    verbs: [get, update]
    namespaces: [kube-system]
    resources: [{group: "", resources: [endpoints]}]
  - {level: None, users: ["system:kube-controller-manager"], verbs: [get, list], resources: [{group: metrics.${naming.groupDomain}}]}
  - {level: None, nonResourceURLs: ["/healthz*", /version, "/swagger*"]}
  - {level: None, resources: [{group: "", resources: [events]}]}
  - level: Request
    userGroups: ["system:nodes"]
    verbs: [update, patch]
    resources: [{group: "", resources: [nodes/status, pods/status]}]
    omitStages: [RequestReceived]
  - level: Request
    users: ["system:serviceaccount:kube-system:namespace-controller"]
    verbs: [deletecollection]
    omitStages: [RequestReceived]
  - level: Metadata
    resources:
      - {group: "", resources: [secrets, configmaps, serviceaccounts/token]}
      - {group: authentication.${naming.groupDomain}, resources: [tokenreviews]}
    omitStages: [RequestReceived]
  - {level: Request, verbs: [get, list, watch], resources: [{group: ""}, {group: apps}], omitStages: [RequestReceived]}
  - {level: RequestResponse, resources: [{group: ""}, {group: apps}], omitStages: [RequestReceived]}
  - {level: Metadata, omitStages: [RequestReceived]}
`;

test("S2-REQ-09: the documentation's smallest policy records everything, and its provider's what that means to", () => {
  const user = (name: string, ...groups: string[]) => createUser({ name, groups });
  const node = user("system:node:a", "system:nodes");
  const manager = user("system:kube-controller-manager");
  const namespaces = user("system:serviceaccount:kube-system:namespace-controller");
  const jane = user("jane");
  const core = "/api/v1/namespaces/shop";
  const cases: readonly [who: typeof jane, method: string, path: string, level: string][] = [
    [user("system:kube-proxy"), "GET", "/api/v1/services?watch=1", "None"],
    [user("system:kube-proxy"), "GET", "/api/v1/services", "Request"],
    [node, "GET", "/api/v1/nodes/a", "None"],
    [node, "PATCH", "/api/v1/nodes/a/status", "Request"],
    [node, "PATCH", "/api/v1/nodes/a", "RequestResponse"],
    [manager, "GET", "/api/v1/namespaces/kube-system/endpoints/x", "None"],
    [manager, "GET", `${core}/endpoints/x`, "Request"],
    [manager, "GET", `/apis/metrics.${naming.groupDomain}/v1beta1/nodes`, "None"],
    [jane, "GET", "/healthz/etcd", "None"],
    [jane, "POST", `${core}/events`, "None"],
    [namespaces, "DELETE", `${core}/pods`, "Request"],
    [jane, "DELETE", `${core}/pods`, "RequestResponse"],
    [jane, "GET", `${core}/secrets/a`, "Metadata"],
    [jane, "POST", `${core}/serviceaccounts/a/token`, "Metadata"],
    [jane, "POST", `/apis/authentication.${naming.groupDomain}/v1/tokenreviews`, "Metadata"],
    [jane, "GET", "/apis/apps/v1/deployments", "Request"],
    [jane, "POST", "/apis/apps/v1/namespaces/shop/deployments", "RequestResponse"],
    [jane, "GET", "/apis/batch/v1/jobs", "Metadata"],
  ];
  const smallest = parseAuditPolicy(`${HEAD}rules:\n- level: Metadata\n`, naming);
  const provider = parseAuditPolicy(PROVIDER, naming);
  for (const [who, method, path, level] of cases) {
    const info = parseRequestInfo(method, path);
    assert.equal(ruleFor(provider, who, info)?.level ?? "None", level, `${who.name} ${path}`);
    assert.equal(ruleFor(smallest, who, info)?.level, "Metadata");
  }
});

test("stages and managed fields of the whole policy hold for each rule, which may leave out more", () => {
  const { rules } = parseAuditPolicy(EXAMPLE, naming);
  const last = rules.at(-1);

  assert.deepEqual([...(rules[0]?.omitStages ?? [])], ["RequestReceived"]);
  assert.deepEqual([...(last?.omitStages ?? [])], ["RequestReceived", "ResponseStarted"]);
  assert.deepEqual([rules[0]?.omitManagedFields, last?.omitManagedFields], [false, true]);
});

const WILDCARDS: readonly [resources: string, path: string, matches: boolean][] = [
  ["*", "pods/web/exec", true],
  ["pods/*", "pods/web/log", true],
  ["pods/*", "pods/web", true],
  ["*/scale", "replicationcontrollers/a/scale", true],
  ["*/scale", "replicationcontrollers/a", false],
  ["pods", "pods/web/log", false],
];
for (const [resources, path, matches] of WILDCARDS) {
  test(`resources "${resources}" ${matches ? "mean" : "do not mean"} ${path}`, () => {
    const text = `${HEAD}rules: [{level: Metadata, resources: [{group: "", resources: ["${resources}"]}]}]`;
    const policy = parseAuditPolicy(text, naming);
    const info = parseRequestInfo("GET", `/api/v1/namespaces/shop/${path}`);

    assert.equal(ruleFor(policy, undefined, info) !== undefined, matches);
  });
}

test('A21: the group "*" means the resources of every group', () => {
  const resources = '[{group: "*", resources: ["configmaps", "deployments"]}]';
  const policy = parseAuditPolicy(
    `${HEAD}rules: [{level: Request, resources: ${resources}}]`,
    naming,
  );
  const matches = (path: string) =>
    ruleFor(policy, undefined, parseRequestInfo("GET", path)) !== undefined;
  assert.deepEqual(
    [
      matches("/api/v1/namespaces/shop/configmaps"),
      matches("/apis/apps/v1/deployments"),
      matches("/api/v1/namespaces/shop/secrets"),
      matches("/version"),
    ],
    [true, true, false, false],
  );
});

test('a namespace of "" means resources without one', () => {
  const policy = parseAuditPolicy(`${HEAD}rules: [{level: Metadata, namespaces: [""]}]`, naming);
  const matches = (path: string) => ruleFor(policy, undefined, parseRequestInfo("GET", path));

  assert.ok(matches("/api/v1/nodes/a"));
  assert.equal(matches("/api/v1/namespaces/shop/pods"), undefined);
  assert.equal(matches("/version"), undefined);
});

test("without a policy every request is recorded at Metadata, and not before it is over", () => {
  const rule = ruleFor(RECORD_ALL, undefined, undefined);

  assert.equal(rule?.level, "Metadata");
  assert.ok(rule?.omitStages.has("RequestReceived"));
});

const REFUSED: readonly [what: string, text: string, message: RegExp][] = [
  ["nothing", "", /expected a map/],
  ["another kind", "apiVersion: v1\nkind: Pod\n", /expected kind "Policy" of apiVersion/],
  ["no rules", HEAD, /^rules: at least one is needed$/],
  ["no level", `${HEAD}rules: [{verbs: [get]}]`, /^rules\[0\]\.level: "" is none of None, /],
  [
    "an unknown stage",
    `${HEAD}omitStages: [Soon]\nrules: [{level: None}]`,
    /^omitStages: "Soon" is none of /,
  ],
  [
    "paths and resources in one rule",
    `${HEAD}rules: [{level: None, nonResourceURLs: ["/a"], namespaces: [a]}]`,
    /cannot apply to both regular resources and non-resource URLs/,
  ],
  [
    "names without a resource",
    `${HEAD}rules: [{level: None, resources: [{group: "", resourceNames: [a]}]}]`,
    /^rules\[0\]\.resources\[0\]\.resourceNames: using resourceNames requires at least one resource$/,
  ],
  [
    "a wildcard in the middle",
    `${HEAD}rules: [{level: None, nonResourceURLs: ["/a*b"]}]`,
    /must be the final character/,
  ],
  ["broken YAML", "a: [", /./],
];
test("A22: unknown and repeated fields of a policy do not count, and are remarks", () => {
  const text = `${HEAD}rules: [{level: None, verb: [get]}, {level: None, level: Metadata}]`;
  const { rules, remarks } = parseAuditPolicy(text, naming);
  assert.deepEqual(
    rules.map(({ level }) => level),
    ["None", "Metadata"],
  );
  assert.deepEqual(remarks, ['duplicate field "rules[1].level"', 'unknown field "rules[0].verb"']);
});

for (const [what, text, message] of REFUSED) {
  test(`a policy with ${what} is refused in one line`, () => {
    assert.throws(
      () => parseAuditPolicy(text, naming),
      (error) => {
        assert.ok(error instanceof AuditPolicyError);
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /\n/);
        return true;
      },
    );
  });
}
