/**
 * Mutable parts of a running pod: `ephemeralcontainers` adds containers for debugging, `resize`
 * changes CPU and memory of its containers. Any other change that a client sends there is ignored.
 * The rules for both are in core/validate-pod.ts.
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

/** The existing containers, in their order, with the requested resources. */
function resized(containers: readonly Container[], wanted: readonly Container[]): Container[] {
  return containers.map((container) => {
    const other = wanted.find(({ name }) => name === container.name);
    if (other === undefined) return container;
    return { ...container, resources: other.resources ?? {} };
  });
}
