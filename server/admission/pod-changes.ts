/**
 * Plugins about changes of pods that have a node:
 *
 *   PodResizeValidator             the node runs Linux, and could give the pod what it asks for now
 *   NodeDeclaredFeatureValidator   the node says that it can do what the change needs
 */
import { deepEqual } from "../api/deep-equal.js";
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { StatusError } from "../api/status.js";
import {
  addQuantities,
  compareQuantities,
  parseQuantity,
  type Quantity,
  wholeOf,
  ZERO_QUANTITY,
} from "../schema/quantity.js";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  handlesOnly,
  PODS,
  refuse,
} from "./admission.js";
import { type Amounts, type Container, podAmounts } from "./pod-amounts.js";
import { type AdmissionView, findObject } from "./stored-objects.js";

interface PodSpec {
  readonly nodeName?: string;
  readonly containers?: readonly Container[] | null;
  readonly initContainers?: readonly Container[];
  readonly overhead?: Amounts | null;
  readonly resources?: { readonly requests?: Amounts } | null;
}

interface NodeStatus {
  readonly allocatable?: Amounts;
  readonly declaredFeatures?: readonly string[] | null;
}

const NODES = { group: "", resource: "nodes" };

export function podResizeValidator(view: AdmissionView, { labelDomain }: Naming): AdmissionPlugin {
  const system = `${labelDomain}/os`;
  return {
    name: "PodResizeValidator",
    handles: handlesOnly(PODS, ["UPDATE"], ["resize"]),
    validate(attributes) {
      const spec = changedSpec(attributes);
      if (spec === undefined) return undefined;
      const node = nodeOf(view, attributes, spec);
      const found = node.metadata.labels?.[system] ?? "linux";
      if (found !== "linux") {
        const name = JSON.stringify(node.metadata.name);
        const why = `pod resize is only supported on linux nodes, node ${name} is ${JSON.stringify(found)}`;
        throw refuseFor("UnsupportedPlatform", attributes, why);
      }
      const lacking = lackingOf(spec, (node.status ?? {}) as NodeStatus);
      if (lacking.length > 0) {
        const why = `node didn't have enough allocatable resources: ${lacking.join("; ")}`;
        throw refuseFor("NodeCapacity", attributes, why);
      }
      return undefined;
    },
  };
}

export function nodeDeclaredFeatures(view: AdmissionView): AdmissionPlugin {
  return {
    name: "NodeDeclaredFeatureValidator",
    handles: handlesOnly(PODS, ["UPDATE"], ["", "resize"]),
    validate(attributes) {
      const spec = changedSpec(attributes);
      const before = (attributes.oldObject?.spec ?? {}) as PodSpec;
      const needed = spec === undefined ? [] : featuresOf(spec, before);
      if (spec === undefined || needed.length === 0) return undefined;
      const node = nodeOf(view, attributes, spec);
      const declared = new Set(((node.status ?? {}) as NodeStatus).declaredFeatures ?? []);
      const missing = needed.filter((feature) => !declared.has(feature));
      if (missing.length === 0) return undefined;
      const name = JSON.stringify(spec.nodeName);
      throw refuse(
        attributes,
        `pod update requires features ${missing.join(", ")} which are not available on node ${name}`,
      );
    },
  };
}

/** The spec of a pod with a node, if the write changes it. */
function changedSpec({ object, oldObject }: AdmissionAttributes): PodSpec | undefined {
  const spec = (object?.spec ?? {}) as PodSpec;
  if ((spec.nodeName ?? "") === "" || deepEqual(spec, oldObject?.spec)) return undefined;
  return spec;
}

/** @throws {StatusError} 403 if it is missing */
function nodeOf(
  view: AdmissionView,
  attributes: AdmissionAttributes,
  { nodeName = "" }: PodSpec,
): ApiObject {
  const node = findObject(view, NODES, "", nodeName);
  if (node === undefined) throw refuse(attributes, `node ${JSON.stringify(nodeName)} not found`);
  return node;
}

function refuseFor(cause: string, attributes: AdmissionAttributes, why: string): StatusError {
  const { status } = refuse(attributes, why);
  return new StatusError({
    ...status,
    details: { ...status.details, causes: [{ reason: cause }] },
  });
}

/** What the pod asks for and the node could never give. */
function lackingOf(spec: PodSpec, { allocatable }: NodeStatus): string[] {
  const sums = podAmounts(spec, "requests");
  return (["cpu", "memory"] as const).flatMap((name) => {
    const own = parseQuantity(spec.resources?.requests?.[name] ?? "") ?? sums.get(name);
    const overhead = parseQuantity(spec.overhead?.[name] ?? "") ?? ZERO_QUANTITY;
    const asked = addQuantities(own ?? ZERO_QUANTITY, overhead);
    const given = parseQuantity(allocatable?.[name] ?? "") ?? ZERO_QUANTITY;
    if (compareQuantities(asked, given) <= 0) return [];
    const shown = name === "cpu" ? milliOf : wholeOf;
    return [`${name}, requested: ${shown(asked)}, allocatable: ${shown(given)}`];
  });
}

function milliOf({ digits, scale, format }: Quantity): bigint {
  return wholeOf({ digits: digits * 1000n, scale, format });
}

/** Features that a change of a running pod needs; what else pods may need never changes. */
function featuresOf(next: PodSpec, before: PodSpec): string[] {
  const features: string[] = [];
  const inits = next.initContainers ?? [];
  const isResized = (before.initContainers ?? []).some(
    ({ restartPolicy, resources }, index) =>
      restartPolicy !== "Always" && !deepEqual(resources ?? {}, inits[index]?.resources ?? {}),
  );
  if (isResized) features.push("InPlacePodVerticalScalingInitContainers");
  if (!deepEqual(next.resources ?? {}, before.resources ?? {})) {
    features.push("InPlacePodLevelResourcesVerticalScaling");
  }
  return features;
}
