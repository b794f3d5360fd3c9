/** What writes to each kind and its subresources do not reach, as kube-apiserver 1.36 has it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../api/naming.js";
import { createFactsCodecs } from "../kinds/facts-codecs.js";
import { loadFacts } from "../types/load-facts.js";
import { createBuiltInCatalog } from "./built-in-catalog.js";
import { resetTableOf } from "./generic/ownership.js";

/** The object itself not the status, and status not the spec. */
const PLAIN = [
  "/nodes",
  "/persistentvolumeclaims",
  "/persistentvolumes",
  "/replicationcontrollers",
  "/resourcequotas",
  "/services",
  "apps/daemonsets",
  "apps/replicasets",
  "apps/statefulsets",
  "autoscaling/horizontalpodautoscalers",
  "batch/cronjobs",
  "batch/jobs",
  "networking.k8s.io/ingresses",
  "policy/poddisruptionbudgets",
];

/** As those, and status no metadata either. */
const STATUS_ONLY = [
  "admissionregistration.k8s.io/validatingadmissionpolicies",
  // There its status may change metadata, against the API's conventions.
  "apiextensions.k8s.io/customresourcedefinitions",
  "apiregistration.k8s.io/apiservices",
  "flowcontrol.apiserver.k8s.io/flowschemas",
  "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations",
  "internal.apiserver.k8s.io/storageversions",
  "networking.k8s.io/servicecidrs",
  "resource.k8s.io/devicetaintrules",
  "resource.k8s.io/resourceclaims",
  "resource.k8s.io/resourcepoolstatusrequests",
  "storage.k8s.io/volumeattachments",
  "storagemigration.k8s.io/storageversionmigrations",
];

const OTHERS = {
  "/namespaces": { "": ["status"], status: ["spec"], finalize: ["status"] },
  "/pods": {
    "": ["status"],
    status: ["spec", "metadata.deletionTimestamp", "metadata.ownerReferences"],
  },
  "apps/deployments": { "": ["status"], status: ["spec", "metadata.labels"] },
  "certificates.k8s.io/certificatesigningrequests": {
    "": ["spec", "status"],
    status: ["spec", "status.conditions"],
    approval: ["spec", "status.certificate"],
  },
  "certificates.k8s.io/podcertificaterequests": { status: ["spec"] },
  "scheduling.k8s.io/podgroups": { status: ["metadata", "spec"] },
};

test("S1-SSA-34: the fields that no write to a kind or its subresources reaches", () => {
  const naming = createNaming("kubernetes");
  const facts = loadFacts(naming);
  const codecs = createFactsCodecs(facts);
  const catalog = createBuiltInCatalog({ naming, facts, codecs, isEnabled: () => true });
  const found: Record<string, unknown> = {};
  for (const resource of catalog.resources) {
    if (resource.form !== "main") continue;
    const table = resetTableOf(resource);
    if (Object.keys(table).length > 0) found[`${resource.group}/${resource.resource}`] = table;
    assert.equal("status" in table, resource.subresources.has("status"), resource.id);
  }
  const plain = { "": ["status"], status: ["spec"] };
  const statusOnly = { ...plain, status: ["metadata", "spec"] };
  assert.deepEqual(found, {
    ...Object.fromEntries(PLAIN.map((name) => [name, plain])),
    ...Object.fromEntries(STATUS_ONLY.map((name) => [name, statusOnly])),
    ...OTHERS,
  });
});
