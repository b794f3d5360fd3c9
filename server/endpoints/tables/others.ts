/** Columns of the smaller groups, by group. */
import type { Naming } from "../../api/naming.js";
import type { Cell, TablePrinter } from "../../kinds/table-printer.js";
import {
  AGE,
  at,
  booleanColumn,
  conditionOf,
  type Fields,
  fields,
  firstFew,
  humanDuration,
  integerColumn,
  isBeingDeleted,
  list,
  NAME,
  NAME_COLUMN,
  orNone,
  selectorText,
  table,
  text,
  textColumn,
  texts,
  whole,
  wide,
} from "./cells.js";
import { EVENTS_TABLE, ingressAddresses } from "./core.js";

type Tables = Readonly<Record<string, TablePrinter>>;

export function otherTables(naming: Naming): Tables {
  return {
    ...NETWORK_TABLES,
    ...ACCESS_TABLES,
    ...storageTables(naming),
    ...EXTENSION_TABLES,
    ...SCHEDULING_TABLES,
    "events/events": EVENTS_TABLE,
  };
}

/** A text of the specification as it is. */
function specText(name: string, field: string) {
  return textColumn(name, (object) => text(object, "spec", field));
}

const LIST_MAX = 3;

function fewOrUnset(items: readonly string[]): string {
  return orNone(firstFew(items, LIST_MAX), "<unset>");
}

const NETWORK_TABLES: Tables = {
  "networking/ingresses": table(
    NAME,
    textColumn("Class", (object) => String(at(object, "spec", "ingressClassName") ?? "<none>")),
    textColumn("Hosts", ingressHosts),
    textColumn("Address", (object) => ingressAddresses(object).join(",")),
    textColumn("Ports", (object) => (list(object, "spec", "tls").length > 0 ? "80, 443" : "80")),
    AGE,
  ),
  "networking/ingressclasses": table(
    NAME,
    specText("Controller", "controller"),
    textColumn("Parameters", (object) => {
      const parameters = at(object, "spec", "parameters");
      if (parameters === undefined) return "<none>";
      const group = at(parameters, "apiGroup");
      const suffix = group === undefined ? "" : `.${String(group)}`;
      return `${text(parameters, "kind")}${suffix}/${text(parameters, "name")}`;
    }),
    AGE,
  ),
  "networking/networkpolicies": table(
    NAME,
    textColumn("Pod-Selector", (object) =>
      orNone(selectorText(fields(object, "spec", "podSelector"))),
    ),
    AGE,
  ),
  "networking/servicecidrs": table(
    NAME,
    textColumn("CIDRs", (object) => texts(object, "spec", "cidrs").join(",")),
    AGE,
  ),
  "networking/ipaddresses": table(
    NAME,
    textColumn("ParentRef", (object) => {
      const parent = at(object, "spec", "parentRef");
      if (parent === undefined) return "<none>";
      const group = text(parent, "group");
      const resource = `${text(parent, "resource")}${group === "" ? "" : `.${group}`}`;
      const path = [resource.toLowerCase(), text(parent, "namespace"), text(parent, "name")];
      return path.filter((part, index) => index !== 1 || part !== "").join("/");
    }),
    AGE,
  ),
  "discovery/endpointslices": table(
    NAME,
    textColumn("AddressType", (object) => text(object, "addressType")),
    textColumn("Ports", (object) =>
      fewOrUnset(
        list(object, "ports").map((port) => String(at(port, "port") ?? at(port, "name") ?? "*")),
      ),
    ),
    textColumn("Endpoints", (object) =>
      fewOrUnset(list(object, "endpoints").flatMap((endpoint) => texts(endpoint, "addresses"))),
    ),
    AGE,
  ),
};

function ingressHosts(ingress: Fields): string {
  const rules = list(ingress, "spec", "rules");
  const hosts: string[] = [];
  let isCut = false;
  for (const rule of rules) {
    if (hosts.length === LIST_MAX) isCut = true;
    const host = text(rule, "host");
    if (!isCut && host !== "") hosts.push(host);
  }
  if (hosts.length === 0) return "*";
  return isCut ? `${hosts.join(",")} + ${rules.length - LIST_MAX} more...` : hosts.join(",");
}

const bindingColumns = [
  NAME,
  textColumn("Role", (object: Fields) => {
    const role = fields(object, "roleRef");
    return `${text(role, "kind")}/${text(role, "name")}`;
  }),
  AGE,
  wide(textColumn("Users", (object) => subjects(object, "User"))),
  wide(textColumn("Groups", (object) => subjects(object, "Group"))),
  wide(textColumn("ServiceAccounts", (object) => subjects(object, "ServiceAccount"))),
];

