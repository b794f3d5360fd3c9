import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { ServedGroupVersion } from "../endpoints/discovery/served.js";
import { ApiServices } from "./api-services.js";
import { AllServedGroups } from "./served-groups.js";

test("services follow their objects, in order of precedence, and stay the same value while nothing changes", () => {
  const services = new ApiServices();
  let changes = 0;
  services.subscribe(() => changes++);
  const metrics = stored("v1.metrics.example.com", apiService("metrics.example.com", 100, 10));
  services.put(metrics);
  services.put(stored("v1.", { spec: { version: "v1" } }));
  services.put(stored("v1.first.example.com", apiService("first.example.com", 2000, 10)));
  assert.deepEqual(
    services.all.map(({ service }) => service.group),
    ["first.example.com", "metrics.example.com"],
  );

  const { service } = services.find("metrics.example.com", "v1") ?? {};
  const status = {
    conditions: [{ type: "Available", status: "False", reason: "x", message: "y" }],
  };
  const changed = stored(metrics.name, { ...apiService("metrics.example.com", 100, 10), status });
  services.put(changed);
  assert.deepEqual(services.find("metrics.example.com", "v1")?.availability, {
    isAvailable: false,
    reason: "x",
    message: "y",
  });
  assert.deepEqual(services.find("metrics.example.com", "v1")?.service, service);

  services.deleted(changed);
  assert.equal(services.find("metrics.example.com", "v1"), undefined);
  assert.equal(changes, 5);
});

test("connections are kept while only the status of a service changes", () => {
  const services = new ApiServices();
  const before = stored("v1.a.example.com", apiService("a.example.com", 100, 10));
  services.put(before);
  const known = services.find("a.example.com", "v1")?.service;
  const status = { conditions: [{ type: "Available", status: "True" }] };

  services.put(stored(before.name, { ...apiService("a.example.com", 100, 10), status }));

  assert.equal(services.find("a.example.com", "v1")?.service, known);
});

test("published groups are local and remote ones, and what did not change is the same object", () => {
  const own = { group: "own", version: "v1", resources: [], facts: [] };
  const local = { current: { groups: [{ name: "own", versions: [own] }] } };
  const services = new ApiServices();
  const groups = new AllServedGroups({
    local,
    precedenceOf: () => ({ groupPriority: 1_000, versionPriority: 15 }),
    remote: () => services.all,
    publicationOf: () => undefined,
  });
  assert.equal(groups.current, local.current);

  services.put(stored("v2.own", { ...apiService("own", 100, 10, "v2") }));
  services.put(stored("v1.other", apiService("other", 100, 10)));
  groups.changed();

  const names = groups.current.groups.map(({ name, versions }) => [
    name,
    versions.map((one: ServedGroupVersion) => `${one.version} ${one.freshness ?? "local"}`),
  ]);
  assert.deepEqual(names, [
    ["own", ["v1 local", "v2 Stale"]],
    ["other", ["v1 Stale"]],
  ]);
  assert.equal(groups.current, groups.current);
});

test("groups and versions come in the order that their services state, whoever serves them", () => {
  const version = (name: string) => ({ group: "own", version: name, resources: [], facts: [] });
  const other = { group: "late", version: "v1", resources: [], facts: [] };
  const local = {
    current: {
      groups: [
        { name: "own", versions: [version("v2"), version("v1")] },
        { name: "late", versions: [other] },
      ],
    },
  };
  const services = new ApiServices();
  const groups = new AllServedGroups({
    local,
    precedenceOf: (one) =>
      one.group === "own"
        ? { groupPriority: 17_000, versionPriority: one.version === "v2" ? 30 : 15 }
        : { groupPriority: 1_000, versionPriority: 100 },
    remote: () => services.all,
    publicationOf: () => undefined,
  });
  services.put(stored("v3.own", apiService("own", 100, 20, "v3")));
  services.put(stored("v1.between", apiService("between", 2_000, 10)));
  services.put(stored("v1beta1.equal", apiService("equal", 1_000, 10, "v1beta1")));
  services.put(stored("v1.equal", apiService("equal", 900, 10)));
  services.put(stored("v1.first", apiService("first", 20_000, 10)));
  groups.changed();

  assert.deepEqual(
    groups.current.groups.map(({ name, versions }) => [
      name,
      ...versions.map((one) => one.version),
    ]),
    [
      ["first", "v1"],
      ["own", "v2", "v3", "v1"],
      ["between", "v1"],
      ["equal", "v1", "v1beta1"],
      ["late", "v1"],
    ],
  );
});

function apiService(group: string, groupPriority: number, priority: number, version = "v1") {
  return {
    spec: {
      group,
      version,
      service: { namespace: "shop", name: "api" },
      groupPriorityMinimum: groupPriority,
      versionPriority: priority,
    },
  };
}

function stored(path: string, object: unknown): StoredObject {
  const name = path.split("/").at(-1) ?? "";
  return { path, name, bytes: Buffer.from(JSON.stringify(object)) } as unknown as StoredObject;
}
