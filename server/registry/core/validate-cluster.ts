/** Rules for Nodes, Namespaces and Endpoints. */

import { deepEqual } from "../../api/deep-equal.js";
import {
  duplicateValue,
  forbiddenField,
  internalProblem,
  invalidValue,
  invalidValues,
  requiredValue,
} from "../../api/field-errors.js";
import { isJsonObject } from "../../api/json-object.js";
import { eachItem, type RuleUse } from "../../api/long-work.js";
import type { ApiObject, JsonValue } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { validateCidrAnew } from "../../api/validation-addresses.js";
import { checkFinalizerName } from "../../api/validation-metadata.js";
import { checkQualifiedName } from "../../api/validation-names.js";
import { validateLabelKey } from "../../api/validation-selectors.js";
import {
  type Maybe,
  parseCidr,
  repeats,
  validateDnsLabel,
  validateDnsSubdomain,
  validatePort,
  type Whole,
} from "../../api/validation-values.js";
import type { StrategyContext } from "../../kinds/strategy.js";
import { JsonSyntaxError } from "../../schema/json-parser.js";
import { parseJson } from "../../schema/parse-json.js";
import { warnOfAddress } from "../generic/address-warnings.js";
import { type Rules, validated } from "../generic/validated.js";
import { WarningList } from "../generic/warning-list.js";
import type { ResourceList } from "./pod-types.js";
import { validateResourceAmount } from "./resource-amounts.js";
import { type Taint, validateTaints } from "./validate-scheduling.js";
import { validateReachableIp } from "./validate-service.js";

interface Node extends ApiObject {
  spec?: {
    readonly podCIDRs?: Maybe<readonly string[]>;
    readonly providerID?: string;
    readonly externalID?: string;
    readonly taints?: Maybe<readonly Taint[]>;
  };
  status?: {
    readonly capacity?: Maybe<ResourceList>;
    readonly allocatable?: Maybe<ResourceList>;
    readonly declaredFeatures?: Maybe<readonly string[]>;
    readonly addresses?: Maybe<readonly { readonly type: string; readonly address: string }[]>;
  };
}

const nodeRules: Rules<Node> = {
  object(node, context) {
    const errors = new Problems();
    // kube-apiserver reports this path.
    validateTaints(node.spec?.taints ?? [], "metadata.taints", errors);
    validateNodeAmounts(node, context, errors);
    validateFeatures(node.status?.declaredFeatures ?? [], errors);
    validatePodCidrs(node.spec?.podCIDRs ?? [], errors);
    validateAvoided(node.metadata.annotations ?? {}, context.naming, errors);
    return errors;
  },
  change(next, current, context) {
    const errors = new Problems();
    // Clients of kube-apiserver are told these of an updated node twice.
    validateNodeAmounts(next, context, errors);
    validateFeatures(next.status?.declaredFeatures ?? [], errors);
    errors.push(...validateNodeChange(next, current));
    validateTaints(next.spec?.taints ?? [], "metadata.taints", errors);
    return errors;
  },
  status(next, current, context) {
    const errors = new Problems();
    validateNodeAmounts(next, context, errors);
    validateFeatures(next.status?.declaredFeatures ?? [], errors);
    const addresses = next.status?.addresses ?? [];
    const isRepeated = repeats();
    addresses.forEach((address, index) => {
      if (!isRepeated(JSON.stringify([address.type, address.address]))) return;
      // Shown in messages as kube-apiserver's struct.
      const shown = { Type: address.type, Address: address.address };
      errors.push(duplicateValue(`status.addresses[${index}]`, shown));
    });
    return [...errors, ...validateNodeChange(next, current)];
  },
};

function validateNodeAmounts(
  { status }: Node,
  { naming }: StrategyContext,
  errors: FieldError[],
): void {
  const { labelDomain } = naming;
  for (const list of ["capacity", "allocatable"] as const) {
    const amounts = status?.[list];
    for (const name in amounts) {
      const amount = amounts[name] ?? "0";
      validateResourceAmount(name, `status.${list}.${name}`, { amount, labelDomain, errors });
    }
  }
}

