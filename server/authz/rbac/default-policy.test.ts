/**
 * The default policy: the names in release 1.36 with its default features, and the permissions of the
 * user-facing roles. The golden lists are facts about that release, written independently of the tables.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../../api/naming.js";
import { createUser } from "../../request/user-info.js";
import { type BindingObject, defaultPolicy, type RoleObject } from "./default-policy.js";
import { naming, PolicyView } from "./testing/policy-view.js";

const policy = defaultPolicy(naming);
const names = (objects: readonly { metadata: { name?: string } }[]) =>
  objects.map(({ metadata }) => metadata.name ?? "").sort();

const CONTROLLERS = [
  "attachdetach-controller",
  "certificate-controller",
  "clusterrole-aggregation-controller",
  "cronjob-controller",
  "daemon-set-controller",
  "deployment-controller",
  "device-taint-eviction-controller",
  "disruption-controller",
  "endpoint-controller",
  "endpointslice-controller",
  "endpointslicemirroring-controller",
  "ephemeral-volume-controller",
  "expand-controller",
  "generic-garbage-collector",
  "horizontal-pod-autoscaler",
  "job-controller",
  "legacy-service-account-token-cleaner",
  "namespace-controller",
  "node-controller",
  "persistent-volume-binder",
  "pod-garbage-collector",
  "pv-protection-controller",
  "pvc-protection-controller",
  "replicaset-controller",
  "replication-controller",
  "resource-claim-controller",
  "resourcequota-controller",
  "root-ca-cert-publisher",
  "route-controller",
  "selinux-warning-controller",
  "service-account-controller",
  "service-cidrs-controller",
  "service-controller",
  "statefulset-controller",
  "ttl-after-finished-controller",
  "ttl-controller",
  "validatingadmissionpolicy-status-controller",
  "volumeattributesclass-protection-controller",
].map((name) => `system:controller:${name}`);

test("S2-RBAC-28: the cluster roles and bindings of the existing system, by name", () => {
  assert.deepEqual(names(policy.clusterRoles), [
    "admin",
    "cluster-admin",
    "edit",
    "system:aggregate-to-admin",
    "system:aggregate-to-edit",
    "system:aggregate-to-view",
    "system:auth-delegator",
    "system:basic-user",
    "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
    "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
    "system:certificates.k8s.io:kube-apiserver-client-approver",
    "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver",
    "system:certificates.k8s.io:kubelet-serving-approver",
    "system:certificates.k8s.io:legacy-unknown-approver",
    ...CONTROLLERS,
    "system:discovery",
    "system:heapster",
    "system:kube-aggregator",
    "system:kube-controller-manager",
    "system:kube-dns",
    "system:kube-scheduler",
    "system:kubelet-api-admin",
    "system:monitoring",
    "system:node",
    "system:node-bootstrapper",
    "system:node-problem-detector",
    "system:node-proxier",
    "system:persistent-volume-provisioner",
    "system:public-info-viewer",
    "system:service-account-issuer-discovery",
    "system:volume-scheduler",
    "view",
  ]);
  assert.deepEqual(names(policy.clusterRoleBindings), [
    "cluster-admin",
    "system:basic-user",
    ...CONTROLLERS,
    "system:discovery",
    "system:kube-controller-manager",
    "system:kube-dns",
    "system:kube-scheduler",
    "system:monitoring",
    "system:node",
    "system:node-proxier",
    "system:public-info-viewer",
    "system:service-account-issuer-discovery",
    "system:volume-scheduler",
  ]);
  const places = (objects: readonly (RoleObject | BindingObject)[]) =>
    objects.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort();
  assert.deepEqual(places(policy.roles), [
    "kube-public/system:controller:bootstrap-signer",
    "kube-system/extension-apiserver-authentication-reader",
    "kube-system/system::leader-locking-kube-controller-manager",
    "kube-system/system::leader-locking-kube-scheduler",
    "kube-system/system:controller:bootstrap-signer",
    "kube-system/system:controller:cloud-provider",
    "kube-system/system:controller:token-cleaner",
  ]);
  assert.deepEqual(places(policy.roleBindings), [
    "kube-public/system:controller:bootstrap-signer",
    "kube-system/system::extension-apiserver-authentication-reader",
    "kube-system/system::leader-locking-kube-controller-manager",
    "kube-system/system::leader-locking-kube-scheduler",
    "kube-system/system:controller:bootstrap-signer",
    "kube-system/system:controller:cloud-provider",
    "kube-system/system:controller:token-cleaner",
  ]);
});

test("S2-RBAC-22: every default object has its label, its annotation, and a role that is there", () => {
  const roles = new Set(
    [...policy.clusterRoles, ...policy.roles].map(
      ({ kind, metadata }) => `${kind}/${metadata.namespace ?? ""}/${metadata.name}`,
    ),
  );
  for (const { metadata } of Object.values(policy).flat()) {
    assert.equal(metadata.labels["kubernetes.io/bootstrapping"], "rbac-defaults");
    assert.equal(metadata.annotations["rbac.authorization.kubernetes.io/autoupdate"], "true");
  }
  for (const { roleRef, metadata } of [...policy.clusterRoleBindings, ...policy.roleBindings]) {
    const place = roleRef.kind === "Role" ? metadata.namespace : "";
    assert.ok(roles.has(`${roleRef.kind}/${place}/${roleRef.name}`), metadata.name);
  }
});

test("objects are as the existing system has them: one of each kind in full", () => {
  const find = <T extends RoleObject | BindingObject>(objects: readonly T[], name: string) =>
    objects.find(({ metadata }) => metadata.name === name);
  const metadata = {
    labels: { "kubernetes.io/bootstrapping": "rbac-defaults" },
    annotations: { "rbac.authorization.kubernetes.io/autoupdate": "true" },
  };
  assert.deepEqual(find(policy.clusterRoles, "edit"), {
    kind: "ClusterRole",
    apiVersion: "rbac.authorization.k8s.io/v1",
    metadata: {
      ...metadata,
      name: "edit",
      labels: {
        ...metadata.labels,
        "rbac.authorization.k8s.io/aggregate-to-admin": "true",
      },
    },
    aggregationRule: {
      clusterRoleSelectors: [
        { matchLabels: { "rbac.authorization.k8s.io/aggregate-to-edit": "true" } },
      ],
    },
    rules: [],
  });
  assert.deepEqual(
    find(policy.clusterRoles, "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver")
      ?.rules,
    [
      {
        verbs: ["approve"],
        apiGroups: ["certificates.k8s.io"],
        resources: ["signers"],
        resourceNames: ["kubernetes.io/kube-apiserver-client-kubelet"],
      },
    ],
  );
  assert.deepEqual(find(policy.clusterRoleBindings, "system:controller:ttl-controller"), {
    kind: "ClusterRoleBinding",
    apiVersion: "rbac.authorization.k8s.io/v1",
    metadata: { ...metadata, name: "system:controller:ttl-controller" },
    roleRef: {
      apiGroup: "rbac.authorization.k8s.io",
      kind: "ClusterRole",
      name: "system:controller:ttl-controller",
    },
    subjects: [{ kind: "ServiceAccount", name: "ttl-controller", namespace: "kube-system" }],
  });
});

test("viewers read events of both groups, editors write them, and who monitors reads nodes' metrics", () => {
  const rulesOf = (name: string) =>
    policy.clusterRoles.find(({ metadata }) => metadata.name === name)?.rules ?? [];
  const about = (name: string, resource: string) =>
    rulesOf(name)
      .filter(({ resources = [] }) => resources.includes(resource))
      .map(({ apiGroups, verbs }) => [apiGroups, verbs]);
  const groups = ["", "events.k8s.io"];
  const read = ["get", "list", "watch"];
  const write = ["create", "delete", "deletecollection", "patch", "update"];
  assert.deepEqual(about("system:aggregate-to-view", "events"), [[groups, read]]);
  assert.deepEqual(about("system:aggregate-to-edit", "events"), [[groups, write]]);
  assert.deepEqual(about("system:node", "events"), [[groups, ["create", "patch", "update"]]]);
  assert.deepEqual(about("system:monitoring", "nodes/metrics"), [[[""], ["get"]]]);
  assert.deepEqual(about("system:kube-scheduler", "pods/finalizers"), [[[""], ["update"]]]);
  assert.deepEqual(about("system:kube-scheduler", "resourceclaims").at(-1), [
    ["resource.k8s.io"],
    ["create", "delete"],
  ]);
});

test("another vendor's policy has its own groups, labels and namespaces, and nobody else's", () => {
  const text = JSON.stringify(defaultPolicy(createNaming("acme")));
  assert.doesNotMatch(text, /k8s\.io|kubernetes|kube-system|kube-public/);
  assert.match(text, /"storage\.acme\.io"/);
  assert.match(text, /"acme\.io\/kubelet-serving"/);
});

/** The whole default policy, with "x" bound to one of its roles in the namespace "shop". */
function inForce(role: string): PolicyView {
  const view = new PolicyView();
  const put = ({ kind, metadata, ...object }: RoleObject | BindingObject) => {
    const { name = "", namespace = "", labels = {} } = metadata;
    if (kind.endsWith("Binding")) {
      const { roleRef, subjects } = object as unknown as BindingObject;
      const { name: roleName } = roleRef;
      const role = { kind: roleRef.kind as "Role" | "ClusterRole", name: roleName };
      view.putBinding({ namespace, name, role, subjects: subjects ?? [] });
      return;
    }
    const { rules, aggregationRule } = object as unknown as RoleObject;
    const selectors = aggregationRule?.clusterRoleSelectors;
    view.putRole({
      ...{ namespace, name, labels, rules: rules ?? [] },
      ...(selectors != null && { selectors }),
    });
  };
  for (const object of Object.values(policy).flat()) put(object);
  view.putBinding({
    namespace: "shop",
    name: "x",
    role: { kind: "ClusterRole", name: role },
    subjects: [{ kind: "User", name: "x" }],
  });
  return view;
}

