/** The table of versions keeps the deprecation policy, and the check fails for a table that does not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../api/naming.js";
import { API_RELEASE, isServedIn, parseLifecycle } from "../schema/lifecycle.js";
import { loadFacts } from "./load-facts.js";
import { breaches, stabilityOf, type VersionRow, versionTable } from "./testing/version-policy.js";

const facts = loadFacts(createNaming("kubernetes"));
const table = versionTable(facts);

/** kube-apiserver's own violations. */
const KNOWN_BREACHES = [
  "apps/v1beta1 DeploymentRollback: replaced by DeploymentRollback, which is not there",
  "certificates.k8s.io/v1beta1 ClusterTrustBundle: deprecated more than 3 releases after its introduction",
];

test("S2-VERS-01..04, S2-DEP-03, S2-DEP-04: the table of versions keeps the rules of docs/use/api-versions.md", () => {
  assert.ok(table.length > 150, `${table.length} rows`);
  assert.deepEqual(breaches(table, API_RELEASE).toSorted(), KNOWN_BREACHES);
});

test("S2-VERS-05, S2-VERS-01, S2-VERS-02: what a version is called says how stable it is", () => {
  const names = { ga: 2, beta: 1, alpha: 0 };
  for (const { group, version, stability } of facts.groupVersions) {
    assert.equal(stabilityOf({ version }), names[stability], `${group}/${version}`);
  }
});

test("S2-REM-07: every row of resources.tsv is served in the release that it was written for", () => {
  for (const { group, version, kind, lifecycle } of facts.resources) {
    assert.ok(isServedIn(lifecycle, API_RELEASE), `${group}/${version} ${kind}`);
  }
  for (const file of facts.model.files.values()) {
    if (file.served !== "removed") continue;
    const { group, version } = file;
    const rows = facts.resources.filter((row) => row.group === group && row.version === version);
    assert.deepEqual(rows, [], `${group}/${version} is removed`);
  }
});

const stable = { group: "g", version: "v1" };
const row = (
  version: string,
  attributes: Record<string, string>,
  changes: Partial<VersionRow> = {},
): VersionRow => ({
  group: "g",
  version,
  kind: "Thing",
  lifecycle: parseLifecycle(attributes) ?? assert.fail("no lifecycle"),
  isOnByDefault: false,
  stored: stable,
  ...changes,
});
const v1 = row("v1", { introduced: "1.30" }, { isOnByDefault: true });
const beta = { introduced: "1.28", deprecated: "1.31", removed: "1.34", use: "g/v1/Thing" };

/** Tables that violate one rule each, and the expected messages. */
const BROKEN: readonly (readonly [ids: string, VersionRow[], RegExp])[] = [
  ["S2-VERS-02", [row("v1beta1", beta, { isOnByDefault: true }), v1], /on by default/],
  ["S2-VERS-03", [row("v1beta1", { introduced: "1.30" }), v1], /a beta without an end/],
  [
    "S2-VERS-03",
    [row("v1beta1", { ...beta, introduced: "1.27" }), v1],
    /deprecated more than 3 releases/,
  ],
  [
    "S2-VERS-03",
    [row("v1beta1", { ...beta, removed: "1.33" }), v1],
    /removed less than 3 releases/,
  ],
  [
    "S2-VERS-04",
    [row("v1", { introduced: "1.20", deprecated: "1.30", removed: "1.40" })],
    /a stable version is not removed/,
  ],
  ["S2-DEP-03", [row("v1beta1", { ...beta, use: "g/v1alpha1/Thing" }), v1], /less stable/],
  ["S2-DEP-03", [row("v1beta1", { ...beta, use: "g/v9/Thing" }), v1], /which is not there/],
  [
    "S2-DEP-04",
    [row("v1beta1", beta), row("v1", { introduced: "1.34" })],
    /before its replacement was served/,
  ],
  [
    "S2-DEP-04",
    [
      row("v1beta1", { introduced: "1.34", deprecated: "1.37", removed: "1.40" }),
      row("v1", { introduced: "1.36" }),
    ],
    /stored as g\/v1, which 1\.35 cannot read/,
  ],
  [
    "S2-DEP-04",
    [
      row("v1beta1", beta),
      row("v1", { introduced: "1.30" }, { stored: { ...stable, version: "v1beta1" } }),
    ],
    /stored as g\/v1beta1, which 1\.36 has not/,
  ],
  [
    "S2-DEP-04",
    [row("v1", { introduced: "1.30" }, { stored: { ...stable, version: "v2" } })],
    /g\/v2, which is not there/,
  ],
  ["S2-VERS-03", [row("v1beta1", { ...beta, deprecated: "1.35" }), v1], /do not follow each other/],
  [
    "S2-VERS-03",
    [row("v1alpha1", { introduced: "1.30", removed: "1.31" }), v1],
    /without deprecation/,
  ],
];

for (const [ids, broken, message] of BROKEN) {
  test(`${ids}: a table is refused: ${message.source}`, () => {
    const found = breaches(broken, API_RELEASE);
    assert.ok(
      found.some((text) => message.test(text)),
      found.join("; "),
    );
  });
}

test("S2-VERS-03, S2-DEP-04: a table that keeps the rules is not refused", () => {
  assert.deepEqual(breaches([row("v1beta1", beta), v1], API_RELEASE), []);
  const first = row("v1", { introduced: "1.36" });
  assert.deepEqual(breaches([first], API_RELEASE), [], "nobody has read it before");
});
