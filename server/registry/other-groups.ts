/**
 * Strategies of the groups whose types need little of their own: which part counts as the spec, what
 * names look like, whether a PUT may create or overwrite.
 */
import { isIP } from "node:net";
import type { ApiObject } from "../api/meta.js";
import { checkPathSegmentName } from "../api/validation-names.js";
import type { ResourceStrategy, StrategyTable } from "../kinds/strategy.js";
import { validatesWebhooks } from "./admissionregistration/validate-webhooks.js";
import { validatesApiService } from "./apiregistration/validate-api-service.js";
import { validatesAutoscaler } from "./autoscaling/validate-autoscaler.js";
import { validatesSigningRequest } from "./certificates/validate-signing-request.js";
import { validatesLease, validatesLeaseCandidate } from "./coordination/validate-lease.js";
import { validatesEndpointSlice } from "./discovery/validate-endpoint-slice.js";
import { validatesFlowSchema } from "./flowcontrol/validate-flow-schema.js";
import { validatesPriorityLevel } from "./flowcontrol/validate-priority-level.js";
import { isMembers, membersAt, selectable, valueAt } from "./generic/fields.js";
import { formatTime } from "./generic/metadata.js";
import { checkImmutable, dropsStatus, specAndStatus, statusOnly } from "./generic/status-parts.js";
import {
  validatesIngress,
  validatesIngressClass,
  validatesIpAddress,
  validatesNetworkPolicy,
  validatesServiceCidr,
} from "./networking/validate-networking.js";
import { validatesRuntimeClass } from "./node/validate-runtime-class.js";
import { validatesPodDisruptionBudget } from "./policy/validate-budget.js";
import {
  validatesClusterRole,
  validatesClusterRoleBinding,
  validatesRole,
  validatesRoleBinding,
} from "./rbac/validate-rbac.js";
import { validatesPriorityClass } from "./scheduling/validate-priority-class.js";
import {
  validatesCsiDriver,
  validatesCsiNode,
  validatesCsiStorageCapacity,
  validatesStorageClass,
  validatesVolumeAttachment,
  validatesVolumeAttributesClass,
} from "./storage/validate-storage-kinds.js";

const noUnconditionalUpdate = { allowUnconditionalUpdate: false } as const;

/** Webhook configurations and policies: replaced only by who has seen what is there. */
const admissionStrategies: StrategyTable = {
  "admissionregistration/mutatingwebhookconfigurations": {
    judges: "cluster",
    ...validatesWebhooks,
    ...noUnconditionalUpdate,
    generationFields: ["webhooks"],
  },
  "admissionregistration/validatingwebhookconfigurations": {
    judges: "cluster",
    ...validatesWebhooks,
    ...noUnconditionalUpdate,
    generationFields: ["webhooks"],
  },
  "admissionregistration/validatingadmissionpolicies": {
    judges: "cluster",
    ...specAndStatus,
    ...statusOnly,
    ...noUnconditionalUpdate,
  },
  "admissionregistration/validatingadmissionpolicybindings": {
    judges: "cluster",
    ...noUnconditionalUpdate,
    generationFields: ["spec"],
  },
  "admissionregistration/mutatingadmissionpolicies": {
    judges: "cluster",
    ...noUnconditionalUpdate,
    generationFields: ["spec"],
  },
  "admissionregistration/mutatingadmissionpolicybindings": {
    judges: "cluster",
    ...noUnconditionalUpdate,
    generationFields: ["spec"],
  },
};

const aggregationStrategies: StrategyTable = {
  "apiregistration/apiservices": {
    judges: "cluster",
    ...validatesApiService,
    // The legacy group has no name: its version is "v1.".
    validateName: checkPathSegmentName,
    ...statusOnly,
    ...noUnconditionalUpdate,
    prepareForCreate(next, { nowMs }) {
      delete next.status;
      const service = valueAt(next, ["spec", "service"]);
      if (service !== undefined && service !== null) return;
      next.status = { conditions: [localApiCondition(nowMs)] };
    },
  },
};

function localApiCondition(nowMs: number): object {
  return {
    type: "Available",
    status: "True",
    lastTransitionTime: formatTime(nowMs),
    reason: "Local",
    message: "Local APIServices are always available",
  };
}

const DECISIONS: ReadonlySet<unknown> = new Set(["Approved", "Denied"]);

const certificateStrategies: StrategyTable = {
  "certificates/certificatesigningrequests": {
    ...validatesSigningRequest,
    /** Who asks is what the signer must know, so it is never the client's own word. */
    prepareForCreate(next, { user }) {
      delete next.status;
      const spec = membersAt(next, "spec");
      spec.username = user.name;
      spec.uid = user.uid;
      spec.groups = [...user.groups];
      spec.extra = user.extra;
    },
    prepareForUpdate(next, current, { subresource }) {
      next.spec = current.spec;
      if (subresource === "status") keepDecisions(next, current);
    },
    ...selectable(["spec.signerName"]),
  },
  "certificates/clustertrustbundles": {
    ...noUnconditionalUpdate,
    ...selectable(["spec.signerName"]),
  },
  "certificates/podcertificaterequests": {
    ...dropsStatus,
    ...selectable(["spec.signerName", "spec.podName", "spec.nodeName"]),
  },
};

