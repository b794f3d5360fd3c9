/**
 * RuntimeClass: sets a pod's overhead and scheduling constraints from the runtime class that it
 * names.
 */
import { deepEqual } from "../api/deep-equal.js";
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  handlesOnly,
  PODS,
  refuse,
} from "./admission.js";
import { type AdmissionView, findObject } from "./stored-objects.js";
import { mergeTolerations, type Toleration } from "./tolerations.js";

interface RuntimeClassObject extends ApiObject {
  overhead?: { podFixed?: Record<string, string> } | null;
  scheduling?: { nodeSelector?: Record<string, string>; tolerations?: Toleration[] } | null;
}

interface PodSpec {
  runtimeClassName?: string | null;
  overhead?: Record<string, string>;
  nodeSelector?: Record<string, string>;
  tolerations?: Toleration[];
}

export class RuntimeClass implements AdmissionPlugin {
  readonly name = "RuntimeClass";
  readonly handles = handlesOnly(PODS, ["CREATE"]);
  readonly #view: AdmissionView;
  readonly #classes: { readonly group: string; readonly resource: string };

  constructor(view: AdmissionView, { groupDomain }: Naming) {
    this.#view = view;
    this.#classes = { group: `node.${groupDomain}`, resource: "runtimeclasses" };
  }

  mutate(attributes: AdmissionAttributes): boolean {
    const spec = specOf(attributes);
    const runtime = this.#runtimeOf(attributes, spec);
    if (runtime === undefined) return false;
    const { overhead, scheduling } = runtime;
    const fixed = overhead?.podFixed;
    if (fixed !== undefined) {
      if (spec.overhead !== undefined && !deepEqual(spec.overhead, fixed)) {
        throw refuse(attributes, OTHER_OVERHEAD);
      }
      spec.overhead = { ...fixed };
    }
    const { nodeSelector = {}, tolerations = [] } = scheduling ?? {};
    for (const [key, value] of Object.entries(nodeSelector)) {
      const asked = spec.nodeSelector?.[key] ?? value;
      if (asked === value) continue;
      const why = `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${asked}`;
      throw refuse(attributes, why);
    }
    if (Object.keys(nodeSelector).length > 0) {
      spec.nodeSelector = { ...spec.nodeSelector, ...nodeSelector };
    }
    if (tolerations.length > 0) {
      spec.tolerations = mergeTolerations(spec.tolerations ?? [], tolerations);
    }
    return true;
  }

  validate(attributes: AdmissionAttributes): undefined {
    const spec = specOf(attributes);
    const overhead = spec.overhead ?? {};
    const fixed = this.#runtimeOf(attributes, spec)?.overhead?.podFixed;
    if (fixed === undefined) {
      if (Object.keys(overhead).length === 0) return;
      const why =
        "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
      throw refuse(attributes, why);
    }
    if (!deepEqual(overhead, fixed)) throw refuse(attributes, OTHER_OVERHEAD);
  }

  #runtimeOf(attributes: AdmissionAttributes, spec: PodSpec): RuntimeClassObject | undefined {
    const { runtimeClassName = null } = spec;
    if (runtimeClassName === null) return undefined;
    const found = findObject(this.#view, this.#classes, "", runtimeClassName);
    if (found !== undefined) return found as RuntimeClassObject;
    const name = JSON.stringify(runtimeClassName);
    throw refuse(attributes, `pod rejected: RuntimeClass ${name} not found`);
  }
}

const OTHER_OVERHEAD = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

function specOf({ object }: AdmissionAttributes): PodSpec {
  return (object?.spec ?? {}) as PodSpec;
}
