/**
 * Parts of a running pod that may still change: containers for debugging are added through
 * `ephemeralcontainers`, processor and memory of its containers are changed through `resize`. All
 * else that a client sends there is ignored.
 */
import { deepEqual } from "../../api/deep-equal.js";
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  requiredValue,
} from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import type { FieldError } from "../../api/status.js";
import { checkDnsLabelName } from "../../api/validation-names.js";
import { compareQuantities, parseQuantity } from "../../schema/quantity.js";
import { qualityOfService } from "../core/pod-qos.js";
import type { SubresourceDefinition } from "./definition.js";

interface Container {
  readonly name: string;
  readonly image?: string;
  readonly resources?: Resources;
  readonly targetContainerName?: string;
  readonly [field: string]: unknown;
}

interface Resources {
  readonly limits?: Readonly<Record<string, string>>;
  readonly requests?: Readonly<Record<string, string>>;
}

interface PodObject extends ApiObject {
  spec?: {
    containers?: readonly Container[];
    initContainers?: readonly Container[];
    ephemeralContainers?: readonly Container[];
    [field: string]: unknown;
  };
  status?: { phase?: string; qosClass?: string };
}

export const ephemeralContainers: SubresourceDefinition = {
  part: {
    merge(sent: PodObject, pod: PodObject) {
      const { ephemeralContainers: _before, ...spec } = pod.spec ?? {};
      const added = sent.spec?.ephemeralContainers ?? [];
      const metadata = { ...pod.metadata };
      const next = added.length === 0 ? spec : { ...spec, ephemeralContainers: added };
      return { ...pod, metadata, spec: next };
    },
    validate: (next: PodObject, current: PodObject) => [
      ...checkKept(next, current),
      ...checkAdded(next, current),
    ],
  },
};

const EPHEMERAL = "spec.ephemeralContainers";

/** What runs in a pod stays as it was begun. */
function checkKept(next: PodObject, current: PodObject): FieldError[] {
  const errors: FieldError[] = [];
  for (const before of current.spec?.ephemeralContainers ?? []) {
    const after = next.spec?.ephemeralContainers?.find(({ name }) => name === before.name);
    const subject = `existing ephemeral containers ${JSON.stringify(before.name)} may not be`;
    if (after === undefined) errors.push(forbiddenField(EPHEMERAL, `${subject} removed`));
    else if (!deepEqual(after, before)) {
      errors.push(forbiddenField(EPHEMERAL, `${subject} changed`));
    }
  }
  return errors;
}

/** Nobody restarts, probes or accounts for an ephemeral container. */
const NOT_EPHEMERAL = [
  "lifecycle",
  "livenessProbe",
  "ports",
  "readinessProbe",
  "resources",
  "startupProbe",
];

function checkAdded(next: PodObject, current: PodObject): FieldError[] {
  const errors: FieldError[] = [];
  const spec = next.spec ?? {};
  const others = [...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(
    ({ name }) => name,
  );
  const names = new Set(others);
  const known = new Set(current.spec?.ephemeralContainers?.map(({ name }) => name));
  spec.ephemeralContainers?.forEach((container, index) => {
    const field = `${EPHEMERAL}[${index}]`;
    const { name = "", image = "", targetContainerName = "" } = container;
    if (names.has(name)) errors.push(duplicateValue(`${field}.name`, name));
    names.add(name);
    if (known.has(name)) return;
    if (name === "") errors.push(requiredValue(`${field}.name`));
    else {
      const problems = checkDnsLabelName(name, false);
      errors.push(...problems.map((why) => invalidValue(`${field}.name`, name, why)));
    }
    if (image === "") errors.push(requiredValue(`${field}.image`));
    if (targetContainerName !== "" && !others.includes(targetContainerName)) {
      errors.push({
        reason: "FieldValueNotFound",
        field: `${field}.targetContainerName`,
        message: `Not found: ${JSON.stringify(targetContainerName)}`,
      });
    }
    for (const forbidden of NOT_EPHEMERAL) {
      if (isEmpty(container[forbidden])) continue;
      errors.push(
        forbiddenField(`${field}.${forbidden}`, "cannot be set for an Ephemeral Container"),
      );
    }
  });
  return errors;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

export const resize: SubresourceDefinition = {
  part: {
    merge(sent: PodObject, pod: PodObject) {
      const spec = { ...pod.spec };
      for (const list of ["containers", "initContainers"] as const) {
        const before = pod.spec?.[list];
        if (before !== undefined) spec[list] = resized(before, sent.spec?.[list] ?? []);
      }
      return { ...pod, metadata: { ...pod.metadata }, spec };
    },
    validate: (next: PodObject, current: PodObject) => checkResize(next, current),
  },
};

/** The containers that there are, in their order, with the resources that are asked for. */
function resized(containers: readonly Container[], wanted: readonly Container[]): Container[] {
  return containers.map((container) => {
    const other = wanted.find(({ name }) => name === container.name);
    if (other === undefined) return container;
    return { ...container, resources: other.resources ?? {} };
  });
}

const RESIZABLE: ReadonlySet<string> = new Set(["cpu", "memory"]);

function checkResize(next: PodObject, current: PodObject): FieldError[] {
  const { phase } = current.status ?? {};
  if (phase === "Failed" || phase === "Succeeded") {
    return [forbiddenField("", "pod that has terminated cannot be resized")];
  }
  const errors: FieldError[] = [];
  for (const list of ["containers", "initContainers"] as const) {
    const before = current.spec?.[list] ?? [];
    next.spec?.[list]?.forEach((container, index) => {
      const field = `spec.${list}[${index}].resources`;
      const resources = container.resources ?? {};
      errors.push(...checkResources(resources, before[index]?.resources ?? {}, field));
    });
  }
  const wanted = qualityOfService(next);
  if (wanted !== qualityOfService(current)) {
    const why = "Pod QOS Class may not change as a result of resizing";
    errors.push(invalidValue("spec", wanted, why));
  }
  return errors;
}

function checkResources(next: Resources, before: Resources, field: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const kind of ["limits", "requests"] as const) {
    const names = new Set([...Object.keys(next[kind] ?? {}), ...Object.keys(before[kind] ?? {})]);
    for (const name of names) {
      const [value, old] = [next[kind]?.[name], before[kind]?.[name]];
      if (isSame(value, old)) continue;
      if (!RESIZABLE.has(name)) {
        errors.push(forbiddenField(field, "only cpu and memory resources are mutable"));
      } else if (value === undefined) {
        errors.push(forbiddenField(field, `resource ${kind} cannot be removed`));
      } else if (parseQuantity(value) === undefined || value.startsWith("-")) {
        const why = "must be greater than or equal to 0";
        errors.push(invalidValue(`${field}.${kind}[${name}]`, value, why));
      }
    }
  }
  for (const [name, request] of Object.entries(next.requests ?? {})) {
    const limit = next.limits?.[name];
    if (limit === undefined || compare(request, limit) <= 0) continue;
    const why = `must be less than or equal to ${name} limit of ${limit}`;
    errors.push(invalidValue(`${field}.requests`, request, why));
  }
  return errors;
}

function isSame(a: string | undefined, b: string | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && compare(a, b) === 0);
}

/** What is no quantity is reported elsewhere, so here it is only different. */
function compare(a: string, b: string): number {
  const [left, right] = [parseQuantity(a), parseQuantity(b)];
  if (left === undefined || right === undefined) return -1;
  return compareQuantities(left, right);
}
