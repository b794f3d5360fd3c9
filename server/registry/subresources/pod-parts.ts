/**
 * Parts of a running pod that may still change: containers for debugging are added through
 * `ephemeralcontainers`, processor and memory of its containers are changed through `resize`. All
 * else that a client sends there is ignored. The rules for both are core/validate-pod.ts's.
 */
import type { ApiObject } from "../../api/meta.js";
import { validatePodUpdate } from "../core/validate-pod.js";
import type { PartDefinition } from "./definition.js";

interface Container {
  readonly name: string;
  readonly resources?: object;
}

interface PodObject extends ApiObject {
  spec?: {
    containers?: readonly Container[];
    initContainers?: readonly Container[];
    ephemeralContainers?: readonly Container[];
    [field: string]: unknown;
  };
}

export const ephemeralContainers: PartDefinition = {
  part: {
    merge(sent: PodObject, pod: PodObject) {
      const { ephemeralContainers: _before, ...spec } = pod.spec ?? {};
      const added = sent.spec?.ephemeralContainers ?? [];
      const metadata = { ...pod.metadata };
      const next = added.length === 0 ? spec : { ...spec, ephemeralContainers: added };
      return { ...pod, metadata, spec: next };
    },
    validate: validatePodUpdate,
  },
};

export const resize: PartDefinition = {
  part: {
    merge(sent: PodObject, pod: PodObject) {
      const spec = { ...pod.spec };
      for (const list of ["containers", "initContainers"] as const) {
        const before = pod.spec?.[list];
        if (before !== undefined) spec[list] = resized(before, sent.spec?.[list] ?? []);
      }
      return { ...pod, metadata: { ...pod.metadata }, spec };
    },
    validate: validatePodUpdate,
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
