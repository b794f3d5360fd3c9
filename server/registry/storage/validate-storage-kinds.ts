/** Rules for the storage group: classes, drivers and attachments. */

import { deepEqual } from "../../api/deep-equal.js";
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  invalidValues,
  requiredValue,
  tooLongValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { checkQualifiedName } from "../../api/validation-names.js";
import {
  type LabelSelector,
  validateLabelKey,
  validateLabelSelector,
} from "../../api/validation-selectors.js";
import {
  type Maybe,
  repeats,
  validateChoice,
  validateDnsSubdomain,
  validateId,
  type Whole,
} from "../../api/validation-values.js";
import { type VolumeSpec, validateVolumeSpec } from "../core/validate-persistent-volumes.js";
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
    if (provisioner === "") errors.push(requiredValue("provisioner"));
    else validateProviderName(provisioner, "provisioner", errors);
    validateParameters(next.parameters, "parameters", { isNeeded: false, errors });
    // Recycling is only for manually created volumes.
    if (reclaimPolicy && !RECLAIM_POLICIES.includes(reclaimPolicy)) {
      errors.push(unsupportedValue("reclaimPolicy", reclaimPolicy, RECLAIM_POLICIES));
    }
    const terms = next.allowedTopologies ?? [];
    // kube-apiserver compares with as many terms without expressions as there are terms.
    const counts = new Map([[topologyText({}), terms.length]]);
    terms.forEach((term, index) => {
      validateTopology(term, `allowedTopologies[${index}]`, errors);
      const text = topologyText(term);
      const count = counts.get(text) ?? 0;
      for (let told = 0; told < count; told++) {
        errors.push(duplicateValue(`allowedTopologies[${index}].matchLabelExpressions`, ""));
      }
      counts.set(text, count + 1);
    });
    return errors;
  },
  change(next, current) {
    const errors = new Problems();
    const fixed = ["provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"];
    errors.push(...checkImmutable(next, current, fixed));
    return errors;
  },
};

/** Names of programs are judged, and shown, in lower case. */
function validateProviderName(text: string, field: string, errors: FieldError[]): void {
  const name = text.toLowerCase();
  errors.push(...invalidValues(field, name, checkQualifiedName(name)));
}

function validateTopology(term: TopologyTerm, field: string, errors: FieldError[]): void {
  const keys = new Set<string>();
  term.matchLabelExpressions?.forEach(({ key, values }, index) => {
    const at = `${field}.matchLabelExpressions[${index}]`;
    const isRepeated = repeats();
    values?.forEach((value, valueIndex) => {
      if (!isRepeated(value)) return;
      errors.push(duplicateValue(`${at}.values[${valueIndex}]`, value));
    });
    validateLabelKey(key, `${at}.key`, errors);
    if (keys.has(key)) errors.push(duplicateValue(`${at}.key`, key));
    keys.add(key);
  });
}

/** Equal for terms that mean the same, in any order. */
function topologyText({ matchLabelExpressions }: TopologyTerm): string {
  const parts = (matchLabelExpressions ?? []).map(({ key, values }) =>
    JSON.stringify([key, [...(values ?? [])].sort()]),
  );
  return parts.sort().join();
}

interface CsiDriver extends ApiObject {
  spec?: {
    readonly volumeLifecycleModes?: Maybe<readonly string[]>;
    readonly fsGroupPolicy?: Maybe<string>;
    readonly nodeAllocatableUpdatePeriodSeconds?: Maybe<Whole>;
    readonly serviceAccountTokenInSecrets?: Maybe<boolean>;
    readonly tokenRequests?: Maybe<
      readonly { readonly audience: string; readonly expirationSeconds?: Maybe<Whole> }[]
    >;
  };
}

const LIFECYCLE_MODES = ["Persistent", "Ephemeral"];
const UPDATE_SECONDS_MIN = 10;
const FS_GROUP_POLICIES = ["File", "None", "ReadWriteOnceWithFSType"];

