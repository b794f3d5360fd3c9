/** Aggregated roles follow the roles that they collect; direct changes of their rules are reverted. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import { deepEqual } from "../api/deep-equal.js";
import type { ApiObject } from "../api/meta.js";
import { forbidden } from "../api/status.js";
import { noSignal, openRegistryHarness } from "../registry/testing/registry-harness.js";
import { createLocalObjects } from "./local-objects.js";
import type { ControlledResource, ObjectsApi } from "./objects-api.js";
import { runRoleAggregation } from "./role-aggregation.js";
import { untilObject } from "./testing/until-object.js";

const GROUP = "rbac.authorization.k8s.io";

const pods = (...verbs: string[]) => ({ verbs, apiGroups: [""], resources: ["pods"] });

test("S2-RBAC-12, S2-RBAC-23: rules of aggregated roles are filled in, kept right, and nested", async () => {
  await using harness = await openRegistryHarness();
  const { registry } = harness;
  const objects = createLocalObjects(registry);
  const clusterRoles = objects.resource(GROUP, "clusterroles");
  const { naming } = registry;
  const stop = new AbortController();
  const running = runRoleAggregation(
    { objects, naming, clock: systemClock, logger: silentLogger },
    stop.signal,
  );
  const create = (name: string, labels: Record<string, string>, fields: object) =>
    objects.create(
      clusterRoles,
      { kind: "ClusterRole", apiVersion: `${GROUP}/v1`, metadata: { name, labels }, ...fields },
      noSignal,
    );
  const gathers = (label: string) => ({
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [label]: "true" } }] },
  });
  const untilRules = async (name: string, ...rules: object[]) => {
    const isRight = (found: ApiObject | undefined) => deepEqual(found?.rules ?? [], rules);
    const key = { namespace: "", name };
    return (await untilObject(registry, objects, clusterRoles, key, isRight)) as ApiObject;
  };

  await create("part-1", { "to-edit": "true" }, { rules: [pods("get"), pods("list")] });
  await create("edit", { "to-admin": "true" }, gathers("to-edit"));
  await create("admin", {}, gathers("to-admin"));
  await untilRules("admin", pods("get"), pods("list"));

  // Ordered by name, without duplicate rules.
  await create("part-0", { "to-edit": "true" }, { rules: [pods("watch"), pods("list")] });
  const edit = await untilRules("edit", pods("watch"), pods("list"), pods("get"));
  await untilRules("admin", pods("watch"), pods("list"), pods("get"));

  await objects.update(clusterRoles, { ...edit, rules: [pods("*")] }, "", noSignal);
  await untilRules("edit", pods("watch"), pods("list"), pods("get"));

  const key = { namespace: "", name: "part-0" };
  await objects.remove(clusterRoles, key, { propagationPolicy: "Background" }, noSignal);
  await untilRules("edit", pods("get"), pods("list"));
  await untilRules("admin", pods("get"), pods("list"));
  stop.abort();
  await running;
});

test("S2-RBAC-23: an aggregated role that nobody may write holds up no other", async () => {
  await using harness = await openRegistryHarness();
  const { registry } = harness;
  const { naming } = registry;
  const objects = createLocalObjects(registry);
  const refused: string[] = [];
  const refusing: ObjectsApi = Object.assign(Object.create(objects) as ObjectsApi, {
    update: (
      resource: ControlledResource,
      object: ApiObject,
      part: string,
      signal: AbortSignal,
    ) => {
      const { name = "" } = object.metadata;
      if (name === "b") return objects.update(resource, object, part, signal);
      refused.push(name);
      throw forbidden(resource, name, "a policy refuses it");
    },
  });
  const clusterRoles = objects.resource(GROUP, "clusterroles");
  const rules = [pods("get")];
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { part: "true" } }] };
  for (const [name, fields] of [
    ["a", { aggregationRule }],
    ["b", { aggregationRule }],
    ["part", { rules }],
  ] as const) {
    const metadata = { name, labels: name === "part" ? { part: "true" } : {} };
    const role = { kind: "ClusterRole", apiVersion: `${GROUP}/v1`, metadata, ...fields };
    await objects.create(clusterRoles, role, noSignal);
  }
  await objects.refresh();
  const stop = new AbortController();
  const parts = { objects: refusing, naming, clock: systemClock, logger: silentLogger };
  const running = runRoleAggregation(parts, stop.signal);
  const isRight = (found: ApiObject | undefined) => deepEqual(found?.rules ?? [], rules);
  await untilObject(registry, objects, clusterRoles, { namespace: "", name: "b" }, isRight);
  assert.ok(refused.includes("a"));
  stop.abort();
  await running;
});

test("S2-RBAC-23: a role that stopped gathering while it was written keeps the rules that it was given", async () => {
  await using harness = await openRegistryHarness();
  const { registry } = harness;
  const { naming } = registry;
  const objects = createLocalObjects(registry);
  const clusterRoles = objects.resource(GROUP, "clusterroles");
  const make = (name: string, fields: object, labels = {}) => ({
    kind: "ClusterRole",
    apiVersion: `${GROUP}/v1`,
    metadata: { name, labels },
    ...fields,
  });
  const selectors = [{ matchLabels: { part: "true" } }];
  const own = [pods("delete")];
  const written = Promise.withResolvers<void>();
  const losing: ObjectsApi = Object.assign(Object.create(objects) as ObjectsApi, {
    async update(...asked: Parameters<ObjectsApi["update"]>) {
      const [, gathered] = asked;
      if (gathered.metadata.name !== "all") return await objects.update(...asked);
      // Somebody else is faster, and gives it rules of its own.
      const { aggregationRule: _gathers, ...plain } = gathered as typeof gathered & {
        aggregationRule?: unknown;
      };
      if (_gathers !== undefined) {
        await objects.update(clusterRoles, { ...plain, rules: own }, "", noSignal);
        await objects.refresh();
      }
      written.resolve();
      return await objects.update(...asked);
    },
  });
  await objects.create(
    clusterRoles,
    make("part", { rules: [pods("get")] }, { part: "true" }),
    noSignal,
  );
  await objects.create(
    clusterRoles,
    make("all", { aggregationRule: { clusterRoleSelectors: selectors } }),
    noSignal,
  );
  const stop = new AbortController();
  const clock = new ManualClock();
  const parts = { objects: losing, naming, clock, logger: silentLogger };
  const running = runRoleAggregation(parts, stop.signal);
  const goOn = async () => {
    await clock.untilAsleep();
    clock.advance(1_000);
  };
  await Promise.all([written.promise, goOn()]);
  // The first one is tried again before this one, which comes later.
  const later = make("later", { aggregationRule: { clusterRoleSelectors: selectors } });
  await objects.create(clusterRoles, later, noSignal);
  const rulesOf = (name: string) => objects.get(clusterRoles, { namespace: "", name })?.rules;
  while (!deepEqual(rulesOf("later"), [pods("get")])) {
    await goOn();
    await objects.refresh();
  }
  assert.deepEqual(rulesOf("all"), own);
  stop.abort();
  await running;
});
