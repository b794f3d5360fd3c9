/**
 * Strategies of the groups whose types need little of their own: which part counts as the spec, what
 * names look like, whether a PUT may create or overwrite.
 */
import { isIP } from "node:net";
import type { ApiObject } from "../api/meta.js";
import { checkPathSegmentName } from "../api/validation-names.js";
import { isMembers, membersAt, selectable, valueAt } from "./generic/fields.js";
import { formatTime } from "./generic/metadata.js";
import type { ResourceStrategy, StrategyTable } from "./generic/served-resource.js";
import { checkImmutable, dropsStatus, specAndStatus, statusOnly } from "./generic/status-parts.js";

const noUnconditionalUpdate = { allowUnconditionalUpdate: false } as const;

/** Webhook configurations and policies: replaced only by who has seen what is there. */
const admissionStrategies: StrategyTable = {
  "admissionregistration.k8s.io/mutatingwebhookconfigurations": {
    ...noUnconditionalUpdate,
    generationFields: ["webhooks"],
  },
  "admissionregistration.k8s.io/validatingwebhookconfigurations": {
    ...noUnconditionalUpdate,
    generationFields: ["webhooks"],
  },
  "admissionregistration.k8s.io/validatingadmissionpolicies": {
    ...specAndStatus,
    ...statusOnly,
    ...noUnconditionalUpdate,
  },
  "admissionregistration.k8s.io/validatingadmissionpolicybindings": {
    ...noUnconditionalUpdate,
    generationFields: ["spec"],
  },
  "admissionregistration.k8s.io/mutatingadmissionpolicies": {
    ...noUnconditionalUpdate,
    generationFields: ["spec"],
  },
  "admissionregistration.k8s.io/mutatingadmissionpolicybindings": {
    ...noUnconditionalUpdate,
    generationFields: ["spec"],
  },
};

const extensionStrategies: StrategyTable = {
  "apiextensions.k8s.io/customresourcedefinitions": {
    ...statusOnly,
    ...noUnconditionalUpdate,
    generationFields: ["spec"],
    prepareForCreate(next) {
      const versions = valueAt(next, ["spec", "versions"]);
      const stored = (Array.isArray(versions) ? versions : [])
        .filter((version) => isMembers(version) && version.storage === true)
        .map((version) => (version as { name?: unknown }).name);
      next.status = { storedVersions: stored };
    },
  },
  "apiregistration.k8s.io/apiservices": {
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
  "certificates.k8s.io/certificatesigningrequests": {
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
  "certificates.k8s.io/clustertrustbundles": {
    ...noUnconditionalUpdate,
    ...selectable(["spec.signerName"]),
  },
  "certificates.k8s.io/podcertificaterequests": {
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
const rbac: ResourceStrategy = { allowCreateOnUpdate: true, validateName: checkPathSegmentName };
const rbacBinding: ResourceStrategy = {
  ...rbac,
  // Whoever may change the subjects may not thereby hand out another role.
  validateUpdate: (next, current) => checkImmutable(next, current, ["roleRef"]),
};

const networkingStrategies: StrategyTable = {
  "networking.k8s.io/ingresses": specAndStatus,
  "networking.k8s.io/ingressclasses": { generationFields: ["spec"] },
  "networking.k8s.io/networkpolicies": { generationFields: ["spec"] },
  "networking.k8s.io/ipaddresses": {
    validateName: (name) =>
      isIP(name) !== 0 ? [] : ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"],
  },
  "networking.k8s.io/servicecidrs": dropsStatus,
};

const resourceStrategies: StrategyTable = {
  "resource.k8s.io/deviceclasses": { generationFields: ["spec"], returnsDeletedObject: true },
  "resource.k8s.io/resourceclaims": {
    ...dropsStatus,
    ...statusOnly,
    returnsDeletedObject: true,
    validateUpdate: (next, current) => checkImmutable(next, current, ["spec"]),
  },
  "resource.k8s.io/resourceclaimtemplates": {
    returnsDeletedObject: true,
    validateUpdate: (next, current) => checkImmutable(next, current, ["spec"]),
  },
  "resource.k8s.io/resourceslices": {
    generationFields: ["spec"],
    returnsDeletedObject: true,
    ...selectable(["spec.nodeName", "spec.driver"]),
  },
  "resource.k8s.io/devicetaintrules": specAndStatus,
};

const storageStrategies: StrategyTable = {
  "storage.k8s.io/csidrivers": {
    ...noUnconditionalUpdate,
    generationFields: ["spec"],
    returnsDeletedObject: true,
  },
  "storage.k8s.io/csinodes": { ...noUnconditionalUpdate, returnsDeletedObject: true },
  "storage.k8s.io/csistoragecapacities": { ...noUnconditionalUpdate, returnsDeletedObject: true },
  "storage.k8s.io/storageclasses": {
    returnsDeletedObject: true,
    validateUpdate: (next, current) =>
      checkImmutable(next, current, [
        "provisioner",
        "parameters",
        "reclaimPolicy",
        "volumeBindingMode",
      ]),
  },
  "storage.k8s.io/volumeattachments": {
    ...dropsStatus,
    ...statusOnly,
    ...noUnconditionalUpdate,
    returnsDeletedObject: true,
  },
  "storage.k8s.io/volumeattributesclasses": {
    returnsDeletedObject: true,
    validateUpdate: (next, current) => checkImmutable(next, current, ["driverName", "parameters"]),
  },
};

export const otherStrategies: StrategyTable = {
  ...admissionStrategies,
  ...extensionStrategies,
  ...certificateStrategies,
  ...networkingStrategies,
  ...resourceStrategies,
  ...storageStrategies,
  "autoscaling/horizontalpodautoscalers": dropsStatus,
  "coordination.k8s.io/leases": { ...noUnconditionalUpdate, allowCreateOnUpdate: true },
  "coordination.k8s.io/leasecandidates": { ...noUnconditionalUpdate, allowCreateOnUpdate: true },
  "discovery.k8s.io/endpointslices": {
    generationFields: ["endpoints", "ports", "addressType"],
    validateUpdate: (next, current) => checkImmutable(next, current, ["addressType"]),
  },
  "flowcontrol.apiserver.k8s.io/flowschemas": flowControl,
  "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations": flowControl,
  "internal.apiserver.k8s.io/storageversions": { ...dropsStatus, ...noUnconditionalUpdate },
  "node.k8s.io/runtimeclasses": {
    ...noUnconditionalUpdate,
    validateUpdate: (next, current) => checkImmutable(next, current, ["handler"]),
  },
  "policy/poddisruptionbudgets": { ...specAndStatus, ...noUnconditionalUpdate },
  "rbac.authorization.k8s.io/clusterroles": rbac,
  "rbac.authorization.k8s.io/roles": rbac,
  "rbac.authorization.k8s.io/clusterrolebindings": rbacBinding,
  "rbac.authorization.k8s.io/rolebindings": rbacBinding,
  "scheduling.k8s.io/priorityclasses": {
    generationFields: [],
    validateUpdate: (next, current) => checkImmutable(next, current, ["value", "preemptionPolicy"]),
  },
  "scheduling.k8s.io/podgroups": dropsStatus,
  "storagemigration.k8s.io/storageversionmigrations": { ...dropsStatus, ...noUnconditionalUpdate },
};
