/**
 * The default roles of control loops. Each is bound to the service account of its name in the system's
 * namespace; some also have roles in namespaces. Facts of release 1.36 with its default features
 * (S2-RBAC-28). Pure data in the notation of rule-notation.ts.
 */
import { RECORDS_EVENTS } from "./default-cluster-roles.js";
import { type RuleFact, rule, type SubjectFact } from "./rule-notation.js";

const READ = "get list watch";
const READ_UPDATE = "get list update watch";
const READ_PATCH = "get list patch update watch";
const ALL_BUT_COLLECTION = "create delete get list patch update watch";
const OWN_PODS = "create delete list patch watch";

/** By name, without "system:controller:". */
export const CONTROLLER_ROLES: Readonly<Record<string, readonly RuleFact[]>> = {
  "attachdetach-controller": [
    rule("list watch", "core", "persistentvolumeclaims persistentvolumes"),
    rule(READ, "core", "nodes"),
    rule("patch update", "core", "nodes/status"),
    rule("list watch", "core", "pods"),
    RECORDS_EVENTS,
    rule("create delete get list watch", "storage~", "volumeattachments"),
    rule(READ, "storage~", "csidrivers"),
    rule(READ, "storage~", "csinodes"),
  ],
  "certificate-controller": [
    rule("delete get list watch", "certificates~", "certificatesigningrequests"),
    rule(
      "update",
      "certificates~",
      "certificatesigningrequests/approval certificatesigningrequests/status",
    ),
    rule("approve", "certificates~", "signers", "@/kube-apiserver-client-kubelet"),
    rule(
      "sign",
      "certificates~",
      "signers",
      "@/kube-apiserver-client @/kube-apiserver-client-kubelet @/kubelet-serving @/legacy-unknown",
    ),
    rule("create", "authorization~", "subjectaccessreviews"),
    RECORDS_EVENTS,
  ],
  "clusterrole-aggregation-controller": [
    rule("escalate get list patch update watch", "rbac.authorization~", "clusterroles"),
  ],
  "cronjob-controller": [
    rule(READ_UPDATE, "batch", "cronjobs"),
    rule(ALL_BUT_COLLECTION, "batch", "jobs"),
    rule("update", "batch", "cronjobs/status"),
    rule("update", "batch", "cronjobs/finalizers"),
    rule("delete list watch", "core", "pods"),
    RECORDS_EVENTS,
  ],
  "daemon-set-controller": [
    rule(READ, "apps extensions", "daemonsets"),
    rule("update", "apps extensions", "daemonsets/status"),
    rule("update", "apps extensions", "daemonsets/finalizers"),
    rule("list watch", "core", "nodes"),
    rule(OWN_PODS, "core", "pods"),
    rule("create", "core", "pods/binding"),
    rule(ALL_BUT_COLLECTION, "apps", "controllerrevisions"),
    RECORDS_EVENTS,
  ],
  "deployment-controller": [
    rule(READ_UPDATE, "apps extensions", "deployments"),
    rule("update", "apps extensions", "deployments/status"),
    rule("update", "apps extensions", "deployments/finalizers"),
    rule(ALL_BUT_COLLECTION, "apps extensions", "replicasets"),
    rule(READ_UPDATE, "core", "pods"),
    RECORDS_EVENTS,
  ],
  "device-taint-eviction-controller": [
    rule("delete get list watch", "core", "pods"),
    rule("patch update", "core", "pods/status"),
    rule(READ, "resource~", "resourceclaims"),
    rule(READ, "resource~", "resourceslices"),
    rule(READ, "resource~", "deviceclasses"),
    RECORDS_EVENTS,
  ],
  "disruption-controller": [
    rule(READ, "apps extensions", "deployments"),
    rule(READ, "apps extensions", "replicasets"),
    rule(READ, "core", "replicationcontrollers"),
    rule(READ, "policy", "poddisruptionbudgets"),
    rule(READ, "apps", "statefulsets"),
    rule("update", "policy", "poddisruptionbudgets/status"),
    rule("patch update", "core", "pods/status"),
    rule("get", "*", "*/scale"),
    RECORDS_EVENTS,
  ],
  "endpoint-controller": [
    rule(READ, "core", "pods services"),
    rule("create delete get list update watch", "core", "endpoints"),
    rule("create", "core", "endpoints/restricted"),
    RECORDS_EVENTS,
  ],
  "endpointslice-controller": [
    rule(READ, "core", "nodes pods services"),
    rule("update", "core", "services/finalizers"),
    rule("create delete get list update watch", "discovery~", "endpointslices"),
    RECORDS_EVENTS,
  ],
  "endpointslicemirroring-controller": [
    rule(READ, "core", "endpoints services"),
    rule("update", "core", "services/finalizers"),
    rule("update", "core", "endpoints/finalizers"),
    rule("create delete get list update watch", "discovery~", "endpointslices"),
    RECORDS_EVENTS,
  ],
  "ephemeral-volume-controller": [
    rule(READ, "core", "pods"),
    rule("update", "core", "pods/finalizers"),
    rule("create get list watch", "core", "persistentvolumeclaims"),
    RECORDS_EVENTS,
  ],
  "expand-controller": [
    rule(READ_PATCH, "core", "persistentvolumes"),
    rule("patch update", "core", "persistentvolumeclaims/status"),
    rule(READ, "core", "persistentvolumeclaims"),
    RECORDS_EVENTS,
  ],
  "generic-garbage-collector": [
    rule("delete get list patch update watch", "*", "*"),
    RECORDS_EVENTS,
  ],
  "horizontal-pod-autoscaler": [
    rule(READ, "autoscaling", "horizontalpodautoscalers"),
    rule("update", "autoscaling", "horizontalpodautoscalers/status"),
    rule("get update", "*", "*/scale"),
    rule("list watch", "core", "pods"),
    rule("list watch", "metrics~", "pods"),
    rule(READ, "custom.metrics~", "*"),
    rule(READ, "external.metrics~", "*"),
    RECORDS_EVENTS,
  ],
  "job-controller": [
    rule(READ_PATCH, "batch", "jobs"),
    rule("update", "batch", "jobs/status"),
    rule("update", "batch", "jobs/finalizers"),
    rule(OWN_PODS, "core", "pods"),
    RECORDS_EVENTS,
  ],
  "legacy-service-account-token-cleaner": [
    rule("get", "core", "configmaps", "kube-apiserver-legacy-service-account-token-tracking"),
    rule("delete patch", "core", "secrets"),
  ],
  "namespace-controller": [
    rule("delete get list watch", "core", "namespaces"),
    rule("update", "core", "namespaces/finalize namespaces/status"),
    rule("delete deletecollection get list watch", "*", "*"),
  ],
  "node-controller": [
    rule("delete get list patch update watch", "core", "nodes"),
    rule("patch update", "core", "nodes/status"),
    rule("patch update", "core", "pods/status"),
    rule("delete get list watch", "core", "pods"),
    RECORDS_EVENTS,
  ],
  "persistent-volume-binder": [
    rule("create delete get list update watch", "core", "persistentvolumes"),
    rule("update", "core", "persistentvolumes/status"),
    rule(READ_UPDATE, "core", "persistentvolumeclaims"),
    rule("update", "core", "persistentvolumeclaims/status"),
    rule("create delete get list watch", "core", "pods"),
    rule(READ, "storage~", "storageclasses"),
    rule("list watch", "core", "nodes"),
    RECORDS_EVENTS,
    rule("watch", "core", "events"),
  ],
  "pod-garbage-collector": [
    rule("delete list watch", "core", "pods"),
    rule(READ, "core", "nodes"),
    rule("patch", "core", "pods/status"),
  ],
  "pv-protection-controller": [rule(READ_UPDATE, "core", "persistentvolumes"), RECORDS_EVENTS],
  "pvc-protection-controller": [
    rule(READ_UPDATE, "core", "persistentvolumeclaims"),
    rule("update", "core", "persistentvolumeclaims/status"),
    rule(READ, "core", "pods"),
    RECORDS_EVENTS,
  ],
  "replicaset-controller": [
    rule(READ_UPDATE, "apps extensions", "replicasets"),
    rule("update", "apps extensions", "replicasets/status"),
    rule("update", "apps extensions", "replicasets/finalizers"),
    rule(OWN_PODS, "core", "pods"),
    RECORDS_EVENTS,
  ],
  "replication-controller": [
    rule(READ_UPDATE, "core", "replicationcontrollers"),
    rule("update", "core", "replicationcontrollers/status"),
    rule("update", "core", "replicationcontrollers/finalizers"),
    rule(OWN_PODS, "core", "pods"),
    RECORDS_EVENTS,
  ],
  "resource-claim-controller": [
    rule(READ, "core", "pods"),
    rule("update", "core", "pods/finalizers"),
    rule("create delete get list watch", "resource~", "resourceclaims"),
    rule("patch update", "resource~", "resourceclaims resourceclaims/status"),
    rule("patch update", "core", "pods/status"),
    RECORDS_EVENTS,
    rule("patch update", "resource~", "resourceclaims/binding"),
  ],
  "resourcequota-controller": [
    rule("list watch", "*", "*"),
    rule("update", "core", "resourcequotas/status"),
    RECORDS_EVENTS,
  ],
  "root-ca-cert-publisher": [rule("create update", "core", "configmaps"), RECORDS_EVENTS],
  "route-controller": [
    rule("list watch", "core", "nodes"),
    rule("patch", "core", "nodes/status"),
    RECORDS_EVENTS,
  ],
  "selinux-warning-controller": [
    RECORDS_EVENTS,
    rule(READ, "core", "persistentvolumes"),
    rule(READ, "core", "persistentvolumeclaims"),
    rule(READ, "core", "pods"),
    rule(READ, "storage~", "csidrivers"),
    rule("create", "core", "configmaps"),
    rule("patch", "core", "configmaps", "selinux-conflicts"),
  ],
  "service-account-controller": [rule("create", "core", "serviceaccounts"), RECORDS_EVENTS],
  "service-cidrs-controller": [
    rule(READ_PATCH, "networking~", "servicecidrs"),
    rule("patch update", "networking~", "servicecidrs/finalizers"),
    rule("patch update", "networking~", "servicecidrs/status"),
    rule(READ, "networking~", "ipaddresses"),
    RECORDS_EVENTS,
  ],
  "service-controller": [
    rule(READ, "core", "services"),
    rule("patch update", "core", "services/status"),
    rule("list watch", "core", "nodes"),
    RECORDS_EVENTS,
  ],
  "statefulset-controller": [
    rule("list watch", "core", "pods"),
    rule(READ, "apps", "statefulsets"),
    rule("update", "apps", "statefulsets/status"),
    rule("update", "apps", "statefulsets/finalizers"),
    rule("create delete get patch update", "core", "pods"),
    rule(ALL_BUT_COLLECTION, "apps", "controllerrevisions"),
    rule("create get list watch", "core", "persistentvolumeclaims"),
    rule("delete update", "core", "persistentvolumeclaims"),
    rule("update", "core", "pods/finalizers"),
    RECORDS_EVENTS,
  ],
  "ttl-after-finished-controller": [rule("delete get list watch", "batch", "jobs"), RECORDS_EVENTS],
  "ttl-controller": [rule("list patch update watch", "core", "nodes"), RECORDS_EVENTS],
  "validatingadmissionpolicy-status-controller": [
    rule(READ, "admissionregistration~", "validatingadmissionpolicies"),
    rule("get patch update", "admissionregistration~", "validatingadmissionpolicies/status"),
    RECORDS_EVENTS,
  ],
  "volumeattributesclass-protection-controller": [
    rule(READ, "core", "persistentvolumeclaims"),
    rule(READ, "core", "persistentvolumes"),
    rule(READ_UPDATE, "storage~", "volumeattributesclasses"),
    RECORDS_EVENTS,
  ],
};

