/** The default objects of priority and fairness: who may change what of them, and what becomes of it. */
import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { systemClock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import type { ApiObject, JsonObject } from "../api/meta.js";
import { noSignal, openRegistryHarness } from "../registry/testing/registry-harness.js";
import { ensureFlowControlDefaults } from "./flow-control-defaults.js";
import { createLocalObjects } from "./local-objects.js";

const GROUP = "flowcontrol.apiserver.k8s.io";
const ANNOTATION = "apf.kubernetes.io/autoupdate-spec";

const harness = await openRegistryHarness();
const { naming } = harness.registry;
const objects = createLocalObjects(harness.registry);
after(() => harness[Symbol.asyncDispose]());

const levels = objects.resource(GROUP, "prioritylevelconfigurations");
const schemas = objects.resource(GROUP, "flowschemas");
type Resource = typeof levels;

async function sync(): Promise<void> {
  await objects.refresh();
  const parts = { objects, naming, clock: systemClock, logger: silentLogger };
  await ensureFlowControlDefaults({ ...parts, signal: noSignal });
  await objects.refresh();
}

const find = (resource: Resource, name: string) => objects.get(resource, { namespace: "", name });
function read(resource: Resource, name: string): ApiObject {
  const found = find(resource, name);
  assert.ok(found !== undefined, name);
  return found;
}
const marked = (resource: Resource, name: string) =>
  read(resource, name).metadata.annotations?.[ANNOTATION];
const sharesOf = (name: string) => {
  const { limited, exempt } = read(levels, name).spec as Record<string, JsonObject | undefined>;
  return (limited ?? exempt)?.nominalConcurrencyShares;
};

/** @param mark of the annotation; undefined = it is taken away */
async function change(resource: Resource, name: string, mark: string | undefined, limits?: object) {
  const { metadata, spec, ...rest } = read(resource, name);
  const { [ANNOTATION]: _, ...others } = metadata.annotations ?? {};
  const annotations = mark === undefined ? others : { ...others, [ANNOTATION]: mark };
  const part = name === "exempt" ? "exempt" : "limited";
  const { [part]: before } = spec as Record<string, object>;
  const changed =
    limits === undefined ? spec : { ...(spec as object), [part]: { ...before, ...limits } };
  const object = { ...rest, metadata: { ...metadata, annotations }, spec: changed } as ApiObject;
  await objects.update(resource, object, "", noSignal);
  await objects.refresh();
}

beforeEach(async () => {
  for (const resource of [levels, schemas]) await objects.deleteAll(resource, "", noSignal);
  await sync();
});

test("all are made, and marked as ours; a second time nothing is written", async () => {
  const versions = () =>
    [levels, schemas].flatMap((resource) =>
      objects.list(resource, "").map(({ metadata }) => metadata.resourceVersion),
    );
  assert.deepEqual([objects.count(levels, ""), objects.count(schemas, "")], [8, 11]);
  const before = versions();

  await sync();

  assert.deepEqual(versions(), before);
  assert.deepEqual([marked(levels, "exempt"), marked(schemas, "probes")], ["true", "true"]);
});

const SUGGESTED: readonly (readonly [
  what: string,
  mark: string | undefined,
  limits: object | undefined,
  kept: { readonly shares: number; readonly mark: string },
])[] = [
  [
    "marked as ours is set back",
    "true",
    { nominalConcurrencyShares: 7 },
    { shares: 100, mark: "true" },
  ],
  [
    "marked as ours in another spelling is set back",
    "T",
    { nominalConcurrencyShares: 7 },
    { shares: 100, mark: "T" },
  ],
  [
    "gets rid of a limit that it has not",
    "true",
    { borrowingLimitPercent: 7 },
    { shares: 100, mark: "true" },
  ],
  [
    "marked as the operator's stays",
    "false",
    { nominalConcurrencyShares: 7 },
    { shares: 7, mark: "false" },
  ],
  [
    "not marked and changed is the operator's from then on",
    undefined,
    { nominalConcurrencyShares: 7 },
    { shares: 7, mark: "false" },
  ],
  [
    "not marked and never changed is ours again",
    undefined,
    undefined,
    { shares: 100, mark: "true" },
  ],
  [
    "marked with nonsense and changed is the operator's",
    "maybe",
    { nominalConcurrencyShares: 7 },
    { shares: 7, mark: "false" },
  ],
];
for (const [what, mark, limits, kept] of SUGGESTED) {
  test(`a suggested level ${what}`, async () => {
    await change(levels, "workload-low", mark, limits);

    await sync();

    const { limited } = read(levels, "workload-low").spec as { limited: JsonObject };
    assert.deepEqual(
      [sharesOf("workload-low"), marked(levels, "workload-low")],
      [kept.shares, kept.mark],
    );
    if (kept.shares === 100) assert.equal(limited.borrowingLimitPercent, undefined);
  });
}

test("a mandatory one is ours, whatever its mark says", async () => {
  await change(levels, "catch-all", "false");
  await change(schemas, "catch-all", undefined);

  await sync();

  assert.deepEqual([marked(levels, "catch-all"), marked(schemas, "catch-all")], ["true", "true"]);
});

test("the shares of the exempt level are the operator's, whatever its mark says", async () => {
  await change(levels, "exempt", "true", { nominalConcurrencyShares: 9, lendablePercent: 50 });

  await sync();

  assert.deepEqual([sharesOf("exempt"), marked(levels, "exempt")], [9, "true"]);
});

test("what an older release suggested and this one does not is taken away, unless an operator has it", async () => {
  for (const mark of ["true", "false", "maybe", undefined]) {
    const annotations = mark === undefined ? {} : { [ANNOTATION]: mark };
    for (const [resource, like] of [
      [levels, "workload-low"],
      [schemas, "service-accounts"],
    ] as const) {
      const { kind, apiVersion, spec } = read(resource, like);
      const metadata = { name: `old-${mark ?? "none"}`, annotations };
      await objects.create(resource, { kind, apiVersion, metadata, spec } as ApiObject, noSignal);
    }
  }

  await sync();

  for (const resource of [levels, schemas]) {
    const old = objects.list(resource, "").map(({ metadata }) => metadata.name ?? "");
    assert.deepEqual(old.filter((name) => name.startsWith("old-")).sort(), [
      "old-false",
      "old-maybe",
      "old-none",
    ]);
  }
});
