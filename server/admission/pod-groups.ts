/**
 * Plugins about groups of pods that are scheduled together (scheduling/v1alpha2, an API that is off by
 * default; without it there are no groups, and the plugins have nothing to say):
 *
 *   PodGroupWorkloadExists   a group that names a template of a workload is made while that is there
 *   JobValidation            a job whose group starts all at once keeps its number of pods
 *   PodGroupProtection       a group stays while pods name it: a finalizer, which a controller that comes
 *                            with the scheduler removes; so off by default
 */
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { type AdmissionPlugin, handlesOnly, refuse } from "./admission.js";
import { type AdmissionView, eachObject, findObject } from "./stored-objects.js";

interface GroupSpec {
  readonly podGroupTemplateRef?: {
    readonly workload?: {
      readonly workloadName?: string;
      readonly podGroupTemplateName?: string;
    } | null;
  } | null;
  readonly schedulingPolicy?: { readonly gang?: object | null };
}

interface WorkloadSpec {
  readonly podGroupTemplates?: readonly { readonly name?: string }[] | null;
}

interface JobSpec {
  readonly parallelism?: number | null;
  readonly template?: {
    readonly spec?: { readonly schedulingGroup?: { readonly podGroupName?: string | null } | null };
  };
}

export function createGroupPlugins(view: AdmissionView, naming: Naming): AdmissionPlugin[] {
  const group = `scheduling.${naming.groupDomain}`;
  return [
    podGroupProtection(group),
    podGroupWorkloadExists(view, group),
    jobValidation(view, group),
  ];
}

function podGroupProtection(group: string): AdmissionPlugin {
  const finalizer = `${group}/podgroup-protection`;
  return {
    name: "PodGroupProtection",
    handles: handlesOnly({ group, resource: "podgroups" }, ["CREATE"]),
    mutate({ object }) {
      const finalizers = object?.metadata.finalizers ?? [];
      if (object === undefined || finalizers.includes(finalizer)) return false;
      object.metadata = { ...object.metadata, finalizers: [...finalizers, finalizer] };
      return true;
    },
  };
}

function podGroupWorkloadExists(view: AdmissionView, group: string): AdmissionPlugin {
  return {
    name: "PodGroupWorkloadExists",
    handles: handlesOnly({ group, resource: "podgroups" }, ["CREATE"]),
    validate(attributes) {
      const { podGroupTemplateRef } = (attributes.object?.spec ?? {}) as GroupSpec;
      const wanted = podGroupTemplateRef?.workload;
      if (!wanted) return undefined;
      const { workloadName = "", podGroupTemplateName = "" } = wanted;
      const workloads = { group, resource: "workloads" };
      const found = findObject(view, workloads, attributes.namespace, workloadName);
      const name = JSON.stringify(workloadName);
      const rejected = (why: string) => refuse(attributes, `PodGroup rejected: ${why}`);
      if (found === undefined) throw rejected(`Workload ${name} not found`);
      if ((found.metadata.deletionTimestamp ?? "") !== "") {
        throw rejected(`Workload ${name} is being deleted`);
      }
      const { podGroupTemplates } = (found.spec ?? {}) as WorkloadSpec;
      if ((podGroupTemplates ?? []).some((one) => one.name === podGroupTemplateName)) {
        return undefined;
      }
      const template = JSON.stringify(podGroupTemplateName);
      throw rejected(`PodGroupTemplate ${template} not found in Workload ${name}`);
    },
  };
}

function jobValidation(view: AdmissionView, group: string): AdmissionPlugin {
  const groups = { group, resource: "podgroups" };
  return {
    name: "JobValidation",
    handles: handlesOnly({ group: "batch", resource: "jobs" }, ["UPDATE"]),
    async validate(attributes) {
      const { object, oldObject, namespace } = attributes;
      const next = (object?.spec ?? {}) as JobSpec;
      const before = (oldObject?.spec ?? {}) as JobSpec;
      if ((next.parallelism ?? null) === (before.parallelism ?? null)) return;
      const named = before.template?.spec?.schedulingGroup?.podGroupName;
      const own = oldObject?.metadata.uid;
      let gang: ApiObject | undefined;
      if (typeof named === "string") {
        const found = findObject(view, groups, namespace, named);
        if (found !== undefined && isGang(found)) gang = found;
      } else {
        for await (const one of eachObject(view, groups, namespace)) {
          if (!isControlledBy(one, own) || !isGang(one)) continue;
          gang = one;
          break;
        }
      }
      if (gang === undefined) return;
      const name = JSON.stringify(gang.metadata.name ?? "");
      throw refuse(
        attributes,
        `cannot change parallelism for a Job referencing gang-scheduled PodGroup ${name}`,
      );
    },
  };
}

function isControlledBy({ metadata }: ApiObject, uid: string | undefined): boolean {
  const owners = metadata.ownerReferences ?? [];
  return owners.some((owner) => owner.controller === true && owner.uid === uid);
}

function isGang({ spec }: ApiObject): boolean {
  const { gang } = ((spec ?? {}) as GroupSpec).schedulingPolicy ?? {};
  return gang !== undefined && gang !== null;
}