export interface NamespacedRoleFact {
  readonly place: "system" | "public";
  readonly name: string;
  readonly rules: readonly RuleFact[];
  readonly binding: { readonly name: string; readonly subjects: readonly SubjectFact[] };
}

const user = (name: string): SubjectFact => ({ kind: "User", name });
const account = (name: string): SubjectFact => ({ kind: "ServiceAccount", name });

/** Bound by a binding of the same name to the service account of that name. */
function ofController(
  place: NamespacedRoleFact["place"],
  controller: string,
  rules: readonly RuleFact[],
): NamespacedRoleFact {
  const name = `system:controller:${controller}`;
  return { place, name, rules, binding: { name, subjects: [account(controller)] } };
}

function leaderLocking(component: string, ...subjects: readonly SubjectFact[]): NamespacedRoleFact {
  const name = `system::leader-locking-${component}`;
  const verbs = "create get list update watch";
  const rules = [
    rule(verbs, "coordination~", "leases"),
    rule(verbs, "coordination~", "leasecandidates"),
  ];
  return { place: "system", name, rules, binding: { name, subjects } };
}

export const NAMESPACED_ROLES: readonly NamespacedRoleFact[] = [
  ofController("public", "bootstrap-signer", [
    rule(READ, "core", "configmaps"),
    rule("update", "core", "configmaps", "cluster-info"),
    RECORDS_EVENTS,
  ]),
  {
    place: "system",
    name: "extension-apiserver-authentication-reader",
    rules: [rule(READ, "core", "configmaps", "extension-apiserver-authentication")],
    binding: {
      name: "system::extension-apiserver-authentication-reader",
      subjects: [user("system:kube-controller-manager"), user("system:kube-scheduler")],
    },
  },
  leaderLocking(
    "kube-controller-manager",
    user("system:kube-controller-manager"),
    account("kube-controller-manager"),
    account("leader-election-controller"),
  ),
  leaderLocking("kube-scheduler", user("system:kube-scheduler"), account("kube-scheduler")),
  ofController("system", "bootstrap-signer", [rule(READ, "core", "secrets")]),
  ofController("system", "cloud-provider", [rule("create get list watch", "core", "configmaps")]),
  ofController("system", "token-cleaner", [
    rule("delete get list watch", "core", "secrets"),
    RECORDS_EVENTS,
  ]),
];
