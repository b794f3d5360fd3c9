/**
 * The checker finds what it is for: servers that are broken on purpose, from outside, by modules that
 * node loads before them, are caught, and the guarantee that they break is named.
 */
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import { isLong } from "../harness/is-long.js";
import { guaranteesOf } from "./check-history.js";
import { runFire } from "./fire.js";
import type { Guarantee } from "./history.js";
import { formatReport } from "./report.js";

interface BrokenBuild {
  readonly what: string;
  readonly preloads: readonly string[];
  readonly breaks: readonly Guarantee[];
  readonly kind?: "custom";
}

const BROKEN: readonly BrokenBuild[] = [
  {
    what: "the freshness barrier is gone and the feed of a replica is late",
    preloads: ["no-barrier", "delayed-feed"],
    breaks: ["Fresh"],
  },
  {
    what: "an event is dropped",
    preloads: ["dropped-event"],
    breaks: ["Reliable", "CacheEqualsStore"],
  },
];

const BROKEN_OTHERWISE: readonly BrokenBuild[] = [
  { what: "writes have no condition", preloads: ["no-compare"], breaks: ["NoLostUpdate"] },
  { what: "an event is in the log twice", preloads: ["repeated-event"], breaks: ["Unique"] },
  { what: "bookmarks run ahead", preloads: ["early-bookmark"], breaks: ["Bookmarkable"] },
  { what: "a resumed watch starts too late", preloads: ["skipping-resume"], breaks: ["Resumable"] },
  {
    what: "writes of a custom kind do not ask whether its definition has changed",
    preloads: ["no-compare", "delayed-feed"],
    breaks: ["RulesInForce"],
    kind: "custom",
  },
];

/** A broken server is given so long to be found out. */
const DURATION_MS = 40_000;
const ROUND_MS = 4_000;

for (const { what, preloads, breaks, kind } of isLong ? [...BROKEN, ...BROKEN_OTHERWISE] : BROKEN) {
  test(`a build in which ${what} is caught by name: ${breaks.join(", ")}`, async () => {
    const report = await runOn(preloads, breaks, kind);
    const found = guaranteesOf(report.violations);
    for (const guarantee of breaks) assert.ok(found.has(guarantee), formatReport(report));
  });
}

if (isLong) {
  test("a replica whose feed is late breaks nothing, as its barrier waits for it", async () => {
    const report = await runOn(["delayed-feed"], []);
    assert.deepEqual(report.violations, [], formatReport(report));
  });
}

function runOn(
  preloads: readonly string[],
  breaks: readonly Guarantee[],
  kind: "custom" | "built-in" = "built-in",
) {
  const modules = preloads.map((name) => new URL(`./broken/${name}.js`, import.meta.url).href);
  return runFire({
    seed: randomInt(2 ** 31),
    store: "etcd",
    kind,
    replicas: 2,
    etcdMembers: 1,
    preloads: new Map([[1, modules]]),
    faults: [],
    durationMs: breaks.length === 0 ? ROUND_MS : DURATION_MS,
    roundMs: ROUND_MS,
    clients: 6,
    wanderers: 3,
    namesPerNamespace: 3,
    thinkMs: 5,
    stopsAt: breaks.length === 0 ? "any" : breaks,
    log: () => {},
  });
}