/** Approval has its own subresource: signers may not grant what they then sign. */
function keepDecisions(next: ApiObject, current: ApiObject): void {
  const kept = conditionsOf(current).filter(({ type }) => DECISIONS.has(type));
  const others = conditionsOf(next).filter(({ type }) => !DECISIONS.has(type));
  const status = membersAt(next, "status");
  if (kept.length + others.length === 0) delete status.conditions;
  else status.conditions = [...kept, ...others];
}

function conditionsOf(object: ApiObject): Record<string, unknown>[] {
  const conditions = valueAt(object, ["status", "conditions"]);
  return Array.isArray(conditions) ? conditions.filter(isMembers) : [];
}

const flowControl: ResourceStrategy = { ...specAndStatus, ...statusOnly };

/** Names of RBAC objects are words of their users: colons, capitals and all. */
const rbac: ResourceStrategy = {
  allowCreateOnUpdate: true,
  validateName: checkPathSegmentName,
  judges: "grants",
  judgedBy: "grants",
};

const networkingStrategies: StrategyTable = {
  "networking/ingresses": { ...specAndStatus, ...validatesIngress, judgedBy: "classes" },
  "networking/ingressclasses": {
    ...validatesIngressClass,
    generationFields: ["spec"],
    judges: "classes",
  },
  "networking/networkpolicies": { ...validatesNetworkPolicy, generationFields: ["spec"] },
  "networking/ipaddresses": {
    ...validatesIpAddress,
    validateName: (name) =>
      isIP(name) !== 0 ? [] : ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"],
  },
  "networking/servicecidrs": { ...dropsStatus, ...validatesServiceCidr },
};

const resourceStrategies: StrategyTable = {
  "resource/deviceclasses": { generationFields: ["spec"], returnsDeletedObject: true },
  "resource/resourceclaims": {
    ...dropsStatus,
    ...statusOnly,
    returnsDeletedObject: true,
    validateUpdate: (next, current) => checkImmutable(next, current, ["spec"]),
  },
  "resource/resourceclaimtemplates": {
    returnsDeletedObject: true,
    validateUpdate: (next, current) => checkImmutable(next, current, ["spec"]),
  },
  "resource/resourceslices": {
    generationFields: ["spec"],
    returnsDeletedObject: true,
    ...selectable(["spec.nodeName", "spec.driver"]),
  },
  "resource/devicetaintrules": specAndStatus,
};

const storageStrategies: StrategyTable = {
  "storage/csidrivers": {
    ...validatesCsiDriver,
    ...noUnconditionalUpdate,
    generationFields: ["spec"],
    returnsDeletedObject: true,
  },
  "storage/csinodes": {
    ...validatesCsiNode,
    ...noUnconditionalUpdate,
    returnsDeletedObject: true,
  },
  "storage/csistoragecapacities": {
    ...validatesCsiStorageCapacity,
    ...noUnconditionalUpdate,
    returnsDeletedObject: true,
  },
  "storage/storageclasses": {
    ...validatesStorageClass,
    returnsDeletedObject: true,
    judges: "classes",
  },
  "storage/volumeattachments": {
    ...validatesVolumeAttachment,
    ...dropsStatus,
    ...statusOnly,
    ...noUnconditionalUpdate,
    returnsDeletedObject: true,
  },
  "storage/volumeattributesclasses": {
    ...validatesVolumeAttributesClass,
    returnsDeletedObject: true,
  },
};

export const otherStrategies: StrategyTable = {
  ...admissionStrategies,
  ...aggregationStrategies,
  ...certificateStrategies,
  ...networkingStrategies,
  ...resourceStrategies,
  ...storageStrategies,
  "autoscaling/horizontalpodautoscalers": { ...dropsStatus, ...validatesAutoscaler },
  "coordination/leases": { ...validatesLease, ...noUnconditionalUpdate, allowCreateOnUpdate: true },
  "coordination/leasecandidates": {
    ...validatesLeaseCandidate,
    ...noUnconditionalUpdate,
    allowCreateOnUpdate: true,
  },
  "discovery/endpointslices": {
    ...validatesEndpointSlice,
    generationFields: ["endpoints", "ports", "addressType"],
  },
  "flowcontrol.apiserver/flowschemas": { ...flowControl, ...validatesFlowSchema },
  "flowcontrol.apiserver/prioritylevelconfigurations": {
    ...flowControl,
    ...validatesPriorityLevel,
  },
  "internal.apiserver/storageversions": { ...dropsStatus, ...noUnconditionalUpdate },
  "node/runtimeclasses": {
    ...validatesRuntimeClass,
    judges: "classes",
    ...noUnconditionalUpdate,
  },
  "policy/poddisruptionbudgets": {
    ...specAndStatus,
    ...validatesPodDisruptionBudget,
    ...noUnconditionalUpdate,
  },
  "rbac.authorization/clusterroles": { ...rbac, ...validatesClusterRole },
  "rbac.authorization/roles": { ...rbac, ...validatesRole },
  "rbac.authorization/clusterrolebindings": { ...rbac, ...validatesClusterRoleBinding },
  "rbac.authorization/rolebindings": { ...rbac, ...validatesRoleBinding },
  "scheduling/priorityclasses": {
    ...validatesPriorityClass,
    judges: "classes",
    generationFields: [],
  },
  "scheduling/podgroups": dropsStatus,
  "storagemigration/storageversionmigrations": { ...dropsStatus, ...noUnconditionalUpdate },
};
