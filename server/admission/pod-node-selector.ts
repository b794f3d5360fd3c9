/**
 * PodNodeSelector: the pods of a namespace run on the nodes that its annotation selects, or else those
 * that the configuration selects for the cluster; the configuration may also list the labels that pods of
 * a namespace may select by.
 */
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { internalError } from "../api/status.js";
import { checkLabelValue, checkQualifiedName } from "../api/validation-names.js";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  handlesOnly,
  PODS,
  refuse,
} from "./admission.js";
import { type AdmissionView, findObject } from "./stored-objects.js";

type Labels = Readonly<Record<string, string>>;

/** Selectors by namespace ("a=b,c=d"), and the cluster's under DEFAULT. */
export type NodeSelectors = ReadonlyMap<string, string>;

const DEFAULT = "clusterDefaultNodeSelector";
const NAMESPACES = { group: "", resource: "namespaces" };

export function podNodeSelector(
  view: AdmissionView,
  { labelDomain }: Naming,
  selectors: NodeSelectors,
): AdmissionPlugin {
  const annotation = `scheduler.alpha.${labelDomain}/node-selector`;
  const ofNamespace = (name: string): Labels => {
    const namespace = findObject(view, NAMESPACES, "", name);
    const own = namespace?.metadata.annotations?.[annotation];
    return parseLabels(own ?? selectors.get(DEFAULT) ?? "");
  };
  const checkConflict = (attributes: AdmissionAttributes, wanted: Labels) => {
    const selected = selectedBy(attributes.object);
    if (Object.entries(wanted).some(([key, value]) => (selected[key] ?? value) !== value)) {
      const why = "pod node label selector conflicts with its namespace node label selector";
      throw refuse(attributes, why);
    }
    return selected;
  };
  const checkAllowed = (attributes: AdmissionAttributes, selected: Labels) => {
    const allowed = parseLabels(selectors.get(attributes.namespace) ?? "");
    const isOutside = ([key, value]: [string, string]) => allowed[key] !== value;
    if (Object.keys(allowed).length === 0 || !Object.entries(selected).some(isOutside)) return;
    const why = "pod node label selector labels conflict with its namespace whitelist";
    throw refuse(attributes, why);
  };
  return {
    name: "PodNodeSelector",
    handles: handlesOnly(PODS, ["CREATE"]),
    mutate(attributes) {
      const { object, namespace } = attributes;
      const wanted = ofNamespace(namespace);
      const merged = { ...wanted, ...checkConflict(attributes, wanted) };
      // Here as well, so that no webhook is asked about a pod that is refused.
      checkAllowed(attributes, merged);
      const isMissing = Object.keys(merged).length > Object.keys(selectedBy(object)).length;
      if (object === undefined || !isMissing) return false;
      object.spec = { ...(object.spec ?? {}), nodeSelector: merged };
      return true;
    },
    validate(attributes) {
      const wanted = ofNamespace(attributes.namespace);
      checkAllowed(attributes, checkConflict(attributes, wanted));
      return undefined;
    },
  };
}

function selectedBy(pod: ApiObject | undefined): Labels {
  return ((pod?.spec ?? {}) as { nodeSelector?: Labels | null }).nodeSelector ?? {};
}

/** @throws {StatusError} 500 for what is no list of labels */
function parseLabels(text: string): Labels {
  const labels: Record<string, string> = {};
  if (text === "") return labels;
  for (const part of text.split(",")) {
    const [key = "", value, ...rest] = part.split("=").map((one) => one.trim());
    if (value === undefined || rest.length > 0) {
      throw internalError(`invalid selector: [${part.split("=").join(" ")}]`);
    }
    const [why] = [...checkQualifiedName(key), ...checkLabelValue(value)];
    if (why !== undefined) throw internalError(`invalid selector ${JSON.stringify(part)}: ${why}`);
    labels[key] = value;
  }
  return labels;
}
