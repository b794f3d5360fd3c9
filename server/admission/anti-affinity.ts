/**
 * LimitPodHardAntiAffinityTopology: pods keep others off their own node at most, and not off a whole zone,
 * where one pod could lock out all others.
 */
import type { Naming } from "../api/naming.js";
import { type AdmissionPlugin, handlesOnly, PODS, refuse, WRITES } from "./admission.js";

interface AntiAffinePod {
  readonly affinity?: {
    readonly podAntiAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution?:
        | readonly { readonly topologyKey?: string }[]
        | null;
    } | null;
  } | null;
}

export function limitAntiAffinity({ labelDomain }: Naming): AdmissionPlugin {
  const host = `${labelDomain}/hostname`;
  return {
    name: "LimitPodHardAntiAffinityTopology",
    handles: handlesOnly(PODS, WRITES),
    validate(attributes) {
      const { affinity } = (attributes.object?.spec ?? {}) as AntiAffinePod;
      const terms = affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
      const other = (terms ?? []).find(({ topologyKey }) => topologyKey !== host);
      if (other === undefined) return undefined;
      throw refuse(
        attributes,
        `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${other.topologyKey ?? ""} but only key ${host} is allowed`,
      );
    },
  };
}
