/**
 * The cost of user-defined rules per write: `node dist/server/registry/write/rules.bench.js`. Prints
 *
 *   look     nanoseconds of admission for a write that 0, 10 or 1,000 rules are not about
 *   create   microseconds of CPU per create with so many webhooks and policies that are not about it, and
 *            how much more that is than without admission: medians of rounds; with no rules that is chance
 *   judge    microseconds of one typical validation, alone: the least, and the median
 *
 * Half of the rules name another resource, half the same one with a label that the object has not.
 * Creates go through the whole write path to the embedded store.
 */
import type { JsonObject } from "../../api/meta.js";
import { createNaming, DEFAULT_VENDOR } from "../../api/naming.js";
import { noSignal, writeOptions } from "../testing/registry-harness.js";
import { openRuleHarness, type RuleHarness } from "../testing/rule-harness.js";
import { attributesOf } from "./admit.js";

const LOOKS = 1_000_000;
const CREATES = 50;
/** Creates with and without admission alternate on one store, so that only admission differs. */
const ROUNDS = 60;
const JUDGEMENTS = 10_000;
const COUNTS = [0, 10, 1_000];
const WAYS = ["judged", "free"] as const;
const GROUP = `admissionregistration.${createNaming(DEFAULT_VENDOR).groupDomain}/v1`;
const made = { count: 0 };

const rule = (resource: string) => ({
  apiGroups: [""],
  apiVersions: ["v1"],
  operations: ["CREATE"],
  resources: [resource],
});

async function addRules(harness: RuleHarness, count: number): Promise<void> {
  for (let index = 0; index < count / 2; index++) {
    const name = `rule-${index}`;
    const isOther = index % 2 === 0;
    const rules = [rule(isOther ? "secrets" : "configmaps")];
    const objectSelector = { matchLabels: isOther ? {} : { chosen: name } };
    await harness.create(`${GROUP}/validatingwebhookconfigurations`, {
      metadata: { name },
      webhooks: [
        {
          name: "a.example.com",
          clientConfig: { url: "https://127.0.0.1:1/" },
          rules,
          objectSelector,
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
        },
      ],
    });
    await addPolicy(harness, name, { resourceRules: rules, objectSelector });
  }
}

async function addPolicy(harness: RuleHarness, name: string, matchConstraints: JsonObject) {
  await harness.create(`${GROUP}/validatingadmissionpolicies`, {
    metadata: { name },
    spec: {
      matchConstraints,
      variables: [{ name: "owner", expression: "object.metadata.?labels['owner'].orValue('')" }],
      validations: [
        { expression: "variables.owner.matches('^[a-z]+$')", message: "owner" },
        { expression: "object.data.all(k, size(object.data[k]) < 100)" },
      ],
    },
  });
  await harness.create(`${GROUP}/validatingadmissionpolicybindings`, {
    metadata: { name },
    spec: { policyName: name, validationActions: ["Deny"] },
  });
}

const configMap = () => ({
  metadata: { name: `m${made.count++}`, labels: { owner: "me" } },
  data: { a: "1", b: "2" },
});

async function cpuPerCreate(harness: RuleHarness): Promise<number> {
  const before = process.cpuUsage();
  for (let index = 0; index < CREATES; index++) await harness.create("configmaps", configMap());
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CREATES;
}

function timeLooks(harness: RuleHarness, count: number): number {
  const resource = harness.base.resource("", "v1", "configmaps");
  const about = { resource, namespace: "default", name: "m", subresource: "" };
  const object = { kind: "ConfigMap", apiVersion: "v1", ...configMap() };
  const attributes = attributesOf({ ...about, options: writeOptions() }, object, undefined);
  const { admission } = harness.registry;
  const started = performance.now();
  for (let index = 0; index < count; index++) {
    void admission?.mutate(attributes, noSignal);
    void admission?.validate(attributes, noSignal);
  }
  return ((performance.now() - started) * 1e6) / count;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const harnesses: RuleHarness[] = [];
for (const count of COUNTS) {
  const harness = await openRuleHarness();
  await addRules(harness, count);
  harnesses.push(harness);
}
for (const [index, harness] of harnesses.entries()) {
  timeLooks(harness, LOOKS / 10);
  console.log(`look, ${COUNTS[index]} rules: ${timeLooks(harness, LOOKS).toFixed(0)} ns`);
}
for (const [index, harness] of harnesses.entries()) {
  await cpuPerCreate(harness);
  const { admission } = harness.registry;
  const pairs: { readonly judged: number; readonly free: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const cost = { judged: 0, free: 0 };
    for (const way of round % 2 === 0 ? WAYS : WAYS.toReversed()) {
      Object.assign(harness.registry, { admission: way === "judged" ? admission : undefined });
      cost[way] = await cpuPerCreate(harness);
    }
    pairs.push(cost);
  }
  Object.assign(harness.registry, { admission });
  const cost = median(pairs.map(({ judged }) => judged));
  const more = median(pairs.map(({ judged, free }) => judged / free - 1)) * 100;
  console.log(
    `create, ${COUNTS[index]} rules: ${cost.toFixed(0)} µs of CPU, ${more.toFixed(1)} % of it for them`,
  );
}
const [first] = harnesses;
if (first !== undefined) {
  await addPolicy(first, "judge", { resourceRules: [rule("configmaps")] });
  timeLooks(first, JUDGEMENTS);
  const times = Array.from({ length: ROUNDS }, () => timeLooks(first, JUDGEMENTS) / 1000);
  console.log(`judge: ${Math.min(...times).toFixed(1)} µs, ${median(times).toFixed(1)} µs`);
}
for (const harness of harnesses) await harness[Symbol.asyncDispose]();
