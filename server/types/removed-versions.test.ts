/** Versions that kube-apiserver has removed, by release: none is served, whatever is enabled. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../api/meta.js";
import { createNaming } from "../api/naming.js";
import { createObjectCodecs } from "../schema/object-codec.js";
import { loadFacts } from "./load-facts.js";
import { removedVersions } from "./testing/removed-versions.js";

const naming = createNaming("kubernetes");
const facts = loadFacts(naming);
const codecs = createObjectCodecs(facts);

const servedIn = (group: string, version: string, resource: string) =>
  facts.resources.some(
    (row) => row.group === group && row.version === version && row.resource === resource,
  );

for (const [ids, gone, now] of removedVersions(naming)) {
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
