/** Rules for the storage group: classes, drivers and attachments. */

import { deepEqual } from "../../api/deep-equal.js";
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  requiredValue,
  tooLongValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { checkDnsSubdomain, checkQualifiedName } from "../../api/validation-names.js";
import {
  type LabelSelector,
  validateLabelKey,
  validateLabelSelector,
} from "../../api/validation-selectors.js";
import type { Maybe, Whole } from "../../api/validation-values.js";
import { validateDriverName, validateTokenLifetime } from "../core/validate-volumes.js";
import { checkImmutable } from "../generic/status-parts.js";
import { type Rules, validated } from "../generic/validated.js";

type Parameters = Readonly<Record<string, string>>;

const PARAMETERS_MAX = 512;
const PARAMETERS_BYTES_MAX = 256 * 1024;

/** Parameters for a driver, opaque to this API. */
function validateParameters(
  parameters: Maybe<Parameters>,
  field: string,
  { isNeeded, errors }: { isNeeded: boolean; errors: FieldError[] },
): void {
  const names = Object.keys(parameters ?? {});
  if (names.length > PARAMETERS_MAX) {
    errors.push(tooLongValue(field, PARAMETERS_MAX));
    return;
  }
  let bytes = 0;
  for (const name of names) {
    if (name === "") errors.push(invalidValue(field, name, "field can not be empty."));
    bytes += Buffer.byteLength(name) + Buffer.byteLength(parameters?.[name] ?? "");
  }
  if (bytes > PARAMETERS_BYTES_MAX) errors.push(tooLongValue(field, PARAMETERS_BYTES_MAX));
  if (isNeeded && names.length === 0) {
    errors.push(requiredValue(field, "must contain at least one key/value pair"));
  }
}

interface StorageClass extends ApiObject {
  provisioner?: string;
  parameters?: Maybe<Parameters>;
  reclaimPolicy?: Maybe<string>;
  volumeBindingMode?: Maybe<string>;
  allowedTopologies?: Maybe<readonly TopologyTerm[]>;
}

interface TopologyTerm {
  readonly matchLabelExpressions?: Maybe<
    readonly { readonly key: string; readonly values?: Maybe<readonly string[]> }[]
  >;
}

const RECLAIM_POLICIES = ["Delete", "Retain"];

const storageClassRules: Rules<StorageClass> = {
  object(next) {
    const errors = new Problems();
    const { provisioner = "", reclaimPolicy } = next;
    if (provisioner !== "") {
      for (const why of checkQualifiedName(provisioner.toLowerCase())) {
        errors.push(invalidValue("provisioner", provisioner, why));
      }
    }
    validateParameters(next.parameters, "parameters", { isNeeded: false, errors });
    // Recycling is only for manually created volumes.
    if (reclaimPolicy && !RECLAIM_POLICIES.includes(reclaimPolicy)) {
      errors.push(unsupportedValue("reclaimPolicy", reclaimPolicy, RECLAIM_POLICIES));
    }
    next.allowedTopologies?.forEach((term, index) => {
      validateTopology(term, `allowedTopologies[${index}]`, errors);
    });
    return errors;
  },
  change(next, current) {
    const errors = new Problems();
    for (const member of ["parameters", "provisioner", "reclaimPolicy"] as const) {
      if (deepEqual(next[member] ?? null, current[member] ?? null)) continue;
      errors.push(forbiddenField(member, `updates to ${member} are forbidden.`));
    }
    return [...errors, ...checkImmutable(next, current, ["volumeBindingMode"])];
  },
};

function validateTopology(term: TopologyTerm, field: string, errors: FieldError[]): void {
  const keys = new Set<string>();
  term.matchLabelExpressions?.forEach(({ key, values }, index) => {
    const at = `${field}.matchLabelExpressions[${index}]`;
    values?.forEach((value, valueIndex) => {
      if (values.indexOf(value) === valueIndex) return;
      errors.push(duplicateValue(`${at}.values[${valueIndex}]`, value));
    });
    validateLabelKey(key, `${at}.key`, errors);
    if (keys.has(key)) errors.push(duplicateValue(`${at}.key`, key));
    keys.add(key);
  });
}

interface CsiDriver extends ApiObject {
  spec?: {
    readonly volumeLifecycleModes?: Maybe<readonly string[]>;
    readonly fsGroupPolicy?: Maybe<string>;
    readonly tokenRequests?: Maybe<
      readonly { readonly audience: string; readonly expirationSeconds?: Maybe<Whole> }[]
    >;
  };
}

const LIFECYCLE_MODES = ["Ephemeral", "Persistent"];
const FS_GROUP_POLICIES = ["File", "None", "ReadWriteOnceWithFSType"];

const csiDriverRules: Rules<CsiDriver> = {
  object({ metadata, spec = {} }) {
    const errors = new Problems();
    validateDriverName(metadata.name ?? "", "metadata.name", errors);
    for (const mode of spec.volumeLifecycleModes ?? []) {
      if (LIFECYCLE_MODES.includes(mode)) continue;
      errors.push(unsupportedValue("spec.volumeLifecycleModes", mode, LIFECYCLE_MODES));
    }
    const policy = spec.fsGroupPolicy ?? undefined;
    if (policy !== undefined && !FS_GROUP_POLICIES.includes(policy)) {
      errors.push(unsupportedValue("spec.fsGroupPolicy", policy, FS_GROUP_POLICIES));
    }
    const requests = spec.tokenRequests ?? [];
    requests.forEach(({ audience, expirationSeconds }, index) => {
      const field = `spec.tokenRequests[${index}]`;
      if (requests.findIndex((other) => other.audience === audience) < index) {
        errors.push(duplicateValue(`${field}.audience`, audience));
      }
      validateTokenLifetime(expirationSeconds, `${field}.expirationSeconds`, errors);
    });
    return errors;
  },
  change: (next, current) =>
    checkImmutable(next, current, ["spec.attachRequired", "spec.volumeLifecycleModes"]),
};

