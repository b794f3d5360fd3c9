/** Rules of the rbac group, kind by kind: what is accepted, what is refused and how. */
import { test } from "node:test";
import { checkChanges, checkProblems, type TestObject } from "../testing/problems.js";

const RBAC = "rbac.authorization.k8s.io";
const api = { apiGroups: [""], resources: ["pods"], verbs: ["get"] };
const roleRef = { apiGroup: RBAC, kind: "ClusterRole", name: "view" };
const rules = (verb: string): TestObject => ({ rules: [{ ...api, verbs: [verb] }] });
const binding = (kind: string, subject: string): TestObject => ({
  roleRef: { apiGroup: RBAC, kind, name: "view" },
  subjects: [{ kind: "User", name: subject, apiGroup: RBAC }],
});

test("roles are accepted or refused by their rules, field by field", () => {
  checkProblems("rbac.authorization.k8s.io/v1/roles", [
    [{ rules: [api] }],
    [{ rules: null }],
    [
      { rules: [{ ...api, verbs: [] }] },
      "rules[0].verbs: Required value: verbs must contain at least one value",
    ],
    [
      { rules: [{ ...api, apiGroups: [] }] },
      "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
    ],
    [
      { rules: [{ nonResourceURLs: ["/x"], verbs: ["get"] }] },
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
    ],
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

test("cluster roles are accepted or refused by their rules, field by field", () => {
  checkProblems("rbac.authorization.k8s.io/v1/clusterroles", [
    [{ rules: [{ nonResourceURLs: ["/x"], verbs: ["get"] }] }],
    [{ aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] } }],
    [
      { rules: [{ ...api, nonResourceURLs: ["/x"] }] },
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
    ],
    [
      { aggregationRule: {} },
      "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil",
    ],
    [
      { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { "a b": "c" } }] } },
      "aggregationRule.clusterRoleSelectors[0].matchLabels: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      "aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.",
    ],
    [
      { rules: [{ nonResourceURLs: ["/x"] }] },
      "rules[0].verbs: Required value: verbs must contain at least one value",
    ],
    [{ metadata: { name: "a%b" } }, "metadata.name: Invalid value: \"a%b\": may not contain '%'"],
    [{ metadata: { name: ".." } }, "metadata.name: Invalid value: \"..\": may not be '..'"],
    [
      { metadata: { name: "a\u0000" } },
      'metadata.name: Invalid value: "a\\u0000": may not contain control characters',
    ],
  ]);
});

test("the rules of a cluster role may change", () => {
  checkChanges("rbac.authorization.k8s.io/v1/clusterroles", [[rules("get"), rules("list")]]);
});

test("S2-RBAC-09, S2-RBAC-10: role bindings are accepted or refused by their rules, field by field", () => {
  checkProblems("rbac.authorization.k8s.io/v1/rolebindings", [
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
    [
      { roleRef: { ...roleRef, apiGroup: "b" } },
      'roleRef.apiGroup: Unsupported value: "b": supported values: "rbac.authorization.k8s.io"',
    ],
    [{ roleRef: { ...roleRef, name: "" } }, "roleRef.name: Required value"],
    [
      { roleRef: { ...roleRef, name: "a/b" } },
      "roleRef.name: Invalid value: \"a/b\": may not contain '/'",
    ],
    [
      {},
      'roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole"',
      "roleRef.name: Required value",
    ],
    [
      { roleRef, subjects: [{ kind: "ServiceAccount", name: "A", apiGroup: RBAC }] },
      "subjects[0].name: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      'subjects[0].apiGroup: Unsupported value: "rbac.authorization.k8s.io": supported values: ""',
    ],
    [
      { roleRef, subjects: [{ kind: "Robot", name: "a" }, { kind: "Group" }] },
      'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
      "subjects[1].name: Required value",
    ],
  ]);
});

test("S2-RBAC-09, S2-RBAC-10: cluster role bindings are accepted or refused by their rules, field by field", () => {
  checkProblems("rbac.authorization.k8s.io/v1/clusterrolebindings", [
    [
      { roleRef, subjects: [{ kind: "ServiceAccount", name: "web" }] },
      "subjects[0].namespace: Required value",
    ],
    [
      { roleRef: { ...roleRef, kind: "Role" } },
      'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
    ],
  ]);
});

test("S2-RBAC-10: the subjects of a binding may change, its role may not", () => {
  checkChanges("rbac.authorization.k8s.io/v1/rolebindings", [
    [binding("Role", "ann"), binding("Role", "bob")],
    [
      binding("Role", "ann"),
      binding("ClusterRole", "ann"),
      'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"view"}: cannot change roleRef',
    ],
    [
      { roleRef },
      { roleRef: { ...roleRef, name: "edit" } },
      'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"edit"}: cannot change roleRef',
    ],
  ]);
});