const ACCESS_TABLES: Tables = {
  "rbac.authorization/rolebindings": table(...bindingColumns),
  "rbac.authorization/clusterrolebindings": table(...bindingColumns),
  "certificates/certificatesigningrequests": table(
    NAME,
    AGE,
    textColumn("SignerName", (object) => orNone(text(object, "spec", "signerName"))),
    specText("Requestor", "username"),
    textColumn("RequestedDuration", (object) => {
      const seconds = at(object, "spec", "expirationSeconds");
      return typeof seconds === "number" ? humanDuration(seconds * 1_000) : "<none>";
    }),
    textColumn("Condition", requestCondition),
  ),
  "certificates/clustertrustbundles": table(
    NAME,
    textColumn("SignerName", (object) => orNone(text(object, "spec", "signerName"))),
  ),
};

function subjects(binding: Fields, kind: string): string {
  return list(binding, "subjects")
    .filter((subject) => text(subject, "kind") === kind)
    .map((subject) => {
      const namespace = kind === "ServiceAccount" ? `${text(subject, "namespace")}/` : "";
      return `${namespace}${text(subject, "name")}`;
    })
    .join(", ");
}

function requestCondition(request: Fields): string {
  const types = new Set(
    list(request, "status", "conditions").map((condition) => text(condition, "type")),
  );
  let status = types.has("Approved") ? "Approved" : "Pending";
  if (types.has("Denied")) status = "Denied";
  if (types.has("Failed")) status += ",Failed";
  if (text(request, "status", "certificate") !== "") status += ",Issued";
  return status;
}

function storageTables({ labelDomain }: Naming): Tables {
  const nameWithDefault = (annotation: string) => ({
    column: NAME_COLUMN,
    cell: (object: Fields): Cell => {
      const isDefault = text(object, "metadata", "annotations", annotation) === "true";
      return `${text(object, "metadata", "name")}${isDefault ? " (default)" : ""}`;
    },
  });
  const classAnnotation = `storageclass.${labelDomain}/is-default-class`;
  const betaAnnotation = `storageclass.beta.${labelDomain}/is-default-class`;
  const current = nameWithDefault(classAnnotation);
  const older = nameWithDefault(betaAnnotation);
  const name = {
    column: NAME_COLUMN,
    cell: (object: Fields): Cell => {
      const shown = current.cell(object);
      return shown === text(object, "metadata", "name") ? older.cell(object) : shown;
    },
  };
  return {
    "storage/storageclasses": table(
      name,
      textColumn("Provisioner", (object) => text(object, "provisioner")),
      textColumn("ReclaimPolicy", (object) => orNone(text(object, "reclaimPolicy"), "Delete")),
      textColumn("VolumeBindingMode", (object) =>
        orNone(text(object, "volumeBindingMode"), "Immediate"),
      ),
      textColumn("AllowVolumeExpansion", (object) => at(object, "allowVolumeExpansion") === true),
      AGE,
    ),
    "storage/volumeattributesclasses": table(
      nameWithDefault(`volumeattributesclass.${labelDomain}/is-default-class`),
      textColumn("DriverName", (object) => text(object, "driverName")),
      AGE,
    ),
    "storage/volumeattachments": table(
      NAME,
      specText("Attacher", "attacher"),
      textColumn("PV", (object) => text(object, "spec", "source", "persistentVolumeName")),
      specText("Node", "nodeName"),
      booleanColumn("Attached", (object) => at(object, "status", "attached") === true),
      AGE,
    ),
    "storage/csinodes": table(
      NAME,
      integerColumn("Drivers", (object) => list(object, "spec", "drivers").length),
      AGE,
    ),
    "storage/csidrivers": table(
      NAME,
      booleanColumn("AttachRequired", (object) => at(object, "spec", "attachRequired") !== false),
      booleanColumn("PodInfoOnMount", (object) => at(object, "spec", "podInfoOnMount") === true),
      booleanColumn("StorageCapacity", (object) => at(object, "spec", "storageCapacity") === true),
      textColumn("TokenRequests", (object) =>
        at(object, "spec", "tokenRequests") === undefined
          ? "<unset>"
          : list(object, "spec", "tokenRequests")
              .map((request) => text(request, "audience"))
              .join(","),
      ),
      booleanColumn(
        "RequiresRepublish",
        (object) => at(object, "spec", "requiresRepublish") === true,
      ),
      textColumn("Modes", (object) =>
        orNone(texts(object, "spec", "volumeLifecycleModes").join(",")),
      ),
      AGE,
    ),
    "storage/csistoragecapacities": table(
      NAME,
      textColumn("StorageClassName", (object) => text(object, "storageClassName")),
      textColumn("Capacity", (object) => orNone(text(object, "capacity"), "<unset>")),
    ),
  };
}

const webhooks = table(
  NAME,
  integerColumn("Webhooks", (object) => list(object, "webhooks").length),
  AGE,
);

const paramKind = textColumn("ParamKind", (object) => {
  const kind = at(object, "spec", "paramKind");
  return kind === undefined ? "<unset>" : `${text(kind, "apiVersion")}/${text(kind, "kind")}`;
});