/** Controllers whose pods the first schedulers kept off a node. */
function validateAvoided(
  annotations: Readonly<Record<string, string>>,
  { labelDomain }: Naming,
  errors: FieldError[],
): void {
  const key = `scheduler.alpha.${labelDomain}/preferAvoidPods`;
  const text = annotations[key] ?? "";
  if (text === "") return;
  let avoided: JsonValue;
  try {
    avoided = parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    errors.push(invalidValue("metadata.annotations.AvoidPods", key, error.message));
    return;
  }
  const list = isJsonObject(avoided) ? avoided.preferAvoidPods : undefined;
  if (!Array.isArray(list)) return;
  list.forEach((entry, index) => {
    const field = `metadata.annotations.${key}[${index}].PodSignature`;
    const signature = isJsonObject(entry) ? entry.podSignature : undefined;
    const controller = isJsonObject(signature) ? signature.podController : undefined;
    if (!isJsonObject(controller)) errors.push(requiredValue(field));
    else if (controller.controller !== true) {
      const why = "must point to a controller";
      errors.push(invalidValue(`${field}.PodController.Controller`, false, why));
    }
  });
}

const FEATURE_CHARS_MAX = 253;
const FEATURE = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/;

/** What the node's agent can do, by names in order. */
function validateFeatures(features: readonly string[], errors: FieldError[]): void {
  const field = "status.declaredFeatures";
  features.forEach((feature, index) => {
    if (feature.length > FEATURE_CHARS_MAX) {
      const why = `invalid feature name ${JSON.stringify(feature)}: must be no more than ${FEATURE_CHARS_MAX} characters`;
      errors.push(invalidValue(`${field}[${index}]`, feature, why));
    } else if (!FEATURE.test(feature)) {
      const why = `invalid feature name ${JSON.stringify(feature)}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`;
      errors.push(invalidValue(`${field}[${index}]`, feature, why));
    }
    const next = features[index + 1];
    if (next === undefined) return;
    if (feature === next) errors.push(duplicateValue(`${field}[${index + 1}]`, next));
    else if (feature > next) {
      const why = "list must be sorted alphabetically";
      errors.push(invalidValue(`${field}[${index + 1}]`, next, why));
    }
  });
}

function validatePodCidrs(cidrs: readonly string[], errors: FieldError[]): void {
  const field = "spec.podCIDRs";
  const isRepeated = repeats();
  cidrs.forEach((cidr, index) => {
    validateCidrAnew(cidr, `${field}[${index}]`, errors);
    if (isRepeated(cidr)) errors.push(duplicateValue(`${field}[${index}]`, cidr));
  });
  if (cidrs.length < 2) return;
  const versions = cidrs.map((cidr) => parseCidr(cidr)?.version);
  const unread = versions.indexOf(undefined);
  if (unread !== -1) {
    const why = `invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[${unread}]: <nil> (invalid CIDR address: ${cidrs[unread]})`;
    errors.push(internalProblem(field, why));
  }
  if (unread !== -1 || cidrs.length > 2 || versions[0] === versions[1]) {
    const why = "may specify no more than one CIDR for each IP family";
    errors.push(invalidValue(field, cidrs, why));
  }
}

/** Settings of a node that a network or a cloud relies on are immutable. */
function validateNodeChange(next: Node, current: Node): FieldError[] {
  const errors = new Problems();
  const [spec, before] = [next.spec ?? {}, current.spec ?? {}];
  const cidrs = before.podCIDRs ?? [];
  if (cidrs.length > 0 && !deepEqual(cidrs, spec.podCIDRs ?? [])) {
    const why = 'node updates may not change podCIDR except from "" to valid';
    errors.push(forbiddenField("spec.podCIDRs", why));
  }
  const provider = before.providerID ?? "";
  if (provider !== "" && provider !== spec.providerID) {
    const why = 'node updates may not change providerID except from "" to valid';
    errors.push(forbiddenField("spec.providerID", why));
  }
  if ((spec.externalID ?? "") !== (before.externalID ?? "")) {
    errors.push(forbiddenField("spec.externalID", "may not be updated"));
  }
  return errors;
}

interface Namespace extends ApiObject {
  spec?: { readonly finalizers?: Maybe<readonly string[]> };
  status?: { readonly phase?: string };
}

