/** Versions that the existing API has removed, release by release: none is served, whatever is turned on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../api/meta.js";
import { createNaming } from "../api/naming.js";
import { createObjectCodecs } from "../schema/object-codec.js";
import { loadFacts } from "./load-facts.js";

const facts = loadFacts(createNaming("kubernetes"));
const codecs = createObjectCodecs(facts);

/** "group/version resource" that are gone, and what is served instead. */
const REMOVED: readonly (readonly [ids: string, gone: string, now: string])[] = [
  ["S2-REM-01", "flowcontrol.apiserver.k8s.io/v1beta3 flowschemas", "v1"],
  ["S2-REM-01", "flowcontrol.apiserver.k8s.io/v1beta3 prioritylevelconfigurations", "v1"],
  ["S2-REM-02", "flowcontrol.apiserver.k8s.io/v1beta2 flowschemas", "v1"],
  ["S2-REM-03", "storage.k8s.io/v1beta1 csistoragecapacities", "v1"],
  ["S2-REM-04", "flowcontrol.apiserver.k8s.io/v1beta1 flowschemas", "v1"],
  ["S2-REM-04", "autoscaling/v2beta2 horizontalpodautoscalers", "v2"],
  ["S2-REM-05", "batch/v1beta1 cronjobs", "v1"],
  ["S2-REM-05", "discovery.k8s.io/v1beta1 endpointslices", "v1"],
  ["S2-REM-05", "events.k8s.io/v1beta1 events", "v1"],
  ["S2-REM-05", "autoscaling/v2beta1 horizontalpodautoscalers", "v2"],
  ["S2-REM-05", "policy/v1beta1 poddisruptionbudgets", "v1"],
  ["S2-REM-05", "policy/v1beta1 podsecuritypolicies", ""],
  ["S2-REM-05", "node.k8s.io/v1beta1 runtimeclasses", "v1"],
  ["S2-REM-06", "admissionregistration.k8s.io/v1beta1 validatingwebhookconfigurations", "v1"],
  ["S2-REM-06", "admissionregistration.k8s.io/v1beta1 mutatingwebhookconfigurations", "v1"],
  ["S2-REM-06", "apiextensions.k8s.io/v1beta1 customresourcedefinitions", "v1"],
  ["S2-REM-06", "apiregistration.k8s.io/v1beta1 apiservices", "v1"],
  ["S2-REM-06", "authentication.k8s.io/v1beta1 tokenreviews", "v1"],
  ["S2-REM-06", "authorization.k8s.io/v1beta1 subjectaccessreviews", "v1"],
  ["S2-REM-06", "certificates.k8s.io/v1beta1 certificatesigningrequests", "v1"],
  ["S2-REM-06", "coordination.k8s.io/v1beta1 leases", "v1"],
  ["S2-REM-06", "networking.k8s.io/v1beta1 ingresses", "v1"],
  ["S2-REM-06", "networking.k8s.io/v1beta1 ingressclasses", "v1"],
  ["S2-REM-06", "rbac.authorization.k8s.io/v1beta1 roles", "v1"],
  ["S2-REM-06", "scheduling.k8s.io/v1beta1 priorityclasses", "v1"],
  ["S2-REM-06", "storage.k8s.io/v1beta1 storageclasses", "v1"],
  ["S2-REM-06", "storage.k8s.io/v1beta1 csidrivers", "v1"],
  ["S2-REM-07", "extensions/v1beta1 deployments", ""],
  ["S2-REM-07", "extensions/v1beta1 networkpolicies", ""],
  ["S2-REM-07", "apps/v1beta1 deployments", "v1"],
  ["S2-REM-07", "apps/v1beta2 statefulsets", "v1"],
];

const servedIn = (group: string, version: string, resource: string) =>
  facts.resources.some(
    (row) => row.group === group && row.version === version && row.resource === resource,
  );

for (const [ids, gone, now] of REMOVED) {
  test(`${ids}: ${gone} is not served${now === "" ? "" : `, ${now} is`}`, () => {
    const [groupVersion = "", resource = ""] = gone.split(" ");
    const [group = "", version = ""] = groupVersion.split("/");
    assert.equal(servedIn(group, version, resource), false);
    if (now !== "") assert.ok(servedIn(group, now, resource));
  });
}

test("S2-REM-07: what extensions had is served by its own groups", () => {
  assert.ok(servedIn("networking.k8s.io", "v1", "networkpolicies"));
  assert.ok(servedIn("networking.k8s.io", "v1", "ingresses"));
  assert.ok(servedIn("apps", "v1", "daemonsets"));
});

const LEVEL = "PriorityLevelConfiguration";

function decodedLevel(limited: JsonObject) {
  const codec = codecs.forKind("flowcontrol.apiserver.k8s.io", "v1", LEVEL);
  assert.ok(codec !== undefined);
  const spec = { type: "Limited", limited };
  const { object, unknownFields } = codec.decode({ metadata: { name: "x" }, spec });
  codec.applyDefaults(object);
  return { limited: (object.spec as { limited: JsonObject }).limited, unknownFields };
}

test("S2-REM-01: shares of a priority level are 30 where nothing is said, and 0 where that is said", () => {
  assert.equal(decodedLevel({}).limited.nominalConcurrencyShares, 30);
  assert.equal(decodedLevel({ nominalConcurrencyShares: 0 }).limited.nominalConcurrencyShares, 0);
  assert.equal(decodedLevel({ nominalConcurrencyShares: 7 }).limited.nominalConcurrencyShares, 7);
});

test("S2-REM-02: the older name of the shares is unknown", () => {
  const { unknownFields } = decodedLevel({ assuredConcurrencyShares: 5 });
  assert.deepEqual(unknownFields, ["spec.limited.assuredConcurrencyShares"]);
});
