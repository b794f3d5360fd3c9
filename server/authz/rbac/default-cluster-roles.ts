/**
 * The default cluster roles of users and components, and their bindings: facts of release 1.36 with its
 * default features (S2-RBAC-24..28). Pure data in the notation of rule-notation.ts.
 */
import { onPaths, type RoleFact, type RuleFact, rule, type SubjectFact } from "./rule-notation.js";

const READ = "get list watch";
const WRITE = "create delete deletecollection patch update";
const READ_WRITE = "create delete deletecollection get list patch update watch";

/** Permissions of event recorders. */
export const RECORDS_EVENTS: RuleFact = rule("create patch update", "core events~", "events");

const HEALTH_PATHS = "/healthz /livez /readyz";

const AGGREGATE_TO_ADMIN: readonly RuleFact[] = [
  rule("create", "authorization~", "localsubjectaccessreviews"),
  rule(READ_WRITE, "rbac.authorization~", "rolebindings roles"),
];

const AGGREGATE_TO_EDIT: readonly RuleFact[] = [
  rule(READ, "core", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
  rule("impersonate", "core", "serviceaccounts"),
  rule(WRITE, "core", "pods pods/attach pods/exec pods/portforward pods/proxy"),
  rule("create", "core", "pods/eviction"),
  rule(
    WRITE,
    "core",
    "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy",
  ),
  rule(WRITE, "core events~", "events"),
  rule("create", "core", "serviceaccounts/token"),
  rule(
    WRITE,
    "apps",
    "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale",
  ),
  rule(WRITE, "autoscaling", "horizontalpodautoscalers"),
  rule(WRITE, "batch", "cronjobs jobs"),
  rule(
    WRITE,
    "extensions",
    "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale",
  ),
  rule(WRITE, "policy", "poddisruptionbudgets"),
  rule(WRITE, "networking~", "ingresses networkpolicies"),
  rule(READ_WRITE, "coordination~", "leases"),
  rule(WRITE, "resource~", "resourceclaims resourceclaimtemplates"),
];

/** Excludes secrets and roles, which would allow more than viewing. */
const AGGREGATE_TO_VIEW: readonly RuleFact[] = [
  rule(
    READ,
    "core",
    "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status",
  ),
  rule(
    READ,
    "core",
    "bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status",
  ),
  rule(READ, "core events~", "events"),
  rule(READ, "core", "namespaces"),
  rule(READ, "discovery~", "endpointslices"),
  rule(
    READ,
    "apps",
    "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status",
  ),
  rule(READ, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
  rule(READ, "batch", "cronjobs cronjobs/status jobs jobs/status"),
  rule(
    READ,
    "extensions",
    "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale",
  ),
  rule(READ, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
  rule(READ, "networking~", "ingresses ingresses/status networkpolicies"),
  rule(READ, "resource~", "resourceclaims resourceclaims/status resourceclaimtemplates"),
];

const CONTROLLER_MANAGER: readonly RuleFact[] = [
  RECORDS_EVENTS,
  rule("create", "coordination~", "leases"),
  rule("get update", "coordination~", "leases", "kube-controller-manager"),
  rule("create", "core", "secrets serviceaccounts"),
  rule("delete", "core", "secrets"),
  rule("get", "core", "configmaps namespaces secrets serviceaccounts"),
  rule("update", "core", "secrets serviceaccounts"),
  rule("create", "authentication~", "tokenreviews"),
  rule("create", "authorization~", "subjectaccessreviews"),
  rule("list watch", "*", "*"),
  rule("create", "core", "serviceaccounts/token"),
];

const SCHEDULER: readonly RuleFact[] = [
  RECORDS_EVENTS,
  rule("create", "coordination~", "leases"),
  rule("get list update watch", "coordination~", "leases", "kube-scheduler"),
  rule(READ_WRITE, "coordination~", "leasecandidates"),
  rule(READ, "core", "nodes"),
  rule("delete get list watch", "core", "pods"),
  rule("create", "core", "bindings pods/binding"),
  rule("patch update", "core", "pods/status"),
  rule(READ, "core", "replicationcontrollers services"),
  rule(READ, "apps extensions", "replicasets"),
  rule(READ, "apps", "statefulsets"),
  rule(READ, "policy", "poddisruptionbudgets"),
  rule(READ, "core", "persistentvolumeclaims persistentvolumes"),
  rule("create", "authentication~", "tokenreviews"),
  rule("create", "authorization~", "subjectaccessreviews"),
  rule(READ, "storage~", "csinodes"),
  rule(READ, "storage~", "volumeattachments"),
  rule(READ, "core", "namespaces"),
  rule(READ, "storage~", "csidrivers"),
  rule(READ, "storage~", "csistoragecapacities"),
  rule(READ, "resource~", "deviceclasses"),
  rule("get list patch update watch", "resource~", "resourceclaims"),
  rule("get list patch update watch", "resource~", "resourceclaims/status"),
  rule("update", "core", "pods/finalizers"),
  rule("create delete", "resource~", "resourceclaims"),
  rule(READ, "resource~", "resourceslices"),
  rule("patch update", "resource~", "resourceclaims/binding"),
];

const NODE: readonly RuleFact[] = [
  rule("create", "authentication~", "tokenreviews"),
  rule("create", "authorization~", "localsubjectaccessreviews subjectaccessreviews"),
  rule(READ, "core", "services"),
  rule("create get list watch", "core", "nodes"),
  rule("patch update", "core", "nodes/status"),
  rule("patch update", "core", "nodes"),
  RECORDS_EVENTS,
  rule(READ, "core", "pods"),
  rule("create delete", "core", "pods"),
  rule("patch update", "core", "pods/status"),
  rule("create", "core", "pods/eviction"),
  rule(READ, "core", "configmaps secrets"),
  rule("get", "core", "persistentvolumeclaims persistentvolumes"),
  rule("get", "core", "endpoints"),
  rule("create get list watch", "certificates~", "certificatesigningrequests"),
  rule("create delete get patch update", "coordination~", "leases"),
  rule("get", "storage~", "volumeattachments"),
  rule("create", "core", "serviceaccounts/token"),
  rule("get patch update", "core", "persistentvolumeclaims/status"),
  rule(READ, "storage~", "csidrivers"),
  rule("create delete get patch update", "storage~", "csinodes"),
  rule(READ, "node~", "runtimeclasses"),
  rule("get", "resource~", "resourceclaims"),
  rule("deletecollection", "resource~", "resourceslices"),
  rule("get", "core", "serviceaccounts"),
];

const approver = (signer: string): RoleFact => ({
  name: `system:certificates~:${signer}-approver`,
  rules: [rule("approve", "certificates~", "signers", `@/${signer}`)],
});

const signingRequests = (kind: string): RoleFact => ({
  name: `system:certificates~:certificatesigningrequests:${kind}`,
  rules: [rule("create", "certificates~", `certificatesigningrequests/${kind}`)],
});

export const DEFAULT_CLUSTER_ROLES: readonly RoleFact[] = [
  { name: "cluster-admin", rules: [rule("*", "*", "*"), onPaths("*", "*")] },
  { name: "admin", aggregates: "admin", rules: [] },
  { name: "edit", aggregates: "edit", isPartOf: "admin", rules: [] },
  { name: "view", aggregates: "view", isPartOf: "edit", rules: [] },
  { name: "system:aggregate-to-admin", isPartOf: "admin", rules: AGGREGATE_TO_ADMIN },
  { name: "system:aggregate-to-edit", isPartOf: "edit", rules: AGGREGATE_TO_EDIT },
  { name: "system:aggregate-to-view", isPartOf: "view", rules: AGGREGATE_TO_VIEW },
  {
    name: "system:auth-delegator",
    rules: [
      rule("create", "authentication~", "tokenreviews"),
      rule("create", "authorization~", "subjectaccessreviews"),
    ],
  },
  {
    name: "system:basic-user",
    rules: [
      rule("create", "authorization~", "selfsubjectaccessreviews selfsubjectrulesreviews"),
      rule("create", "authentication~", "selfsubjectreviews"),
    ],
  },
  signingRequests("nodeclient"),
  signingRequests("selfnodeclient"),
  approver("kube-apiserver-client"),
  approver("kube-apiserver-client-kubelet"),
  approver("kubelet-serving"),
  approver("legacy-unknown"),
  {
    name: "system:discovery",
    rules: [
      onPaths(
        "get",
        "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/",
      ),
    ],
  },
  {
    name: "system:heapster",
    rules: [
      rule(READ, "core", "events namespaces nodes pods"),
      rule(READ, "extensions", "deployments"),
    ],
  },
  { name: "system:kube-aggregator", rules: [rule(READ, "core", "endpoints services")] },
  { name: "system:kube-controller-manager", rules: CONTROLLER_MANAGER },
  { name: "system:kube-dns", rules: [rule("list watch", "core", "endpoints services")] },
  { name: "system:kube-scheduler", rules: SCHEDULER },
  {
    name: "system:kubelet-api-admin",
    rules: [
      rule(READ, "core", "nodes"),
      rule("proxy", "core", "nodes"),
      rule("*", "core", "nodes/log nodes/metrics nodes/proxy nodes/stats"),
      rule("*", "core", "nodes/configz nodes/healthz nodes/pods"),
    ],
  },
  {
    name: "system:monitoring",
    rules: [
      onPaths(
        "get",
        "/flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz",
      ),
      rule("get", "core", "nodes/metrics"),
    ],
  },
  { name: "system:node", rules: NODE },
  {
    name: "system:node-bootstrapper",
    rules: [rule("create get list watch", "certificates~", "certificatesigningrequests")],
  },
  {
    name: "system:node-problem-detector",
    rules: [rule("get", "core", "nodes"), rule("patch", "core", "nodes/status"), RECORDS_EVENTS],
  },
  {
    name: "system:node-proxier",
    rules: [
      rule("list watch", "core", "endpoints services"),
      rule(READ, "core", "nodes"),
      RECORDS_EVENTS,
      rule("list watch", "networking~", "servicecidrs"),
      rule("list watch", "discovery~", "endpointslices"),
    ],
  },
  {
    name: "system:persistent-volume-provisioner",
    rules: [
      rule("create delete get list watch", "core", "persistentvolumes"),
      rule("get list update watch", "core", "persistentvolumeclaims"),
      rule(READ, "storage~", "storageclasses"),
      rule("watch", "core", "events"),
      RECORDS_EVENTS,
    ],
  },
  {
    name: "system:public-info-viewer",
    rules: [onPaths("get", `${HEALTH_PATHS} /version /version/`)],
  },
  {
    name: "system:service-account-issuer-discovery",
    rules: [
      onPaths(
        "get",
        "/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/",
      ),
    ],
  },
  {
    name: "system:volume-scheduler",
    rules: [
      rule("get list patch update watch", "core", "persistentvolumes"),
      rule(READ, "storage~", "storageclasses"),
      rule("get list patch update watch", "core", "persistentvolumeclaims"),
    ],
  },
];

const group = (name: string): SubjectFact => ({ kind: "Group", name });
const user = (name: string): SubjectFact => ({ kind: "User", name });

const AUTHENTICATED = group("system:authenticated");

/** Each binding has the name of its role. */
export const DEFAULT_CLUSTER_ROLE_BINDINGS: readonly {
  readonly name: string;
  readonly subjects: readonly SubjectFact[];
}[] = [
  { name: "cluster-admin", subjects: [group("system:masters")] },
  { name: "system:basic-user", subjects: [AUTHENTICATED] },
  { name: "system:discovery", subjects: [AUTHENTICATED] },
  {
    name: "system:public-info-viewer",
    subjects: [AUTHENTICATED, group("system:unauthenticated")],
  },
  { name: "system:monitoring", subjects: [group("system:monitoring")] },
  { name: "system:node-proxier", subjects: [user("system:kube-proxy")] },
  { name: "system:kube-controller-manager", subjects: [user("system:kube-controller-manager")] },
  {
    name: "system:kube-dns",
    subjects: [{ kind: "ServiceAccount", name: "kube-dns" }],
  },
  { name: "system:kube-scheduler", subjects: [user("system:kube-scheduler")] },
  { name: "system:volume-scheduler", subjects: [user("system:kube-scheduler")] },
  {
    name: "system:service-account-issuer-discovery",
    subjects: [group("system:serviceaccounts")],
  },
  // Nodes have their own authorizer; the binding exists for administrators who add subjects.
  { name: "system:node", subjects: [] },
];