const namespaceRules: Rules<Namespace> = {
  object({ spec }, { naming, subresource }) {
    const errors = new Problems();
    spec?.finalizers?.forEach((finalizer, index) => {
      const at = subresource === "finalize" ? `spec.finalizers[${index}]` : "spec.finalizers";
      errors.push(...invalidValues(at, finalizer, checkQualifiedName(finalizer)));
      const why = checkFinalizerName(finalizer, naming.namespaceFinalizer);
      if (why !== undefined) errors.push(invalidValue(at, finalizer, why));
    });
    return errors;
  },
  status({ metadata, status }) {
    const isDeleting = (metadata.deletionTimestamp ?? "") !== "";
    const expected = isDeleting ? "Terminating" : "Active";
    const phase = status?.phase ?? "";
    if (phase === expected) return [];
    const state = isDeleting ? "not empty" : "empty";
    const why = `may only be '${expected}' if \`deletionTimestamp\` is ${state}`;
    return [invalidValue("status.Phase", phase, why)];
  },
};

interface Endpoints extends ApiObject {
  subsets?: Maybe<readonly Subset[]>;
}

interface Subset {
  readonly addresses?: Maybe<readonly EndpointAddress[]>;
  readonly notReadyAddresses?: Maybe<readonly EndpointAddress[]>;
  readonly ports?: Maybe<
    readonly {
      readonly name?: string;
      readonly port: Whole;
      readonly appProtocol?: Maybe<string>;
    }[]
  >;
}

interface EndpointAddress {
  readonly ip: string;
  readonly hostname?: string;
  readonly nodeName?: Maybe<string>;
}

const endpointsRules: Rules<Endpoints> = {
  object({ subsets }, { long }) {
    const errors = new Problems();
    subsets?.forEach((subset, index) => {
      validateSubset(subset, `subsets[${index}]`, { errors, long });
    });
    return errors;
  },
};

/** The loop that makes them from a Service's pods writes addresses as they should be. */
const OWN_LOOP = "endpoint-controller";

export function endpointsWarnings(
  next: ApiObject,
  _current: unknown,
  { naming }: Pick<StrategyContext, "naming">,
): readonly string[] {
  const warnings = new WarningList();
  const label = `endpoints.${naming.labelDomain}/managed-by`;
  if (next.metadata.labels?.[label] === OWN_LOOP) return warnings.texts;
  (next as Endpoints).subsets?.forEach((subset, index) => {
    for (const list of ["addresses", "notReadyAddresses"] as const) {
      subset[list]?.forEach(({ ip }, place) => {
        warnOfAddress(ip, `subsets[${index}].${list}[${place}].ip`, warnings);
      });
    }
  });
  return warnings.texts;
}

function validateSubset(subset: Subset, field: string, use: RuleUse): void {
  const { errors } = use;
  const { addresses, notReadyAddresses, ports } = subset;
  if ((addresses?.length ?? 0) === 0 && (notReadyAddresses?.length ?? 0) === 0) {
    errors.push(requiredValue(field, "must specify `addresses` or `notReadyAddresses`"));
  }
  for (const list of ["addresses", "notReadyAddresses"] as const) {
    eachItem(subset[list] ?? [], use, ({ ip, hostname = "", nodeName }, index, found) => {
      const at = `${field}.${list}[${index}]`;
      validateReachableIp(ip, `${at}.ip`, found, true);
      if (hostname !== "") validateDnsLabel(hostname, `${at}.hostname`, found);
      if (nodeName !== undefined && nodeName !== null)
        validateDnsSubdomain(nodeName, `${at}.nodeName`, found);
    });
  }
  ports?.forEach(({ name = "", port, appProtocol }, index) => {
    const at = `${field}.ports[${index}]`;
    if (name !== "") validateDnsLabel(name, `${at}.name`, errors);
    else if (ports.length > 1) errors.push(requiredValue(`${at}.name`));
    validatePort(port, `${at}.port`, errors);
    if (typeof appProtocol === "string") validateLabelKey(appProtocol, `${at}.appProtocol`, errors);
  });
}

export const validatesNode = validated(nodeRules);
export const validatesNamespace = validated(namespaceRules);
export const validatesEndpoints = validated(endpointsRules);
