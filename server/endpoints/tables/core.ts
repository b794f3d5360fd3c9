/** Columns of the core group. */
import type { Naming } from "../../api/naming.js";
import type { TablePrinter } from "../../kinds/table-printer.js";
import { REPLICATION_CONTROLLERS_TABLE } from "./apps.js";
import {
  AGE,
  age,
  at,
  conditionOf,
  type Fields,
  fields,
  isBeingDeleted,
  labelsText,
  list,
  NAME,
  NAME_COLUMN,
  orNone,
  table,
  text,
  textColumn,
  texts,
  whole,
  wide,
} from "./cells.js";
import { CONFIG_MAPS_TABLE, SECRETS_TABLE } from "./data-tables.js";
import { POD_TEMPLATES_TABLE, PODS_TABLE } from "./pods.js";

export function coreTables(naming: Naming): Readonly<Record<string, TablePrinter>> {
  const { labelDomain } = naming;
  const classAnnotation = `volume.beta.${labelDomain}/storage-class`;
  return {
    "/pods": PODS_TABLE,
    "/podtemplates": POD_TEMPLATES_TABLE,
    "/replicationcontrollers": REPLICATION_CONTROLLERS_TABLE,
    "/configmaps": CONFIG_MAPS_TABLE,
    "/secrets": SECRETS_TABLE,
    "/events": EVENTS_TABLE,
    "/namespaces": table(
      NAME,
      textColumn("Status", (object) => text(object, "status", "phase")),
      AGE,
    ),
    "/serviceaccounts": table(NAME, AGE),
    "/services": table(
      NAME,
      textColumn("Type", (object) => text(object, "spec", "type")),
      textColumn("Cluster-IP", clusterIp),
      textColumn("External-IP", externalIp),
      textColumn("Port(s)", servicePorts),
      AGE,
      wide(textColumn("Selector", (object) => labelsText(fields(object, "spec", "selector")))),
    ),
    "/componentstatuses": table(
      NAME,
      textColumn(
        "Status",
        (object) => COMPONENT_STATUS[healthOf(object).status ?? ""] ?? "Unknown",
      ),
      textColumn("Message", (object) => healthOf(object).message ?? ""),
      textColumn("Error", (object) => healthOf(object).error ?? ""),
    ),
    "/endpoints": table(NAME, textColumn("Endpoints", endpointAddresses), AGE),
    "/nodes": table(
      NAME,
      textColumn("Status", nodeStatus),
      textColumn("Roles", (object) => nodeRoles(object, labelDomain)),
      AGE,
      textColumn("Version", (object) => text(object, "status", "nodeInfo", "kubeletVersion")),
      wide(textColumn("Internal-IP", (object) => nodeAddress(object, "InternalIP"))),
      wide(textColumn("External-IP", (object) => nodeAddress(object, "ExternalIP"))),
      wide(textColumn("OS-Image", (object) => nodeFact(object, "osImage"))),
      wide(textColumn("Kernel-Version", (object) => nodeFact(object, "kernelVersion"))),
      wide(
        textColumn("Container-Runtime", (object) => nodeFact(object, "containerRuntimeVersion")),
      ),
    ),
    "/persistentvolumes": table(
      NAME,
      textColumn("Capacity", (object) => orNone(text(object, "spec", "capacity", "storage"), "0")),
      textColumn("Access Modes", (object) => accessModes(texts(object, "spec", "accessModes"))),
      textColumn("Reclaim Policy", (object) =>
        text(object, "spec", "persistentVolumeReclaimPolicy"),
      ),
      textColumn("Status", volumePhase),
      textColumn("Claim", (object) => {
        const claim = at(object, "spec", "claimRef");
        return claim === undefined ? "" : `${text(claim, "namespace")}/${text(claim, "name")}`;
      }),
      textColumn("StorageClass", (object) => storageClass(object, classAnnotation)),
      textColumn("VolumeAttributesClass", volumeAttributesClass),
      textColumn("Reason", (object) => text(object, "status", "reason")),
      AGE,
      wide(textColumn("VolumeMode", volumeMode)),
    ),
    "/persistentvolumeclaims": table(
      NAME,
      textColumn("Status", volumePhase),
      textColumn("Volume", (object) => text(object, "spec", "volumeName")),
      textColumn("Capacity", (object) =>
        isBound(object) ? orNone(text(object, "status", "capacity", "storage"), "0") : "",
      ),
      textColumn("Access Modes", (object) =>
        isBound(object) ? accessModes(texts(object, "status", "accessModes")) : "",
      ),
      textColumn("StorageClass", (object) => storageClass(object, classAnnotation)),
      textColumn("VolumeAttributesClass", volumeAttributesClass),
      AGE,
      wide(textColumn("VolumeMode", volumeMode)),
    ),
    "/resourcequotas": table(
      NAME,
      textColumn("Request", (object) => quotaUse(object, false)),
      textColumn("Limit", (object) => quotaUse(object, true)),
      AGE,
    ),
  };
}

