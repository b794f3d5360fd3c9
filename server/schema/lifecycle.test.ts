/** Lifecycles of versions: what a release serves, and its deprecation warnings. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  API_RELEASE,
  compareReleases,
  deprecationOf,
  isServedIn,
  parseLifecycle,
  parseRelease,
} from "./lifecycle.js";

const release = (text: string) => parseRelease(text) ?? assert.fail(text);
const gvk = { group: "networking.k8s.io", version: "v1beta1", kind: "Ingress" };
const attributes = {
  introduced: "1.14",
  deprecated: "1.19",
  removed: "1.22",
  use: "networking.k8s.io/v1/Ingress",
};

test("releases are compared as numbers, and what is none is none", () => {
  assert.ok(compareReleases(release("1.9"), release("1.10")) < 0);
  assert.ok(compareReleases(release("2.0"), release("1.36")) > 0);
  assert.equal(compareReleases(release("1.36"), API_RELEASE), 0);
  for (const text of ["", "1", "v1.2", "1.2.3", "1.x", "-1.2", "1.36 "]) {
    assert.equal(parseRelease(text), undefined, text);
  }
});

test("S2-VERS-03, S2-REM-06: a version is there from its introduction until the release before its removal", () => {
  const lifecycle = parseLifecycle(attributes);
  const served = ["1.13", "1.14", "1.19", "1.21", "1.22", "1.36"].map((text) =>
    isServedIn(lifecycle, release(text)),
  );
  assert.deepEqual(served, [false, true, true, true, false, false]);
  assert.equal(isServedIn(undefined, API_RELEASE), true, "nothing is known of it");
});

/** Attributes, the release, and the warning. */
const WARNINGS: readonly (readonly [Partial<typeof attributes>, string, string | undefined])[] = [
  [attributes, "1.18", undefined],
  [
    attributes,
    "1.19",
    "networking.k8s.io/v1beta1 Ingress is deprecated in v1.19+, unavailable in v1.22+; use networking.k8s.io/v1 Ingress",
  ],
  [
    { introduced: "1.14", deprecated: "1.19", removed: "1.22" },
    "1.20",
    "networking.k8s.io/v1beta1 Ingress is deprecated in v1.19+, unavailable in v1.22+",
  ],
  [
    { introduced: "1.14", deprecated: "1.19" },
    "1.36",
    "networking.k8s.io/v1beta1 Ingress is deprecated in v1.19+",
  ],
  [
    { introduced: "1.14", deprecated: "1.19", use: "v1/Pod" },
    "1.36",
    "networking.k8s.io/v1beta1 Ingress is deprecated in v1.19+; use v1 Pod",
  ],
  [{ introduced: "1.14" }, "1.36", undefined],
];

for (const [known, at, expected] of WARNINGS) {
  test(`S2-DEP-12: ${JSON.stringify(known)} in ${at} warns: ${expected ?? "nothing"}`, () => {
    const { warning } = deprecationOf(gvk, parseLifecycle(known), release(at)) ?? {};
    assert.equal(warning, expected);
  });
}

test("S2-DEP-13, S2-DEP-14: the release of the removal is known, or empty", () => {
  const at = release("1.20");
  assert.equal(deprecationOf(gvk, parseLifecycle(attributes), at)?.removedRelease, "1.22");
  const open = parseLifecycle({ introduced: "1.0", deprecated: "1.19" });
  assert.equal(deprecationOf(gvk, open, at)?.removedRelease, "");
});

test("a release that is none stops the start, rather than serving for ever", () => {
  assert.throws(() => parseLifecycle({ ...attributes, removed: "soon" }), /removed=soon/);
  assert.equal(parseLifecycle({}), undefined);
});
