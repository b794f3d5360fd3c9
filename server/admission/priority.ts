/**
 * Priority: a pod's priority is the value of its PriorityClass or of the default class; clients name
 * classes, not numbers. There is at most one default.
 */
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  type Handles,
  handlesOnly,
  PODS,
  refuse,
  WRITES,
} from "./admission.js";
import { type AdmissionView, findObject, listObjects } from "./stored-objects.js";

interface PriorityClass extends ApiObject {
  value?: number;
  globalDefault?: boolean;
  preemptionPolicy?: string;
}

interface PodSpec {
  priorityClassName?: string;
  priority?: number | null;
  preemptionPolicy?: string | null;
}

/** For pods without a class when there is no default class. */
const NO_CLASS_PRIORITY = 0;
const NO_CLASS_PREEMPTION = "PreemptLowerPriority";

export class Priority implements AdmissionPlugin {
  readonly name = "Priority";
  readonly #view: AdmissionView;
  readonly #classes: { readonly group: string; readonly resource: string };

  constructor(view: AdmissionView, { groupDomain }: Naming) {
    this.#view = view;
    this.#classes = { group: `scheduling.${groupDomain}`, resource: "priorityclasses" };
  }

  readonly handles: Handles = (...asked) =>
    handlesOnly(PODS, WRITES)(...asked) || handlesOnly(this.#classes, WRITES)(...asked);

  mutate(attributes: AdmissionAttributes): boolean {
    const { resource, object, oldObject } = attributes;
    if (resource.resource !== "pods" || object === undefined) return false;
    const spec = (object.spec ?? {}) as PodSpec;
    if (oldObject !== undefined) return keepPriority(spec, (oldObject.spec ?? {}) as PodSpec);
    return this.#setPriority(attributes, spec);
  }

  validate(attributes: AdmissionAttributes): undefined {
    const { resource, object, operation } = attributes;
    if (resource.resource === "pods") return;
    if ((object as PriorityClass | undefined)?.globalDefault !== true) return;
    const other = this.#findDefault();
    if (other === undefined) return;
    const { name } = other.metadata;
    if (operation === "UPDATE" && name === attributes.name) return;
    const why = `PriorityClass ${name} is already marked as default. Only one default can exist`;
    throw refuse(attributes, why);
  }

  #setPriority(attributes: AdmissionAttributes, spec: PodSpec): boolean {
    const { priorityClassName = "" } = spec;
    const chosen = priorityClassName === "" ? this.#findDefault() : this.#find(priorityClassName);
    if (priorityClassName !== "" && chosen === undefined) {
      throw refuse(attributes, `no PriorityClass with name ${priorityClassName} was found`);
    }
    const priority = chosen === undefined ? NO_CLASS_PRIORITY : (chosen.value ?? 0);
    const preemption =
      chosen === undefined ? NO_CLASS_PREEMPTION : (chosen.preemptionPolicy ?? NO_CLASS_PREEMPTION);
    const asked = spec.priority ?? priority;
    if (asked !== priority) {
      const why = `the integer value of priority (${asked}) must not be provided in pod spec; priority admission controller computed ${priority} from the given PriorityClass name`;
      throw refuse(attributes, why);
    }
    const askedPreemption = spec.preemptionPolicy ?? preemption;
    if (askedPreemption !== preemption) {
      const why = `the string value of PreemptionPolicy (${askedPreemption}) must not be provided in pod spec; priority admission controller computed ${preemption} from the given PriorityClass name`;
      throw refuse(attributes, why);
    }
    if (chosen !== undefined) spec.priorityClassName = chosen.metadata.name ?? "";
    spec.priority = priority;
    spec.preemptionPolicy = preemption;
    return true;
  }

  #find(name: string): PriorityClass | undefined {
    return findObject(this.#view, this.#classes, "", name);
  }

  /** Concurrent creates can leave several defaults; the lowest one wins. */
  #findDefault(): PriorityClass | undefined {
    const classes: PriorityClass[] = listObjects(this.#view, this.#classes, "");
    return classes
      .filter(({ globalDefault }) => globalDefault === true)
      .sort((left, right) => (left.value ?? 0) - (right.value ?? 0))[0];
  }
}

/** Clients that send their own version of the object lack the computed fields. */
function keepPriority(next: PodSpec, before: PodSpec): boolean {
  let isChanged = false;
  for (const field of ["priority", "preemptionPolicy"] as const) {
    if ((next[field] ?? null) !== null || (before[field] ?? null) === null) continue;
    Object.assign(next, { [field]: before[field] });
    isChanged = true;
  }
  return isChanged;
}
