/** --emulated-version and --min-compatibility-version: which releases can be asked for, and what follows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../api/naming.js";
import { createFactsCodecs } from "../kinds/facts-codecs.js";
import { createBuiltInCatalog } from "../registry/built-in-catalog.js";
import { formatRelease } from "../schema/lifecycle.js";
import { loadFacts } from "../types/load-facts.js";
import { effectiveReleases } from "./effective-release.js";
import { resolveFeatures } from "./feature-gates.js";

function releases(emulatedVersion = "", minCompatibilityVersion = ""): string[] {
  const { emulated, minCompatibility } = effectiveReleases({
    emulatedVersion,
    minCompatibilityVersion,
  });
  return [formatRelease(emulated), formatRelease(minCompatibility)];
}

test("a replica is compatible with the release before the one that it emulates, unless it is told", () => {
  assert.deepEqual(releases(), ["1.36", "1.35"]);
  assert.deepEqual(releases("1.35"), ["1.35", "1.34"]);
  assert.deepEqual(releases("kube=1.34", "kube=1.34"), ["1.34", "1.34"]);
  assert.deepEqual(releases("1.33"), ["1.33", "1.33"]);
});

const REFUSED: readonly (readonly [string, string, RegExp])[] = [
  ["1.32", "", /^emulation version 1\.32 is not between \[1\.33, 1\.36\]$/],
  ["1.37", "", /^emulation version 1\.37 is not between \[1\.33, 1\.36\]$/],
  ["1.35", "1.36", /^minCompatibilityVersion 1\.36 is not between \[1\.33, 1\.35\]$/],
  ["wardle=1.35", "", /--emulated-version: component not registered: wardle/],
  ["v1.35", "", /--emulated-version: "v1\.35" is not <major>\.<minor>/],
  ["", "soon", /--min-compatibility-version: "soon" is not/],
];

for (const [emulated, compatible, message] of REFUSED) {
  test(`"${emulated}" with "${compatible}" is refused: ${message.source}`, () => {
    assert.throws(() => releases(emulated, compatible), { name: "RangeError", message });
  });
}

test("S2-DEP-09: gates have the defaults of the emulated release, and cannot be set before they are there", () => {
  const at = (minor: number, asked: Record<string, boolean> = {}) =>
    resolveFeatures(new Map(Object.entries(asked)), { major: 1, minor });
  assert.equal(at(36).features.ConstrainedImpersonation, true);
  assert.equal(at(35).features.ConstrainedImpersonation, false);
  assert.equal(at(35, { ConstrainedImpersonation: true }).features.ConstrainedImpersonation, true);
  assert.equal(at(35, { AllAlpha: true }).features.ConstrainedImpersonation, true);
  assert.throws(
    () => at(34, { ConstrainedImpersonation: true }),
    /cannot set feature gate ConstrainedImpersonation to true, feature is PreAlpha at emulated version 1\.34/,
  );
  assert.throws(() => at(36, { ConsistentListFromCache: false }), /feature is locked to true/);
  const { features, warnings } = at(33, { ConsistentListFromCache: false });
  assert.deepEqual([features.ConsistentListFromCache, warnings], [false, []]);
});

test("S2-VERS-08: an emulated release has its own versions, and what it does not know is not served", () => {
  const naming = createNaming("kubernetes");
  const facts = loadFacts(naming);
  const codecs = createFactsCodecs(facts);
  const served = (minor: number, path: string) => {
    const release = { major: 1, minor };
    const isEnabled = () => true;
    const catalog = createBuiltInCatalog({ naming, facts, codecs, isEnabled, release });
    const [group = "", version = "", resource = ""] = path.split(" ");
    return catalog.find(group, version, resource);
  };
  const claims = "resource.k8s.io v1 resourceclaims";
  assert.deepEqual(
    [33, 34, 36].map((minor) => served(minor, claims) !== undefined),
    [false, true, true],
  );
  const policies = "admissionregistration.k8s.io v1 mutatingadmissionpolicies";
  assert.equal(served(35, policies), undefined);
  const ranges = "networking.k8s.io v1beta1 servicecidrs";
  assert.equal(served(33, ranges)?.fact.deprecation, undefined);
  assert.match(served(34, ranges)?.fact.deprecation?.warning ?? "", /deprecated in v1\.34\+/);
});
