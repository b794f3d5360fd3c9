/** The strategies of the core group, by resource. */
import { isRecord } from "../../../storage/base/is-record.js";
import { deepEqual } from "../../api/deep-equal.js";
import type { ApiObject } from "../../api/meta.js";
import { formatTime } from "../../api/time.js";
import { checkLongName } from "../../api/validation-names.js";
import type { Maybe } from "../../api/validation-values.js";
import type { StrategyTable } from "../../kinds/strategy.js";
import { nodeNameOf } from "../../request/node-identity.js";
import { eventStrategy } from "../events/event.js";
import { warnOfBlock } from "../generic/address-warnings.js";
import { alignFirst, membersAt, selectable } from "../generic/fields.js";
import { dropGatedFields } from "../generic/gated-fields.js";
import { workloadNameWarnings } from "../generic/name-warnings.js";
import { dropsStatus, specAndStatus } from "../generic/status-parts.js";
import { WarningList } from "../generic/warning-list.js";
import { alignClaimSources } from "./claim-sources.js";
import { configMapStrategy, secretStrategy } from "./configuration.js";
import { namespaceStrategy } from "./namespace.js";
import { podStrategy } from "./pod.js";
import { serviceStrategy } from "./service.js";
import { claimWarnings, volumeWarnings } from "./storage-warnings.js";
import { templated } from "./templated.js";
import { endpointsWarnings, validatesEndpoints, validatesNode } from "./validate-cluster.js";
import { validatesPodTemplate, validatesReplicationController } from "./validate-controllers.js";
import {
  validatesPersistentVolume,
  validatesPersistentVolumeClaim,
} from "./validate-persistent-volumes.js";
import { validatesLimitRange, validatesResourceQuota } from "./validate-quotas.js";

/** Configuration of node agents by objects is gone, and what asks for it is dropped. */
const NODE_GATED = ["spec.configSource", "status.config"];

/** @param gated what is dropped */
function prepareNode(node: ApiObject, current?: ApiObject, gated = NODE_GATED): void {
  if (isRecord(node.spec)) alignFirst(node.spec, "podCIDR", "podCIDRs");
  dropGatedFields(node, current, gated);
}

function nodeWarnings({ spec }: ApiObject): readonly string[] {
  const warnings = new WarningList();
  const { externalID = "", podCIDRs } = (spec ?? {}) as {
    externalID?: string;
    podCIDRs?: Maybe<readonly string[]>;
  };
  if (externalID !== "") {
    warnings.add("spec.externalID: this field is deprecated, and is unused by Kubernetes");
  }
  (podCIDRs ?? []).forEach((block, index) => {
    warnOfBlock(block, `spec.podCIDRs[${index}]`, warnings);
  });
  return warnings.texts;
}

/** A quota limits by its spec and the copy in its status; its usage is compared separately. */
function boundsAlike(next: ApiObject | undefined, current: ApiObject | undefined): boolean {
  if (next === undefined || current === undefined) return false;
  const hardOf = ({ status }: ApiObject) => (isRecord(status) ? status.hard : undefined);
  return deepEqual(next.spec, current.spec) && deepEqual(hardOf(next), hardOf(current));
}

/** When a volume's phase changed: what a report leaves out is filled in. */
function keepTransitionTime(next: ApiObject, current: ApiObject, nowMs: number): void {
  const [status, before] = [membersAt(next, "status"), membersAt({ ...current }, "status")];
  const isUnsaid = (status.lastPhaseTransitionTime ?? null) === null;
  const was = before.lastPhaseTransitionTime;
  if ((status.phase ?? "") === (before.phase ?? "")) {
    if (isUnsaid && was !== undefined) status.lastPhaseTransitionTime = was;
  } else if (isUnsaid || status.lastPhaseTransitionTime === was) {
    status.lastPhaseTransitionTime = formatTime(nowMs);
  }
}

/** A service account's secrets are of its namespace: of a reference to one only the name is kept. */
function keepNamesOfSecrets(next: ApiObject): void {
  const { secrets } = next as { secrets?: readonly { readonly name?: string }[] | null };
  if (!Array.isArray(secrets)) return;
  Object.assign(next, {
    secrets: secrets.map(({ name }) => (name === undefined ? {} : { name })),
  });
}

export const coreStrategies: StrategyTable = {
  "/configmaps": configMapStrategy,
  "/endpoints": { ...validatesEndpoints, warnings: endpointsWarnings, allowCreateOnUpdate: true },
  "/events": eventStrategy,
  "/limitranges": { ...validatesLimitRange, allowCreateOnUpdate: true, judges: "namespace" },
  "/namespaces": namespaceStrategy,
  // A node agent registers its Node with a status.
  "/nodes": {
    ...validatesNode,
    prepareForCreate: (next) => prepareNode(next),
    prepareForUpdate(next, current, { user }) {
      // What a node itself asks for is left for admission to refuse.
      const isOwn = nodeNameOf(user) !== undefined;
      prepareNode(next, current, isOwn ? NODE_GATED.slice(1) : NODE_GATED);
    },
    warnings: nodeWarnings,
    ...selectable(["spec.unschedulable"], { "spec.unschedulable": "false" }),
  },
  "/persistentvolumeclaims": {
    ...validatesPersistentVolumeClaim,
    prepareForCreate(next, { naming }) {
      next.status = { phase: "Pending" };
      alignClaimSources(next, undefined, naming);
    },
    prepareForUpdate(next, current, { subresource, naming }) {
      if (subresource !== "") return;
      alignClaimSources(next, current, naming);
    },
    warnings: claimWarnings,
    returnsDeletedObject: true,
    judgedBy: ["classes"],
  },
  "/persistentvolumes": {
    ...validatesPersistentVolume,
    prepareForCreate(next, { nowMs }) {
      next.status = { phase: "Pending", lastPhaseTransitionTime: formatTime(nowMs) };
    },
    prepareForUpdate(next, current, { subresource, nowMs }) {
      if (subresource === "status") keepTransitionTime(next, current, nowMs);
    },
    warnings: volumeWarnings,
    returnsDeletedObject: true,
  },
  "/pods": podStrategy,
  "/podtemplates": templated("template", {
    ...validatesPodTemplate,
    generationFields: ["template"],
    returnsDeletedObject: true,
  }),
  "/replicationcontrollers": templated("spec.template", {
    ...specAndStatus,
    ...validatesReplicationController,
    garbageCollection: "orphan",
    validateName: checkLongName,
    warnings: workloadNameWarnings,
    ...selectable(["status.replicas"], { "status.replicas": "0" }),
  }),
  "/resourcequotas": {
    ...dropsStatus,
    ...validatesResourceQuota,
    returnsDeletedObject: true,
    judges: "namespace",
    judgesAlike: boundsAlike,
  },
  "/secrets": secretStrategy,
  "/serviceaccounts": {
    returnsDeletedObject: true,
    prepareForCreate: keepNamesOfSecrets,
    prepareForUpdate: keepNamesOfSecrets,
    judges: "accounts",
    warnings({ metadata }, _current, { naming }) {
      const annotation = `${naming.labelDomain}/enforce-mountable-secrets`;
      if (metadata.annotations?.[annotation] === undefined) return [];
      return [
        `metadata.annotations[${annotation}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
      ];
    },
  },
  "/services": serviceStrategy,
};
