import assert from "node:assert/strict";
import { test } from "node:test";
import { Lifecycle } from "../../storage/base/lifecycle.js";
import { silentLogger } from "../../storage/base/logger.js";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import { forbiddenPath } from "../api/status.js";
import { noSignal, openRegistryHarness } from "../registry/testing/registry-harness.js";
import { createLocalObjects } from "./local-objects.js";
import { runNamespaceDefault } from "./namespace-default-controller.js";
import { defaultServiceAccount } from "./service-account-defaults.js";
import { untilObject } from "./testing/until-object.js";

test("S2-SA-01: a default that a policy refuses is tried again, and the log says so", async () => {
  await using harness = await openRegistryHarness();
  const { registry } = harness;
  const objects = createLocalObjects(registry);
  let refusals = 0;
  const refusing: typeof objects = Object.assign(Object.create(objects), {
    async create(...made: Parameters<typeof objects.create>) {
      if (refusals++ === 0) throw forbiddenPath("a policy refuses it");
      return await objects.create(...made);
    },
  });
  const clock = new ManualClock();
  const warned = Promise.withResolvers<void>();
  const logger = { ...silentLogger, warn: () => warned.resolve() };
  await using lifecycle = new Lifecycle(silentLogger);
  const options = { objects: refusing, clock, logger, wanted: defaultServiceAccount };
  lifecycle.spawn("defaults", "end", (signal) => runNamespaceDefault(options, signal));
  const namespace = { kind: "Namespace", apiVersion: "v1", metadata: { name: "shop" } };
  await objects.create(objects.resource("", "namespaces"), namespace, noSignal);
  await warned.promise;
  // Beside the recheck of all, which is minutes away.
  await clock.untilAsleep(2);
  clock.advance(60_000);
  const accounts = objects.resource("", "serviceaccounts");
  const place = { namespace: "shop", name: "default" };
  await untilObject(registry, objects, accounts, place, (account) => account !== undefined);
  assert.equal(refusals, 2);
});