const csiDriverRules: Rules<CsiDriver> = {
  object({ spec = {} }) {
    const errors = new Problems();
    for (const mode of spec.volumeLifecycleModes ?? []) {
      validateChoice(mode, "spec.volumeLifecycleModes", LIFECYCLE_MODES, errors);
    }
    validateChoice(spec.fsGroupPolicy, "spec.fsGroupPolicy", FS_GROUP_POLICIES, errors);
    const requests = spec.tokenRequests ?? [];
    const isRepeated = repeats();
    requests.forEach(({ audience, expirationSeconds }, index) => {
      const field = `spec.tokenRequests[${index}]`;
      if (isRepeated(audience)) {
        errors.push(duplicateValue(`${field}.audience`, audience));
      }
      validateTokenLifetime(expirationSeconds, `${field}.expirationSeconds`, errors);
    });
    const period = spec.nodeAllocatableUpdatePeriodSeconds ?? undefined;
    if (period !== undefined && period < UPDATE_SECONDS_MIN) {
      const why = `must be greater than or equal to ${UPDATE_SECONDS_MIN} seconds`;
      errors.push(invalidValue("spec.nodeAllocatableUpdatePeriodSeconds", period, why));
    }
    const inSecrets = spec.serviceAccountTokenInSecrets ?? undefined;
    if (inSecrets !== undefined && requests.length === 0) {
      const why = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
      errors.push(invalidValue("spec.serviceAccountTokenInSecrets", inSecrets, why));
    }
    return errors;
  },
  change(next, current) {
    const fixed = ["spec.attachRequired", "spec.volumeLifecycleModes"];
    // The first one is reported by another name, which clients know.
    return checkImmutable(next, current, fixed).map((error) =>
      error.field === "spec.attachRequired" ? { ...error, field: "spec.attachedRequired" } : error,
    );
  },
};

interface CsiNode extends ApiObject {
  spec?: {
    readonly drivers?: Maybe<readonly NodeDriver[]>;
  };
}

interface NodeDriver {
  readonly name: string;
  readonly nodeID: string;
  readonly topologyKeys?: Maybe<readonly string[]>;
  readonly allocatable?: Maybe<{ readonly count?: Maybe<Whole> }>;
}

const NODE_ID_BYTES_MAX = 256;

/** As messages show it: kube-apiserver's struct. */
function shownDriver({ name, nodeID, topologyKeys, allocatable }: NodeDriver): object {
  return {
    Name: name,
    NodeID: nodeID ?? "",
    TopologyKeys: topologyKeys ?? null,
    Allocatable: allocatable ? { Count: allocatable.count ?? null } : null,
  };
}

