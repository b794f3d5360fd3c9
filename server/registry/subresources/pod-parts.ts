/**
 * Mutable parts of a running pod: `ephemeralcontainers` adds containers for debugging, `resize`
 * changes CPU and memory of its containers and of the whole. Any other change that a client sends there is ignored.
 * The rules are in core/validate-pod.ts and core/validate-pod-resize.ts.
 */
import type { ApiObject } from "../../api/meta.js";
import { validatePodUpdate } from "../core/validate-pod.js";
import type { PartDefinition } from "./definition.js";

interface Container {
  readonly name: string;
  readonly resources?: object;
  readonly resizePolicy?: readonly object[];
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
      const metadata = { ...pod.metadata };
      const spec = { ...pod.spec };
      for (const list of ["containers", "initContainers"] as const) {
        const [wanted, before] = [sent.spec?.[list] ?? [], pod.spec?.[list] ?? []];
        // Other containers are a mistake, which the rules tell.
        if (wanted.length !== before.length) return { ...pod, metadata, spec: { ...sent.spec } };
        if (wanted.length > 0) spec[list] = resized(before, wanted);
      }
      if (sent.spec?.resources === undefined) delete spec.resources;
      else spec.resources = sent.spec.resources;
      return { ...pod, metadata, spec };
    },
    validate: validatePodUpdate,
  },
};

/** The existing containers with what is wanted for their resources; the wanted ones where their names are others. */
function resized(
  containers: readonly Container[],
  wanted: readonly Container[],
): readonly Container[] {
  if (wanted.some(({ name }, index) => name !== containers[index]?.name)) return wanted;
  return containers.map((container, index) => {
    const { resizePolicy: _before, ...rest } = container;
    const { resources = {}, resizePolicy } = wanted[index] ?? container;
    return resizePolicy === undefined
      ? { ...rest, resources }
      : { ...rest, resources, resizePolicy };
  });
}
