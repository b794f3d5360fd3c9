/** The catalog of what is served: against the facts, and against docs/use/api-coverage.md. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createNaming } from "../api/naming.js";
import { createFactsCodecs } from "../kinds/facts-codecs.js";
import type { VirtualOperation } from "../kinds/served-resource.js";
import { loadFacts, storageVersionHash } from "../types/load-facts.js";
import { createBuiltInCatalog } from "./built-in-catalog.js";
import { STRATEGIES } from "./groups.js";
import { ACTIONS, PARTS } from "./subresources/subresources.js";

const operation: VirtualOperation = { create: async ({ object }) => object };
const VIRTUAL = Object.fromEntries(
  [
    "authentication/selfsubjectreviews",
    "authentication/tokenreviews",
    "authorization/localsubjectaccessreviews",
    "authorization/selfsubjectaccessreviews",
    "authorization/selfsubjectrulesreviews",
    "authorization/subjectaccessreviews",
  ].map((name) => [name, operation]),
);

/** The actions that the wiring provides. */
const WIRED = [...Object.keys(ACTIONS), "/serviceaccounts/token"];

function open(vendor = "kubernetes", isEnabled?: () => boolean) {
  const naming = createNaming(vendor);
  const facts = loadFacts(naming);
  const codecs = createFactsCodecs(facts);
  const computed = ["/componentstatuses"];
  const options = { naming, facts, codecs, virtual: VIRTUAL, actions: WIRED, computed };
  const catalog = createBuiltInCatalog({ ...options, ...(isEnabled && { isEnabled }) });
  return { facts, catalog };
}

test("every GA resource of the facts is served", () => {
  const { facts, catalog } = open();
  for (const fact of facts.resources) {
    if (!fact.onByDefault || fact.subresource !== "") continue;
    const isServed = catalog.find(fact.group, fact.version, fact.resource) !== undefined;
    assert.ok(isServed, fact.resource);
  }
  assert.equal(
    catalog.resources.some(({ version }) => /alpha|beta/.test(version)),
    false,
  );
});

test("every subresource with a behaviour of its own belongs to one of the facts", () => {
  const { facts } = open();
  const known = new Set(
    facts.resources.map(({ group, resource, subresource }) =>
      [group.replace(".k8s.io", ""), resource, subresource].filter(Boolean).join("/"),
    ),
  );
  for (const name of [...Object.keys(PARTS), ...WIRED])
    assert.ok(known.has(name.replace(/^\//, "")), name);
});

test("every strategy belongs to a resource of the facts", () => {
  const { facts } = open();
  const known = new Set(
    facts.resources.map(({ group, resource }) => `${group.replace(".k8s.io", "")}/${resource}`),
  );
  for (const name of Object.keys(STRATEGIES)) assert.ok(known.has(name), name);
});

test("versions of one resource share a partition, whose stored form is the GA version's", () => {
  const { catalog } = open("kubernetes", () => true);
  const at = (group: string, version: string, resource: string) => {
    const found = catalog.findMain(group, version, resource);
    assert.ok(found, resource);
    return found;
  };
  const events = at("events.k8s.io", "v1", "events");
  assert.equal(events.partition, "core/events");
  assert.equal(events.storedCodec, at("", "v1", "events").codec);
  const older = at("autoscaling", "v1", "horizontalpodautoscalers");
  assert.equal(older.storedCodec, at("autoscaling", "v2", "horizontalpodautoscalers").codec);
  // While the previous release knows only that version.
  const policies = at("admissionregistration.k8s.io", "v1", "mutatingadmissionpolicies");
  const beta = at("admissionregistration.k8s.io", "v1beta1", "mutatingadmissionpolicies");
  assert.equal(beta.conversion, undefined);
  assert.equal(policies.storedCodec, beta.codec);
  assert.equal(catalog.stored("core/events")?.group, "");
});

test("S2-DEP-04: the storage version hash of a resource is that of what is really stored", () => {
  const { catalog } = open("kubernetes", () => true);
  for (const resource of catalog.resources) {
    if (resource.form !== "main") continue;
    const { partition, kind, group, version } = resource;
    const stored = catalog.versionsOf(partition).find(({ conversion }) => conversion === undefined);
    assert.ok(stored !== undefined, partition);
    assert.equal(
      resource.fact.storageVersionHash,
      storageVersionHash(stored, kind),
      `${group}/${version} ${resource.resource}`,
    );
  }
});

test("a foreign vendor's groups are found in its spelling", () => {
  const { catalog } = open("acme");
  const roles = catalog.findMain("rbac.authorization.acme.io", "v1", "roles");
  assert.equal(roles?.strategy.allowCreateOnUpdate, true);
  assert.equal(catalog.findMain("rbac.authorization.k8s.io", "v1", "roles"), undefined);
  assert.equal(catalog.findMain("events.acme.io", "v1", "events")?.partition, "core/events");
});

test("subresources are served where they have an implementation", () => {
  const { catalog } = open();
  const names = (group: string, resource: string) => [
    ...(catalog.findMain(group, "v1", resource)?.subresources.keys() ?? []),
  ];
  assert.deepEqual(names("", "namespaces"), ["finalize", "status"]);
  assert.deepEqual(names("apps", "deployments"), ["scale", "status"]);
  assert.deepEqual(names("", "configmaps"), []);
  assert.deepEqual(names("", "pods"), [
    "attach",
    "binding",
    "ephemeralcontainers",
    "eviction",
    "exec",
    "log",
    "portforward",
    "proxy",
    "resize",
    "status",
  ]);
  assert.equal(
    catalog.findMain("apps", "v1", "deployments")?.subresources.get("scale")?.resource.kind,
    "Scale",
  );
  assert.equal(catalog.stored("core/bindings"), undefined);
});

test("docs/use/api-coverage.md has a row for every resource that is served by default", () => {
  const { catalog } = open();
  const document = readFileSync(new URL("docs/use/api-coverage.md", repositoryRoot()), "utf8");
  const documented = [...document.matchAll(/^\| `([^`]+)` \| `([^`]+)` \|/gm)].map(
    ([, groupVersion, resource]) => `${groupVersion} ${resource}`,
  );
  const rows = catalog.groups.flatMap(({ versions }) => versions.flatMap(({ facts }) => facts));
  const served = rows.map(({ group, version, resource, subresource }) => {
    const groupVersion = group === "" ? version : `${group}/${version}`;
    return `${groupVersion} ${resource}${subresource === "" ? "" : `/${subresource}`}`;
  });
  assert.deepEqual(documented.toSorted(), served.toSorted());
});

/** Emitted code lies one folder deeper than its source. */
function repositoryRoot(): URL {
  return new URL("../../../", import.meta.url);
}