interface CsiNode extends ApiObject {
  spec?: {
    readonly drivers?: Maybe<
      readonly {
        readonly name: string;
        readonly nodeID: string;
        readonly topologyKeys?: Maybe<readonly string[]>;
        readonly allocatable?: Maybe<{ readonly count?: Maybe<Whole> }>;
      }[]
    >;
  };
}

const NODE_ID_BYTES_MAX = 192;

const csiNodeRules: Rules<CsiNode> = {
  object({ spec }) {
    const errors = new Problems();
    const drivers = spec?.drivers ?? [];
    drivers.forEach(({ name, nodeID, topologyKeys, allocatable }, index) => {
      const field = `spec.drivers[${index}]`;
      validateDriverName(name, `${field}.name`, errors);
      if (drivers.findIndex((other) => other.name === name) < index) {
        errors.push(duplicateValue(`${field}.name`, name));
      }
      if (nodeID.length > NODE_ID_BYTES_MAX) {
        const why = `must be ${NODE_ID_BYTES_MAX} characters or less`;
        errors.push(invalidValue(`${field}.nodeID`, nodeID, why));
      }
      const count = allocatable?.count ?? 0;
      if (count < 0) {
        const why = "must be greater than or equal to 0";
        errors.push(invalidValue(`${field}.allocatable.count`, count, why));
      }
      topologyKeys?.forEach((key, keyIndex) => {
        if (key === "") errors.push(requiredValue(`${field}.topologyKeys`));
        else validateLabelKey(key, `${field}.topologyKeys`, errors);
        if (topologyKeys.indexOf(key) < keyIndex) {
          errors.push(duplicateValue(`${field}.topologyKeys`, key));
        }
      });
    });
    return errors;
  },
};

interface Attachment extends ApiObject {
  spec?: {
    readonly attacher: string;
    readonly source?: Maybe<{
      readonly persistentVolumeName?: Maybe<string>;
      readonly inlineVolumeSpec?: Maybe<object>;
    }>;
  };
}

const attachmentRules: Rules<Attachment> = {
  object({ spec }) {
    const errors = new Problems();
    if (spec === undefined) return errors;
    validateDriverName(spec.attacher, "spec.attacher", errors);
    const { persistentVolumeName, inlineVolumeSpec } = spec.source ?? {};
    const name = persistentVolumeName ?? undefined;
    const field = "spec.source";
    if (name === undefined && !inlineVolumeSpec) {
      const why = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
      errors.push(requiredValue(field, why));
    } else if (name !== undefined && inlineVolumeSpec) {
      const why = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
      errors.push(forbiddenField(field, why));
    } else if (name === "") {
      const why = "must specify non empty persistentVolumeName";
      errors.push(requiredValue(`${field}.persistentVolumeName`, why));
    }
    return errors;
  },
  change: (next, current) => checkImmutable(next, current, ["spec"]),
};

interface AttributesClass extends ApiObject {
  driverName?: string;
  parameters?: Maybe<Parameters>;
}

const attributesClassRules: Rules<AttributesClass> = {
  object({ driverName = "", parameters }) {
    const errors = new Problems();
    if (driverName !== "") {
      for (const why of checkDnsSubdomain(driverName.toLowerCase())) {
        errors.push(invalidValue("driverName", driverName, why));
      }
    }
    validateParameters(parameters, "parameters", { isNeeded: true, errors });
    return errors;
  },
  change(next, current) {
    const errors = new Problems();
    for (const member of ["driverName", "parameters"] as const) {
      if (deepEqual(next[member] ?? null, current[member] ?? null)) continue;
      errors.push(invalidValue(member, next[member], "field is immutable"));
    }
    return errors;
  },
};

interface Capacity extends ApiObject {
  storageClassName?: string;
  nodeTopology?: Maybe<LabelSelector>;
  capacity?: Maybe<string>;
  maximumVolumeSize?: Maybe<string>;
}

const capacityRules: Rules<Capacity> = {
  object({ storageClassName = "", nodeTopology, capacity, maximumVolumeSize }) {
    const errors = new Problems();
    if (storageClassName !== "") {
      for (const why of checkDnsSubdomain(storageClassName)) {
        errors.push(invalidValue("storageClassName", storageClassName, why));
      }
    }
    for (const [member, amount] of [
      ["capacity", capacity],
      ["maximumVolumeSize", maximumVolumeSize],
    ] as const) {
      if (!amount?.startsWith("-")) continue;
      errors.push(invalidValue(member, amount, "must be greater than or equal to 0"));
    }
    validateLabelSelector(nodeTopology, "nodeTopology", errors);
    return errors;
  },
  change: (next, current) => checkImmutable(next, current, ["storageClassName", "nodeTopology"]),
};

export const validatesStorageClass = validated(storageClassRules);
export const validatesCsiDriver = validated(csiDriverRules);
export const validatesCsiNode = validated(csiNodeRules);
export const validatesVolumeAttachment = validated(attachmentRules);
export const validatesVolumeAttributesClass = validated(attributesClassRules);
export const validatesCsiStorageCapacity = validated(capacityRules);
