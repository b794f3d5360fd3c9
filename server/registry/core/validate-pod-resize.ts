/**
 * Rules of the resize endpoint: CPU and memory of containers and of the pod as a whole change, and policies and all
 * else stay. In the order and with the fields of kube-apiserver (R23, R34).
 */
import { deepEqual } from "../../api/deep-equal.js";
import { forbiddenField, invalidValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import type { FieldError } from "../../api/status.js";
import type { Maybe } from "../../api/validation-values.js";
import { qualityOfService } from "./pod-qos.js";
import type { Container, PodSpec, ResourceList, ResourceRequirements } from "./pod-types.js";
import type { PodStatus } from "./validate-pod-status.js";

/** The part of a pod that a resize is judged by. */
interface ResizedPod extends ApiObject {
  spec?: PodSpec;
  status?: PodStatus;
}

/** What no pod of these kinds may do; nothing else is told of them then. */
export function whyNeverResized(pod: ResizedPod, naming: Naming): FieldError | undefined {
  if (isStaticPod(pod, naming)) {
    return forbiddenField("[]", "static pods cannot be resized");
  }
  if (pod.spec?.os?.name === "windows") {
    return forbiddenField("[]", "windows pods cannot be resized");
  }
  return undefined;
}

/** Whether it mirrors a file of its node. */
export function isStaticPod({ metadata }: ApiObject, { labelDomain }: Naming): boolean {
  return metadata.annotations?.[`${labelDomain}/config.mirror`] !== undefined;
}

/** @param errors those of the pod's other rules; with any of them the last rule is not asked */
export function validatePodResize(
  next: ResizedPod,
  current: ResizedPod,
  errors: FieldError[],
): void {
  const [spec, before] = [next.spec ?? {}, current.spec ?? {}];
  const quality = current.status?.qosClass ?? qualityOfService(current);
  if (quality !== qualityOfService(next)) {
    const why = "Pod QOS Class may not change as a result of resizing";
    errors.push(invalidValue("spec", quality, why));
  }
  if (!runsWhereResized(current)) {
    errors.push(forbiddenField("spec", "Pod running on node without support for resize"));
  }
  const ofPod = validateOwnResources(spec.resources, before.resources, errors);
  if ((current.status?.nodeAllocatableResourceClaimStatuses?.length ?? 0) > 0) {
    const why = "pods with node allocatable resource claims cannot be resized";
    errors.push(forbiddenField("spec", why));
  }
  const known = errors.length;
  validateOrder(spec, before, errors);
  if (errors.length > known) return;
  for (const list of ["initContainers", "containers"] as const) {
    spec[list]?.forEach(({ resources }, index) => {
      const was = before[list]?.[index]?.resources;
      validateKept(resources, was, `spec.${list}[${index}].resources`, errors);
    });
  }
  validateRest(spec, before, errors);
  if (errors.length > 0) return;
  const whole = { ...spec, containers: [], initContainers: [], resources: ofPod };
  const wholeBefore = {
    ...before,
    containers: [],
    initContainers: [],
    resources: before.resources,
  };
  if (!deepEqual(present(whole), present(wholeBefore))) errors.push(onlyAmounts());
}

/** A node that does not know of resizing tells no resources of what it runs. */
function runsWhereResized({ status }: ResizedPod): boolean {
  const running = (status?.containerStatuses ?? []).find(({ state }) => state?.running);
  return running === undefined || Boolean(running.resources);
}

/** @returns the pod's own resources with the CPU and memory of before */
function validateOwnResources(
  next: Maybe<ResourceRequirements>,
  before: Maybe<ResourceRequirements>,
  errors: FieldError[],
): Maybe<ResourceRequirements> {
  if (!hasAmounts(next) && !hasAmounts(before)) return next;
  if (before && !next) {
    errors.push(forbiddenField("spec.resources", "pod-level resources cannot be removed"));
    return next;
  }
  for (const list of ["requests", "limits"] as const) {
    if (!loses(next?.[list], before?.[list])) continue;
    const why = `pod-level resource ${list} cannot be removed`;
    errors.push(forbiddenField(`spec.resources.${list}`, why));
  }
  const masked = masks({ claims: next?.claims ?? null, ...amountsOf(next) }, before);
  const rest = Object.keys(masked).length === 0 && !before ? undefined : masked;
  if (!deepEqual(present(rest ?? {}), present(before ?? {}))) {
    errors.push(forbiddenField("spec", "only cpu and memory resources are mutable at pod-level"));
  }
  return before;
}

function hasAmounts(resources: Maybe<ResourceRequirements>): boolean {
  const { limits, requests } = amountsOf(resources);
  return Object.keys(limits).length + Object.keys(requests).length > 0;
}

function validateOrder(spec: PodSpec, before: PodSpec, errors: FieldError[]): void {
  for (const list of ["containers", "initContainers"] as const) {
    const [next, old] = [spec[list] ?? [], before[list] ?? []];
    if (next.length !== old.length) {
      const why = `${list} may not be added or removed on resize`;
      errors.push(forbiddenField(`spec.${list}`, why));
      continue;
    }
    next.forEach(({ name }, index) => {
      if (name === old[index]?.name) return;
      const why = `${list} may not be renamed or reordered on resize`;
      errors.push(forbiddenField(`spec.${list}[${index}].name`, why));
    });
  }
}

function validateKept(
  next: Maybe<ResourceRequirements>,
  before: Maybe<ResourceRequirements>,
  field: string,
  errors: FieldError[],
): void {
  for (const list of ["requests", "limits"] as const) {
    if (!loses(next?.[list], before?.[list])) continue;
    errors.push(forbiddenField(`${field}.${list}`, `resource ${list} cannot be removed`));
  }
}

function loses(next: Maybe<ResourceList>, before: Maybe<ResourceList>): boolean {
  return Object.keys(before ?? {}).some((name) => next?.[name] === undefined);
}

/** All else of the containers stays. */
function validateRest(spec: PodSpec, before: PodSpec, errors: FieldError[]): void {
  spec.containers?.forEach((container, index) => {
    if (!isSameBut(container, before.containers?.[index])) errors.push(onlyAmounts());
  });
  spec.initContainers?.forEach((container, index) => {
    const was = before.initContainers?.[index];
    const field = `spec.initContainers[${index}]`;
    if (!isSameBut(container, was)) {
      const why = "only cpu and memory resources for init or sidecar containers are mutable";
      errors.push(forbiddenField(field, why));
    }
    if (container.restartPolicy === "Always" || deepEqual(container, was)) return;
    for (const { restartPolicy } of container.resizePolicy ?? []) {
      if (restartPolicy !== "RestartContainer") continue;
      const why =
        "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
      errors.push(forbiddenField(field, why));
    }
  });
}

function onlyAmounts(): FieldError {
  return forbiddenField("spec", "only cpu and memory resources are mutable");
}

/** Claims do not come along, so that a container with any is never the same. */
function isSameBut(container: Container, was: Container | undefined): boolean {
  const { resources, ...rest } = container;
  const { resources: resourcesBefore, ...restBefore } = was ?? { name: "" };
  return (
    deepEqual(present(rest), present(restBefore)) &&
    deepEqual(present(masks(amountsOf(resources), resourcesBefore)), present(resourcesBefore ?? {}))
  );
}

/** The amounts with the CPU and memory of before. */
function masks(
  resources: ResourceRequirements,
  before: Maybe<ResourceRequirements>,
): ResourceRequirements {
  const mask = (list: "limits" | "requests") => {
    const amounts: Record<string, string> = { ...resources[list] };
    for (const name of ["cpu", "memory"]) {
      delete amounts[name];
      const old = before?.[list]?.[name];
      if (old !== undefined) amounts[name] = old;
    }
    return Object.keys(amounts).length === 0 ? null : amounts;
  };
  return present({ ...resources, limits: mask("limits"), requests: mask("requests") });
}

function amountsOf(resources: Maybe<ResourceRequirements>) {
  return { limits: resources?.limits ?? {}, requests: resources?.requests ?? {} };
}

/** Without members that are absent or empty, which are one here. */
function present<T extends object>(members: T): T {
  const kept = Object.entries(members).filter(([, value]) => !isNothing(value));
  return Object.fromEntries(kept) as T;
}

function isNothing(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}
