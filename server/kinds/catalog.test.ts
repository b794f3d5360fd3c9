/** Catalogs are made of parts, and unchanged parts are shared with the next one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../api/naming.js";
import type { ResourceFact } from "../schema/model.js";
import { loadFacts } from "../types/load-facts.js";
import { type Catalog, createCatalog, withCustom } from "./catalog.js";
import { createFactsCodecs } from "./facts-codecs.js";
import { LiveCatalog } from "./live-catalog.js";
import { createMainResource, type MainResource } from "./served-resource.js";

const facts = loadFacts(createNaming("kubernetes"));
const codec = createFactsCodecs(facts).forKind("", "v1", "ConfigMap") ?? assert.fail();

function resource(group: string, version: string, name: string, isCustom = true): MainResource {
  const fact: ResourceFact = {
    group,
    version,
    resource: name,
    subresource: "",
    singular: name.slice(0, -1),
    kind: `${name.slice(0, 1).toUpperCase()}${name.slice(1, -1)}`,
    namespaced: true,
    verbs: ["get"],
    shortNames: [],
    categories: [],
    onByDefault: true,
    storageVersionHash: "",
  };
  const status = { fact: { ...fact, subresource: "status" } };
  const stored = { group, version: "v1" };
  const main = { fact, codec, storedCodec: codec, stored, strategy: {}, isCustom };
  return createMainResource({ ...main, subresources: [status] });
}

const maps = resource("", "v1", "configmaps", false);
const apps = resource("apps", "v1", "deployments", false);
const builtIn = createCatalog({ resources: [maps, apps], order: facts.groupVersions });

function groupVersions({ groups }: Catalog): string[] {
  return groups.flatMap(({ name, versions }) =>
    versions.map(({ version }) => `${name}/${version}`),
  );
}

test("custom groups come after built-in ones by name, their versions by preference", () => {
  const catalog = withCustom(builtIn, [
    resource("b.example.com", "v1alpha1", "cars"),
    resource("b.example.com", "v2beta1", "cars"),
    resource("b.example.com", "v1", "cars"),
    resource("a.example.com", "v1", "boats"),
    resource("apps", "v2", "planes"),
  ]);
  assert.deepEqual(groupVersions(catalog), [
    "/v1",
    "apps/v1",
    "apps/v2",
    "a.example.com/v1",
    "b.example.com/v1",
    "b.example.com/v2beta1",
    "b.example.com/v1alpha1",
  ]);
});

test("a resource is found by its name, its kind, its partition, and not under another's", () => {
  const cars = resource("example.com", "v1", "cars");
  const newer = resource("example.com", "v2", "cars");
  const catalog = withCustom(builtIn, [newer, cars]);
  assert.equal(catalog.find("example.com", "v1", "cars"), cars);
  assert.equal(catalog.find("example.com", "v3", "cars"), undefined);
  assert.equal(catalog.findKind("example.com", "v2", "Car"), newer);
  assert.equal(catalog.stored(cars.partition), cars);
  assert.deepEqual(catalog.versionsOf(cars.partition), [newer, cars]);
  assert.deepEqual(
    catalog.groupVersion("example.com", "v1")?.facts.map(({ subresource }) => subresource),
    ["", "status"],
  );
  assert.equal(withCustom(catalog, []).find("example.com", "v1", "cars"), undefined);
});

test("a custom resource hides neither a built-in one nor an earlier one", () => {
  const first = resource("example.com", "v1", "cars");
  const second = resource("example.com", "v1", "cars");
  const catalog = withCustom(builtIn, [resource("apps", "v1", "deployments"), first, second]);
  assert.equal(catalog.find("apps", "v1", "deployments"), apps);
  assert.equal(catalog.find("example.com", "v1", "cars"), first);
  assert.deepEqual(catalog.custom, [first]);
});

test("group-versions that did not change are the same objects in the next catalog", () => {
  const cars = resource("example.com", "v1", "cars");
  const before = withCustom(builtIn, [cars, resource("other.com", "v1", "boats")]);
  const after = withCustom(before, [cars, resource("other.com", "v1", "boats")]);
  const same = (group: string) =>
    before.groupVersion(group, "v1") === after.groupVersion(group, "v1");
  assert.deepEqual(["", "apps", "example.com", "other.com"].map(same), [true, true, true, false]);
});

test("listeners are told in the turn of a change, until they leave", () => {
  const live = new LiveCatalog(builtIn);
  const seen: string[][] = [];
  const leave = live.subscribe((next) => seen.push(groupVersions(next).slice(2)));
  live.replace(withCustom(live.current, [resource("example.com", "v1", "cars")]));
  live.replace(live.current);
  live.replace(withCustom(live.current, []));
  leave();
  live.replace(withCustom(live.current, [resource("example.com", "v1", "cars")]));
  assert.deepEqual(seen, [["example.com/v1"], []]);
});
