/**
 * binding: a scheduler assigns a pod to a node. Only a live, ungated pod without a node can be bound;
 * the compare in the write ensures that only one scheduler succeeds.
 */

import { requiredValue, unsupportedValue } from "../../api/field-errors.js";
import type { ApiObject, JsonValue } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import {
  badRequest,
  conflict,
  type FieldError,
  invalid,
  type StatusError,
} from "../../api/status.js";
import type { MainResource, PartResource } from "../../kinds/served-resource.js";
import { isDeleting } from "../generic/metadata.js";
import type { Registry } from "../registry.js";
import type { ActionRequest, ResourceAction } from "../write/action.js";
import { patchObject } from "../write/update.js";
import { succeeded } from "./action-status.js";
import { withCondition } from "./conditions.js";

interface BindingObject extends ApiObject {
  target?: { kind?: string; name?: string };
}

interface PodObject extends ApiObject {
  spec?: { nodeName?: string; schedulingGates?: readonly unknown[] };
  status?: { nominatedNodeName?: string };
}

export const binding: ResourceAction = {
  async run(registry, request, signal) {
    const pods = registry.catalog.current.findMain("", "v1", "pods");
    if (pods === undefined) throw badRequest("pods are not served");
    await bind(registry, pods, request, signal);
    return succeeded();
  },
};

/** The pods resource without its update rules, which forbid this very change. */
function bindable(pods: MainResource): PartResource {
  return { ...pods, form: "part", main: pods, part: { merge: (sent: ApiObject) => sent } };
}

async function bind(
  registry: Registry,
  pods: MainResource,
  { object, namespace, name, options }: ActionRequest,
  signal: AbortSignal,
): Promise<void> {
  const { metadata, target } = object as BindingObject;
  if (metadata.name !== name) {
    throw badRequest("name in URL does not match name in Binding object");
  }
  const errors = checkTarget(target);
  if (errors.length > 0) throw invalid({ group: "", kind: "Binding" }, name, errors);
  const bound = {
    resource: bindable(pods),
    namespace,
    name,
    subresource: "binding",
    options: { ...options, fieldValidation: "Ignore" as const },
    patch: (current: JsonValue) => {
      const pod = current as unknown as PodObject;
      checkIsMeant(pods, pod, metadata.uid);
      refuseUnbindable(pod);
      return boundPod(
        pod,
        object,
        target?.name ?? "",
        registry.clock.now(),
      ) as unknown as JsonValue;
    },
  };
  await patchObject(registry, bound, signal);
}

function checkTarget(target: BindingObject["target"]): FieldError[] {
  const errors = new Problems();
  const kind = target?.kind ?? "";
  if (kind !== "" && kind !== "Node") {
    errors.push(unsupportedValue("target.kind", kind, ["Node", "<empty>"]));
  }
  if ((target?.name ?? "") === "") errors.push(requiredValue("target.name"));
  return errors;
}

/** The scheduler has decided on one pod, not on another one of its name. @throws {StatusError} 409 */
function checkIsMeant(pods: MainResource, { metadata }: PodObject, uid = metadata.uid): void {
  if (uid === "" || uid === metadata.uid) return;
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`;
  throw conflict(pods, metadata.name ?? "", why);
}

/** @throws {StatusError} 409 */
function refuseUnbindable(pod: PodObject): void {
  const name = pod.metadata.name ?? "";
  const { nodeName = "", schedulingGates } = pod.spec ?? {};
  if (isDeleting(pod)) {
    throw refuse(name, `pod ${name} is being deleted, cannot be assigned to a host`);
  }
  if (nodeName !== "") {
    throw refuse(name, `pod ${name} is already assigned to node ${JSON.stringify(nodeName)}`);
  }
  if ((schedulingGates?.length ?? 0) > 0) {
    throw refuse(name, `pod ${name} has non-empty .spec.schedulingGates`);
  }
}

function refuse(name: string, why: string): StatusError {
  return conflict({ group: "", resource: "pods/binding" }, name, why);
}

/** The pod on its node. It takes the binding's annotations and labels; the version is a precondition. */
function boundPod(
  pod: PodObject,
  { metadata: { resourceVersion, annotations, labels } }: ApiObject,
  nodeName: string,
  nowMs: number,
): PodObject {
  const metadata = { ...pod.metadata };
  if (resourceVersion !== undefined && resourceVersion !== "") {
    metadata.resourceVersion = resourceVersion;
  }
  if (annotations !== undefined) metadata.annotations = { ...metadata.annotations, ...annotations };
  if (labels !== undefined) metadata.labels = { ...metadata.labels, ...labels };
  const { nominatedNodeName: _, ...status } = pod.status ?? {};
  const assigned = { ...pod, metadata, spec: { ...pod.spec, nodeName }, status };
  return withCondition(assigned, { type: "PodScheduled", status: "True" }, nowMs);
}