function clusterIp(service: Fields): string {
  return String(list(service, "spec", "clusterIPs")[0] ?? "<none>");
}

function externalIp(service: Fields): string {
  const external = texts(service, "spec", "externalIPs");
  switch (text(service, "spec", "type")) {
    case "ClusterIP":
    case "NodePort":
      return orNone(external.join(","));
    case "LoadBalancer":
      return orNone([...ingressAddresses(service), ...external].join(","), "<pending>");
    case "ExternalName":
      return text(service, "spec", "externalName");
    default:
      return "<unknown>";
  }
}

/** The ingress addresses or names of a load balancer, unique and in order. */
export function ingressAddresses(object: Fields): string[] {
  const points = list(object, "status", "loadBalancer", "ingress");
  const names = points.map((point) => orNone(text(point, "ip"), text(point, "hostname")));
  return [...new Set(names.filter((name) => name !== ""))].sort();
}

function servicePorts(service: Fields): string {
  const ports = list(service, "spec", "ports").map((port) => {
    const nodePort = whole(port, "nodePort");
    const outside = nodePort > 0 ? `:${nodePort}` : "";
    return `${whole(port, "port")}${outside}/${text(port, "protocol")}`;
  });
  return orNone(ports.join(","));
}

const ENDPOINTS_MAX = 3;

function endpointAddresses(endpoints: Fields): string {
  const subsets = list(endpoints, "subsets");
  if (subsets.length === 0) return "<none>";
  const shown: string[] = [];
  let count = 0;
  for (const subset of subsets) {
    const addresses = list(subset, "addresses").map((address) => text(address, "ip"));
    const ports = list(subset, "ports").map((port) => `:${whole(port, "port")}`);
    for (const port of ports.length === 0 ? [""] : ports) {
      count += addresses.length;
      for (const address of addresses) {
        if (shown.length === ENDPOINTS_MAX) break;
        const host = port !== "" && address.includes(":") ? `[${address}]` : address;
        shown.push(`${host}${port}`);
      }
    }
  }
  const first = shown.join(",");
  return count > shown.length ? `${first} + ${count - ENDPOINTS_MAX} more...` : first;
}

function nodeStatus(node: Fields): string {
  const ready = conditionOf(list(node, "status", "conditions"), "Ready");
  const words =
    ready === undefined ? ["Unknown"] : [text(ready, "status") === "True" ? "Ready" : "NotReady"];
  if (at(node, "spec", "unschedulable") === true) words.push("SchedulingDisabled");
  return words.join(",");
}

function nodeRoles(node: Fields, labelDomain: string): string {
  const prefix = `node-role.${labelDomain}/`;
  const roles = new Set<string>();
  for (const [key, value] of Object.entries(fields(node, "metadata", "labels"))) {
    if (key.startsWith(prefix) && key.length > prefix.length) roles.add(key.slice(prefix.length));
    else if (key === `${labelDomain}/role` && value !== "") roles.add(String(value));
  }
  return orNone([...roles].sort().join(","));
}