const policyBinding = table(
  NAME,
  specText("PolicyName", "policyName"),
  textColumn("ParamRef", (object) => {
    const reference = at(object, "spec", "paramRef");
    const name = text(reference, "name");
    if (name !== "") return `${orNone(text(reference, "namespace"), "*")}/${name}`;
    const selector = at(reference, "selector");
    return selector === undefined ? "<unset>" : selectorText(fields(reference, "selector"));
  }),
  AGE,
);

const EXTENSION_TABLES: Tables = {
  "admissionregistration/mutatingwebhookconfigurations": webhooks,
  "admissionregistration/validatingwebhookconfigurations": webhooks,
  "admissionregistration/validatingadmissionpolicies": table(
    NAME,
    integerColumn("Validations", (object) => list(object, "spec", "validations").length),
    paramKind,
    AGE,
  ),
  "admissionregistration/mutatingadmissionpolicies": table(
    NAME,
    integerColumn("Mutations", (object) => list(object, "spec", "mutations").length),
    paramKind,
    AGE,
  ),
  "admissionregistration/validatingadmissionpolicybindings": policyBinding,
  "admissionregistration/mutatingadmissionpolicybindings": policyBinding,
  "apiregistration/apiservices": table(
    NAME,
    textColumn("Service", (object) => {
      const service = at(object, "spec", "service");
      return service === undefined
        ? "Local"
        : `${text(service, "namespace")}/${text(service, "name")}`;
    }),
    textColumn("Available", (object) => {
      const condition = conditionOf(list(object, "status", "conditions"), "Available");
      if (condition === undefined) return "Unknown";
      const status = text(condition, "status");
      const reason = status === "True" ? "" : text(condition, "reason");
      return reason === "" ? status : `${status} (${reason})`;
    }),
    AGE,
  ),
};

const SCHEDULING_TABLES: Tables = {
  "scheduling/priorityclasses": table(
    NAME,
    integerColumn("Value", (object) => whole(object, "value")),
    booleanColumn("Global-Default", (object) => at(object, "globalDefault") === true),
    AGE,
    textColumn("PreemptionPolicy", (object) => text(object, "preemptionPolicy")),
  ),
  "node/runtimeclasses": table(
    NAME,
    textColumn("Handler", (object) => text(object, "handler")),
    AGE,
  ),
  "coordination/leases": table(NAME, specText("Holder", "holderIdentity"), AGE),
  "coordination/leasecandidates": table(
    NAME,
    specText("LeaseName", "leaseName"),
    specText("BinaryVersion", "binaryVersion"),
    specText("EmulationVersion", "emulationVersion"),
    AGE,
  ),
  "resource/deviceclasses": table(NAME, AGE),
  "resource/resourceclaimtemplates": table(NAME, AGE),
  "resource/resourceclaims": table(NAME, textColumn("State", claimState), AGE),
  "resource/resourceslices": table(
    NAME,
    specText("Node", "nodeName"),
    specText("Driver", "driver"),
    textColumn("Pool", (object) => text(object, "spec", "pool", "name")),
    AGE,
  ),
  "flowcontrol.apiserver/flowschemas": table(
    NAME,
    textColumn("PriorityLevel", (object) =>
      text(object, "spec", "priorityLevelConfiguration", "name"),
    ),
    textColumn("MatchingPrecedence", (object) => whole(object, "spec", "matchingPrecedence")),
    textColumn("DistinguisherMethod", (object) =>
      orNone(text(object, "spec", "distinguisherMethod", "type")),
    ),
    AGE,
    textColumn("MissingPL", (object) => {
      const dangling = conditionOf(list(object, "status", "conditions"), "Dangling");
      return dangling === undefined ? "?" : text(dangling, "status");
    }),
  ),
  "flowcontrol.apiserver/prioritylevelconfigurations": table(
    NAME,
    specText("Type", "type"),
    textColumn("NominalConcurrencyShares", (object) =>
      numberOrNone(at(object, "spec", "limited", "nominalConcurrencyShares")),
    ),
    textColumn("Queues", (object) => queuing(object, "queues")),
    textColumn("HandSize", (object) => queuing(object, "handSize")),
    textColumn("QueueLengthLimit", (object) => queuing(object, "queueLengthLimit")),
    AGE,
  ),
};

function claimState(claim: Fields): string {
  const isDeleted = isBeingDeleted(claim);
  const states = isDeleted ? ["deleted"] : [];
  if (at(claim, "status", "allocation") === undefined) {
    if (!isDeleted) states.push("pending");
  } else {
    states.push("allocated");
    if (list(claim, "status", "reservedFor").length > 0) states.push("reserved");
  }
  return states.join(",");
}

function queuing(level: Fields, field: string): Cell {
  return numberOrNone(at(level, "spec", "limited", "limitResponse", "queuing", field));
}

function numberOrNone(value: unknown): Cell {
  return typeof value === "number" ? value : "<none>";
}
