/** Defaults that depend on other fields, of the groups that have only a few of them. */

import type { JsonObject } from "../../api/meta.js";
import { type DefaultRules, ensureObject, fill, isUnset, itemsIn, objectIn } from "./rule.js";

export const networkingDefaults: DefaultRules = {
  "NetworkPolicy spec.policyTypes": (policy) => {
    const spec = objectIn(policy, "spec");
    if (spec === undefined || itemsIn(spec, "policyTypes").length > 0) return;
    const hasEgress = itemsIn(spec, "egress").length > 0;
    spec.policyTypes = hasEgress ? ["Ingress", "Egress"] : ["Ingress"];
  },
  "IngressClass spec.parameters.scope": (ingressClass, { fact }) => {
    fill(objectIn(objectIn(ingressClass, "spec"), "parameters"), "scope", fact.value ?? null);
  },
};

export const rbacDefaults: DefaultRules = {
  "Subject apiGroup": (subject, { fact }) => {
    if (subject.kind === "User" || subject.kind === "Group") {
      fill(subject, "apiGroup", fact.value ?? null);
    }
  },
};

export const apiextensionsDefaults: DefaultRules = {
  "CustomResourceDefinitionSpec names.singular": (spec) => {
    const names = ensureObject(spec, "names");
    if (!isUnset(names.kind)) fill(names, "singular", String(names.kind).toLowerCase());
  },
  "CustomResourceDefinitionSpec names.listKind": (spec) => {
    const names = ensureObject(spec, "names");
    if (!isUnset(names.kind)) fill(names, "listKind", `${String(names.kind)}List`);
  },
  "CustomResourceDefinition status.storedVersions": (definition) => {
    const status = ensureObject(definition, "status");
    if (itemsIn(status, "storedVersions").length > 0) return;
    const versions = itemsIn(objectIn(definition, "spec"), "versions");
    const stored = versions.find((version) => version.storage === true);
    if (stored?.name !== undefined) status.storedVersions = [stored.name];
  },
};

function countOne(request: JsonObject): void {
  const isUncounted = isUnset(request.count) || request.count === 0;
  if (isUncounted && request.allocationMode === "ExactCount") request.count = 1;
}

/** In the first beta a request is its own exact request, when it names a class. */
export function defaultFlatDeviceRequest(request: JsonObject): void {
  if (isUnset(request.deviceClassName)) return;
  fill(request, "allocationMode", "ExactCount");
  countOne(request);
}

export const resourceDefaults: DefaultRules = {
  "ExactDeviceRequest count": countOne,
  "DeviceTaint timeAdded": (taint, { now }) => {
    fill(taint, "timeAdded", `${now().toISOString().slice(0, 19)}Z`);
  },
};
