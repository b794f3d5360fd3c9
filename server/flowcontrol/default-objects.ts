/**
 * The flow schemas and priority levels that every server has. The API fixes the mandatory ones,
 * whatever is stored. The suggested ones are created once and kept up to date until an operator takes
 * them over. Names and numbers are those of kube-apiserver, release 1.36.
 */
import type { ApiObject, JsonObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { AUTHENTICATED_GROUP, MASTERS_GROUP, UNAUTHENTICATED_GROUP } from "../request/user-info.js";

export interface DefaultObjects {
  readonly levels: readonly ApiObject[];
  readonly schemas: readonly ApiObject[];
}

const NODES_GROUP = "system:nodes";
const SERVICE_ACCOUNTS_GROUP = "system:serviceaccounts";
const CONTROLLER_MANAGER = "system:kube-controller-manager";
const SCHEDULER = "system:kube-scheduler";

/** Their specifications cannot be changed. */
export function mandatoryObjects(naming: Naming): DefaultObjects {
  const { level, schema } = makers(naming);
  const everybody = [group(UNAUTHENTICATED_GROUP), group(AUTHENTICATED_GROUP)];
  return {
    levels: [
      level("exempt", {
        type: "Exempt",
        exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 },
      }),
      level("catch-all", {
        type: "Limited",
        limited: {
          nominalConcurrencyShares: 5,
          lendablePercent: 0,
          limitResponse: { type: "Reject" },
        },
      }),
    ],
    schemas: [
      schema("exempt", "exempt", 1, undefined, [all([group(MASTERS_GROUP)])]),
      schema("catch-all", "catch-all", 10_000, "ByUser", [all(everybody)]),
    ],
  };
}

export function suggestedObjects(naming: Naming): DefaultObjects {
  const { level, schema } = makers(naming);
  const { systemNamespace } = naming;
  const queued = (
    name: string,
    shares: number,
    lendablePercent: number,
    queues: number,
    handSize: number,
  ) =>
    level(name, {
      type: "Limited",
      limited: {
        nominalConcurrencyShares: shares,
        lendablePercent,
        limitResponse: { type: "Queue", queuing: { queues, handSize, queueLengthLimit: 50 } },
      },
    });
  const system = (name: string) => ({
    kind: "ServiceAccount",
    serviceAccount: { namespace: systemNamespace, name },
  });
  const leases = (namespace: string): JsonObject => ({
    verbs: ["get", "create", "update"],
    apiGroups: [`coordination.${naming.groupDomain}`],
    resources: ["leases"],
    namespaces: [namespace],
  });
  return {
    levels: [
      queued("system", 30, 33, 64, 6),
      queued("node-high", 40, 25, 64, 6),
      queued("leader-election", 10, 0, 16, 4),
      queued("workload-high", 40, 50, 128, 6),
      queued("workload-low", 100, 90, 128, 6),
      queued("global-default", 20, 50, 128, 6),
    ],
    schemas: [
      schema("system-nodes", "system", 500, "ByUser", [all([group(NODES_GROUP)])]),
      schema("system-node-high", "node-high", 400, "ByUser", [
        {
          subjects: [group(NODES_GROUP)],
          resourceRules: [
            {
              verbs: ["*"],
              apiGroups: [""],
              resources: ["nodes", "nodes/status"],
              clusterScope: true,
              namespaces: ["*"],
            },
            {
              verbs: ["*"],
              apiGroups: [`coordination.${naming.groupDomain}`],
              resources: ["leases"],
              namespaces: ["*"],
            },
          ],
        },
      ]),
      schema("probes", "exempt", 2, undefined, [
        {
          subjects: [group(UNAUTHENTICATED_GROUP), group(AUTHENTICATED_GROUP)],
          nonResourceRules: [
            { verbs: ["get"], nonResourceURLs: ["/healthz", "/readyz", "/livez"] },
          ],
        },
      ]),
      schema("system-leader-election", "leader-election", 100, "ByUser", [
        {
          subjects: [user(CONTROLLER_MANAGER), user(SCHEDULER), system("*")],
          resourceRules: [leases("*")],
        },
      ]),
      schema("kube-controller-manager", "workload-high", 800, "ByNamespace", [
        all([user(CONTROLLER_MANAGER)]),
      ]),
      schema("kube-scheduler", "workload-high", 800, "ByNamespace", [all([user(SCHEDULER)])]),
      schema(`${systemNamespace}-service-accounts`, "workload-high", 900, "ByNamespace", [
        all([system("*")]),
      ]),
      schema("service-accounts", "workload-low", 9000, "ByUser", [
        all([group(SERVICE_ACCOUNTS_GROUP)]),
      ]),
      schema("global-default", "global-default", 9900, "ByUser", [
        all([group(UNAUTHENTICATED_GROUP), group(AUTHENTICATED_GROUP)]),
      ]),
    ],
  };
}

function makers({ groupDomain }: Naming) {
  const apiVersion = `flowcontrol.apiserver.${groupDomain}/v1`;
  return {
    level: (name: string, spec: JsonObject): ApiObject => ({
      kind: "PriorityLevelConfiguration",
      apiVersion,
      metadata: { name },
      spec,
    }),
    schema: (
      name: string,
      priorityLevel: string,
      matchingPrecedence: number,
      distinguisher: "ByUser" | "ByNamespace" | undefined,
      rules: readonly JsonObject[],
    ): ApiObject => ({
      kind: "FlowSchema",
      apiVersion,
      metadata: { name },
      spec: {
        priorityLevelConfiguration: { name: priorityLevel },
        matchingPrecedence,
        ...(distinguisher !== undefined && { distinguisherMethod: { type: distinguisher } }),
        rules: [...rules],
      },
    }),
  };
}

function group(name: string): JsonObject {
  return { kind: "Group", group: { name } };
}

function user(name: string): JsonObject {
  return { kind: "User", user: { name } };
}

/** A rule for every request of these subjects. */
function all(subjects: readonly JsonObject[]): JsonObject {
  return {
    subjects: [...subjects],
    resourceRules: [
      {
        verbs: ["*"],
        apiGroups: ["*"],
        resources: ["*"],
        clusterScope: true,
        namespaces: ["*"],
      },
    ],
    nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
  };
}