test("S2-RBAC-24: cluster-admin is bound to system:masters and may do everything", () => {
  const view = inForce("view");
  const master = createUser({ name: "m", groups: ["system:masters"] });
  for (const [method, url] of [
    ["DELETE", "/api/v1/nodes"],
    ["POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles"],
    ["GET", "/metrics"],
    ["PUT", "/apis/example.com/v1/namespaces/a/widgets/b/scale"],
  ] as const) {
    const { decision, reason } = view.ask(master, method, url);
    assert.equal(decision, "allow");
    assert.equal(
      reason,
      'RBAC: allowed by ClusterRoleBinding "cluster-admin" of ClusterRole "cluster-admin" to Group "system:masters"',
    );
  }
});

test("S2-RBAC-23, S2-RBAC-25: admin has what edit has, edit what view has; view sees no secrets and roles", () => {
  const shop = "/api/v1/namespaces/shop";
  const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop";
  const table: readonly (readonly [string, string, "" | "admin" | "edit" | "view"])[] = [
    ["GET", `${shop}/pods`, "view"],
    ["GET", `${shop}/pods/p/log`, "view"],
    ["GET", `${shop}/configmaps/c`, "view"],
    ["GET", "/apis/apps/v1/namespaces/shop/deployments/d/scale", "view"],
    ["GET", shop, "view"],
    ["GET", `${shop}/secrets`, "edit"],
    ["GET", `${shop}/secrets/s`, "edit"],
    ["POST", `${shop}/pods/p/exec`, "edit"],
    ["POST", `${shop}/pods`, "edit"],
    ["DELETE", `${shop}/configmaps`, "edit"],
    ["PATCH", "/apis/apps/v1/namespaces/shop/deployments/d", "edit"],
    ["POST", `${shop}/serviceaccounts/a/token`, "edit"],
    ["GET", `${rbac}/roles`, "admin"],
    ["POST", `${rbac}/rolebindings`, "admin"],
    ["POST", "/apis/authorization.k8s.io/v1/namespaces/shop/localsubjectaccessreviews", "admin"],
    ["POST", `${shop}/resourcequotas`, ""],
    ["PATCH", shop, ""],
    ["PATCH", `${shop}/pods/p/status`, ""],
    ["GET", "/api/v1/namespaces/other/pods", ""],
    ["GET", "/api/v1/nodes", ""],
  ];
  const ranks = ["view", "edit", "admin"];
  for (const [rank, name] of ranks.entries()) {
    const view = inForce(name);
    for (const [method, url, least] of table) {
      const expected = least !== "" && rank >= ranks.indexOf(least);
      assert.equal(view.allows("x", method, url), expected, `${name}: ${method} ${url}`);
    }
  }
});