const csiNodeRules: Rules<CsiNode> = {
  object({ spec }) {
    const errors = new Problems();
    const drivers = spec?.drivers ?? [];
    const isRepeated = repeats();
    drivers.forEach(({ name, nodeID, topologyKeys, allocatable }, index) => {
      const field = `spec.drivers[${index}]`;
      validateDriverName(name, `${field}.name`, errors);
      if (isRepeated(name)) {
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
      // Reported for the driver, and not for its list of keys.
      const keys = new Set<string>();
      topologyKeys?.forEach((key) => {
        if (keys.has(key)) errors.push(duplicateValue(field, key));
        keys.add(key);
        if (key === "") errors.push(requiredValue(field));
        validateLabelKey(key, field, errors);
      });
    });
    return errors;
  },
  change(next, current) {
    const errors = new Problems();
    const before = new Map((current.spec?.drivers ?? []).map((driver) => [driver.name, driver]));
    for (const driver of next.spec?.drivers ?? []) {
      const known = before.get(driver.name);
      // How many volumes the node takes may change, who it is may not.
      if (known === undefined || deepEqual(identityOf(driver), identityOf(known))) continue;
      errors.push(invalidValue("spec.drivers", shownDriver(driver), "field is immutable"));
    }
    return errors;
  },
};

function identityOf({ name, nodeID, topologyKeys }: NodeDriver): object {
  return { name, nodeID, topologyKeys: topologyKeys ?? [] };
}

interface Attachment extends ApiObject {
  spec?: {
    readonly attacher: string;
    readonly nodeName?: string;
    readonly source?: Maybe<{
      readonly persistentVolumeName?: Maybe<string>;
      readonly inlineVolumeSpec?: Maybe<VolumeSpec>;
    }>;
  };
  status?: {
    readonly attachmentMetadata?: Maybe<Parameters>;
    readonly attachError?: Maybe<VolumeError>;
    readonly detachError?: Maybe<VolumeError>;
  };
}

interface VolumeError {
  readonly message?: string;
  readonly errorCode?: Maybe<Whole>;
}

const attachmentRules: Rules<Attachment> = {
  object({ spec }, { naming }) {
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
    if (name !== undefined) {
      validateDnsSubdomain(name, `${field}.persistentVolumeName`, errors);
    } else if (inlineVolumeSpec) {
      const use = { field: `${field}.inlineVolumeSpec`, isInline: true, errors, naming };
      validateVolumeSpec(inlineVolumeSpec, use);
    }
    const { nodeName = "" } = spec;
    validateDnsSubdomain(nodeName, "spec.nodeName", errors);
    return errors;
  },
  change: (next, current) => checkImmutable(next, current, ["spec"]),
  status({ status }) {
    const errors = new Problems();
    const { attachmentMetadata, attachError, detachError } = status ?? {};
    const bytes = Object.entries(attachmentMetadata ?? {}).reduce(
      (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value ?? ""),
      0,
    );
    if (bytes > PARAMETERS_BYTES_MAX) {
      errors.push(tooLongValue("status.attachmentMetadata", PARAMETERS_BYTES_MAX));
    }
    validateVolumeError(attachError ?? {}, "status.attachError", errors);
    validateVolumeError(detachError ?? {}, "status.detachError", errors);
    return errors;
  },
};

const MESSAGE_BYTES_MAX = 1024;
/** What a message of an error may have by what is told about a longer one. */
const MESSAGE_BYTES_TOLD = 256 * 1024;

function validateVolumeError(
  { message = "", errorCode }: VolumeError,
  field: string,
  errors: FieldError[],
): void {
  if (Buffer.byteLength(message) > MESSAGE_BYTES_MAX) {
    errors.push(tooLongValue(`${field}.message`, MESSAGE_BYTES_TOLD));
  }
  validateId(errorCode, `${field}.errorCode`, errors);
}

interface AttributesClass extends ApiObject {
  driverName?: string;
  parameters?: Maybe<Parameters>;
}

const attributesClassRules: Rules<AttributesClass> = {
  object({ driverName = "", parameters }) {
    const errors = new Problems();
    if (driverName === "") errors.push(requiredValue("driverName"));
    else validateProviderName(driverName, "driverName", errors);
    validateParameters(parameters, "parameters", { isNeeded: true, errors });
    return errors;
  },
  change(next, current) {
    const errors = new Problems();
    for (const member of ["driverName", "parameters"] as const) {
      if (deepEqual(next[member] ?? null, current[member] ?? null)) continue;
      errors.push(forbiddenField(member, `updates to ${member} are forbidden.`));
    }
    return errors;
  },
};

interface Capacity extends ApiObject {
  storageClassName?: string;
  nodeTopology?: Maybe<LabelSelector>;
  capacity?: Maybe<string>;
}

const capacityRules: Rules<Capacity> = {
  object({ storageClassName = "", nodeTopology, capacity }) {
    const errors = new Problems();
    validateDnsSubdomain(storageClassName, "storageClassName", errors);
    // The greatest size of one volume is not looked at.
    if (capacity?.startsWith("-")) {
      errors.push(invalidValue("capacity", capacity, "must be greater than or equal to 0"));
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
