/**
 * PodTopologyLabels: a pod carries the zone and the region of its node as labels of its own, from its
 * binding on, so that it can read where it runs.
 */
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { type AdmissionPlugin, handlesOnly, PODS } from "./admission.js";
import { type AdmissionView, findObject } from "./stored-objects.js";

const NODES = { group: "", resource: "nodes" };

export function podTopologyLabels(view: AdmissionView, { labelDomain }: Naming): AdmissionPlugin {
  const keys = ["zone", "region"].map((name) => `topology.${labelDomain}/${name}`);
  return {
    name: "PodTopologyLabels",
    handles: handlesOnly(PODS, ["CREATE"], ["", "binding"]),
    mutate({ object, subresource }) {
      if (object === undefined) return false;
      const node = subresource === "" ? nodeOfPod(object) : nodeOfBinding(object);
      // A node that is missing has nothing to say.
      const labels = findObject(view, NODES, "", node)?.metadata.labels ?? {};
      const added = keys.filter((key) => labels[key] !== undefined);
      if (added.length === 0) return false;
      const copied = added.map((key) => [key, labels[key] ?? ""] as const);
      object.metadata = {
        ...object.metadata,
        labels: { ...object.metadata.labels, ...Object.fromEntries(copied) },
      };
      return true;
    },
  };
}

function nodeOfPod({ spec }: ApiObject): string {
  return ((spec ?? {}) as { nodeName?: string }).nodeName ?? "";
}

function nodeOfBinding({ target }: ApiObject): string {
  const { kind, name = "" } = (target ?? {}) as { kind?: string; name?: string };
  return kind === "Node" ? name : "";
}