test("CVE-2021-25740: who may edit a namespace may read endpoints and not write them", () => {
  const places = [
    "/api/v1/namespaces/shop/endpoints",
    "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices",
  ];
  for (const name of ["edit", "admin"]) {
    const view = inForce(name);
    for (const place of places) {
      assert.ok(view.allows("x", "GET", `${place}/web`), `${name}: ${place}`);
      assert.equal(view.allows("x", "POST", place), false, `${name}: POST ${place}`);
      assert.equal(view.allows("x", "DELETE", place), false, `${name}: DELETE ${place}`);
      for (const method of ["PUT", "PATCH", "DELETE"]) {
        assert.equal(
          view.allows("x", method, `${place}/web`),
          false,
          `${name}: ${method} ${place}`,
        );
      }
    }
  }
});

test("S2-RBAC-26, S2-RBAC-27, S2-SSR-03: what everybody may, signed in or not", () => {
  const view = inForce("view");
  const known = createUser({ name: "u", groups: ["system:authenticated"] });
  const unknown = createUser({ name: "system:anonymous", groups: ["system:unauthenticated"] });
  const table: readonly (readonly [string, string, boolean, boolean])[] = [
    ["POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", true, false],
    ["POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", true, false],
    ["POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", true, false],
    ["POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", false, false],
    ["GET", "/api", true, false],
    ["GET", "/apis/apps/v1", true, false],
    ["GET", "/openapi/v3", true, false],
    ["GET", "/version", true, true],
    ["GET", "/healthz", true, true],
    ["GET", "/livez", true, true],
    ["GET", "/readyz", true, true],
    ["GET", "/metrics", false, false],
    ["GET", "/api/v1/namespaces", false, false],
  ];
  for (const [method, url, byKnown, byUnknown] of table) {
    const info = [view.allows(known, method, url), view.allows(unknown, method, url)];
    assert.deepEqual(info, [byKnown, byUnknown], `${method} ${url}`);
  }
});
