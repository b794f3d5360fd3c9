import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../api/meta.js";
import { createNaming } from "../api/naming.js";
import { loadFacts } from "../types/load-facts.js";
import { createFactsCodecs } from "./facts-codecs.js";
import { asJson } from "./kind-codec.js";

test("the gates of declarative rules do not decide about defaults", () => {
  const facts = loadFacts(createNaming("kubernetes"));
  const gated = facts.defaults.filter(({ when }) => /gate \w+/.test(when));
  assert.ok(gated.length > 0, "there are defaults behind gates");
  const containers = [{ name: "c", image: "i", resources: { requests: { cpu: "1" } } }];
  const spec = { containers, resources: { limits: { cpu: "2" } } };
  const defaulted = (isRuleGateEnabled: (gate: string) => boolean) => {
    const codec = createFactsCodecs(facts, { isRuleGateEnabled }).forKind("", "v1", "Pod");
    const { object } = codec?.decode({ metadata: {}, spec }) ?? assert.fail();
    codec?.applyDefaults(object);
    return asJson(object);
  };
  const withoutGates = defaulted(() => false);
  assert.deepEqual(
    withoutGates,
    defaulted(() => true),
  );
  assert.deepEqual((withoutGates.spec as JsonObject).resources, {
    limits: { cpu: "2" },
    requests: { cpu: "1" },
  });
});

test("a kind that the facts do not have has no codec", () => {
  const codecs = createFactsCodecs(loadFacts(createNaming("kubernetes")));
  assert.equal(codecs.forKind("example.com", "v1", "Car"), undefined);
  assert.equal(
    codecs.forKind("apps", "v1", "Deployment"),
    codecs.forKind("apps", "v1", "Deployment"),
  );
});