function nodeAddress(node: Fields, type: string): string {
  const address = list(node, "status", "addresses").find((one) => text(one, "type") === type);
  return address === undefined ? "<none>" : text(address, "address");
}

function nodeFact(node: Fields, field: string): string {
  return orNone(text(node, "status", "nodeInfo", field), "<unknown>");
}

const ACCESS_MODES: readonly (readonly [mode: string, short: string])[] = [
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
];

function accessModes(modes: readonly string[]): string {
  return ACCESS_MODES.filter(([mode]) => modes.includes(mode))
    .map(([, short]) => short)
    .join(",");
}

function volumePhase(volume: Fields): string {
  return isBeingDeleted(volume) ? "Terminating" : text(volume, "status", "phase");
}

function storageClass(volume: Fields, annotation: string): string {
  const annotated = at(volume, "metadata", "annotations", annotation);
  return typeof annotated === "string" ? annotated : text(volume, "spec", "storageClassName");
}

function volumeAttributesClass(volume: Fields): string {
  const name = at(volume, "spec", "volumeAttributesClassName");
  return typeof name === "string" ? name : "<unset>";
}

function volumeMode(volume: Fields): string {
  const mode = at(volume, "spec", "volumeMode");
  return typeof mode === "string" ? mode : "<unset>";
}

function isBound(claim: Fields): boolean {
  return text(claim, "spec", "volumeName") !== "";
}

function quotaUse(quota: Fields, isLimit: boolean): string {
  const hard = fields(quota, "status", "hard");
  return Object.keys(hard)
    .filter((name) => name.startsWith("limits.") === isLimit)
    .sort()
    .map(
      (name) => `${name}: ${orNone(text(quota, "status", "used", name), "0")}/${text(hard, name)}`,
    )
    .join(", ");
}

export const EVENTS_TABLE = table(
  textColumn("Last Seen", lastSeen),
  textColumn("Type", (event) => text(event, "type")),
  textColumn("Reason", (event) => text(event, "reason")),
  textColumn("Object", (event) => {
    const { kind, name } = fields(event, "involvedObject");
    const lower = String(kind ?? "").toLowerCase();
    return typeof name === "string" && name !== "" ? `${lower}/${name}` : lower;
  }),
  wide(textColumn("Subobject", (event) => text(event, "involvedObject", "fieldPath"))),
  wide(textColumn("Source", eventSource)),
  textColumn("Message", (event) => text(event, "message").trim()),
  wide(textColumn("First Seen", firstSeen)),
  wide(textColumn("Count", eventCount)),
  { column: { ...NAME_COLUMN, priority: 1 }, cell: NAME.cell },
);

function firstSeen(event: Fields, nowMs: number): string {
  return age(orNone(text(event, "firstTimestamp"), text(event, "eventTime")), nowMs);
}

function lastSeen(event: Fields, nowMs: number): string {
  if (at(event, "series") !== undefined) {
    return age(text(event, "series", "lastObservedTime"), nowMs);
  }
  const last = text(event, "lastTimestamp");
  return last === "" ? firstSeen(event, nowMs) : age(last, nowMs);
}

function eventCount(event: Fields): number {
  if (at(event, "series") !== undefined) return whole(event, "series", "count");
  return Math.max(1, whole(event, "count"));
}

function eventSource(event: Fields): string {
  const component = orNone(text(event, "source", "component"), text(event, "reportingComponent"));
  const instance = orNone(text(event, "source", "host"), text(event, "reportingInstance"));
  return instance === "" ? component : `${component}, ${instance}`;
}

const COMPONENT_STATUS: Readonly<Record<string, string>> = { True: "Healthy", False: "Unhealthy" };

interface ComponentCondition {
  readonly type?: string;
  readonly status?: string;
  readonly message?: string;
  readonly error?: string;
}

function healthOf(object: Fields): ComponentCondition {
  const conditions = list(object, "conditions") as ComponentCondition[];
  return conditions.find(({ type }) => type === "Healthy") ?? {};
}
