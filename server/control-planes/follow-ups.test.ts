/** What the leader of the loops looks at, in which order, and how fast. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "../../storage/base/logger.js";
import { ManualClock, settle } from "../../storage/base/testing/manual-clock.js";
import { createNaming, DEFAULT_VENDOR } from "../api/naming.js";
import { forbidden, serviceUnavailable } from "../api/status.js";
import { formatTime } from "../api/time.js";
import type { ControlPlaneObject } from "./control-plane-index.js";
import type { LoadedControlPlane } from "./control-planes.js";
import { FollowUps } from "./follow-ups.js";

const SECOND_MS = 1_000;

function openFollowUps(loaded: readonly string[] = []) {
  let sleeps = 0;
  class CountedClock extends ManualClock {
    override sleep(delayMs: number, signal: AbortSignal): Promise<void> {
      sleeps++;
      return super.sleep(delayMs, signal);
    }
  }
  const clock = new CountedClock();
  const lead = { isLeading: true };
  const room = { is: false };
  const looked: string[] = [];
  const planes = {
    loaded: loaded.map((name) => ({ entry: { name, uid: `uid-${name}` } }) as LoadedControlPlane),
    async open(name: string) {
      if (name === "suspended") throw forbidden({ group: "", resource: "x" }, name, "suspended");
      if (name === "crowded" && !room.is) throw serviceUnavailable("no room");
      return { lookAgain: () => looked.push(name) } as unknown as LoadedControlPlane;
    },
  };
  const index = { nameOf: (uid: string) => uid.replace("uid-", "") };
  const hasBegun = async (uid: string) => uid !== "uid-beginning";
  const naming = createNaming(DEFAULT_VENDOR);
  const options = { index, planes, lead, hasBegun, clock, logger: silentLogger, naming };
  const followUps = new FollowUps(options);
  const pass = async (ms: number) => {
    for (let step = 0; step < ms; step += 100) {
      clock.advance(100);
      await settle();
    }
  };
  return { clock, lead, room, looked, followUps, pass, sleeps: () => sleeps };
}

test("what loops follow is looked at a moment later, one control plane after the other, each once", async () => {
  const { clock, looked, followUps, pass } = openFollowUps();
  const ending = new AbortController();
  const running = followUps.run([], clock.now(), ending.signal);
  followUps.saw("uid-a", "core/namespaces/x", false);
  followUps.saw("uid-b", "core/configmaps/default/x", true);
  followUps.saw("uid-suspended", "core/secrets/default/x", false);
  followUps.saw("uid-a", "batch/jobs/default/x", false);
  followUps.saw("uid-c", "core/secrets/default/x", false);
  // A kind of the clients' own that has the name of one of the server's is not that one.
  followUps.saw("uid-e", "example.com/events/default/x", true);
  followUps.saw("uid-f", "example.com/secrets/default/x", false);
  await pass(SECOND_MS / 2);
  assert.deepEqual(looked, [], "who writes may not be done");
  await pass(2 * SECOND_MS);
  assert.deepEqual(looked, ["a", "b", "c", "e"]);
  ending.abort();
  await running;
});

test("what no loop follows loads nothing, and neither does a control plane that another replica makes", async () => {
  const { clock, looked, followUps, pass, lead } = openFollowUps();
  const ending = new AbortController();
  const running = followUps.run([], clock.now(), ending.signal);
  followUps.saw("uid-a", "core/configmaps/default/x", false);
  followUps.saw("uid-b", "core/events/default/x", true);
  followUps.saw("uid-c", "coordination.k8s.io/leases/default/x", true);
  followUps.saw("uid-new", "core/namespaces/default", false);
  followUps.saw("uid-new", ".begun", false);
  followUps.saw("uid-beginning", "core/namespaces/default", false);
  lead.isLeading = false;
  followUps.saw("uid-d", "core/namespaces/x", false);
  await pass(3 * SECOND_MS);
  assert.deepEqual(looked, []);
  ending.abort();
  await running;
});

test("who begins to lead looks at what it has in memory, and at what was used a moment ago", async () => {
  const { clock, looked, followUps, pass } = openFollowUps(["loaded"]);
  const ago = (seconds: number) => formatTime(clock.now() - seconds * SECOND_MS);
  const of = (name: string, made: string, lastUsedTime?: string) =>
    ({
      metadata: { name, uid: `uid-${name}`, creationTimestamp: made },
      ...(lastUsedTime !== undefined && { status: { lastUsedTime } }),
    }) as ControlPlaneObject;
  const all = [
    of("used", ago(5_000), ago(60)),
    of("resting", ago(5_000), ago(4_000)),
    of("made", ago(20)),
  ];
  const ending = new AbortController();
  const running = followUps.run(all, clock.now(), ending.signal);
  await pass(3 * SECOND_MS);
  assert.deepEqual(looked, ["loaded", "used", "made"]);
  ending.abort();
  await running;
});

test("44: a leader for whom nothing waits is not woken by a timer", async () => {
  const { clock, looked, followUps, pass, sleeps } = openFollowUps();
  const ending = new AbortController();
  const running = followUps.run([], clock.now(), ending.signal);
  await pass(3 * SECOND_MS);
  assert.equal(sleeps(), 0);
  followUps.saw("uid-a", "core/namespaces/x", false);
  await pass(3 * SECOND_MS);
  assert.deepEqual(looked, ["a"]);
  const then = sleeps();
  await pass(3 * SECOND_MS);
  assert.equal(sleeps(), then);
  ending.abort();
  await running;
});

test("44: after a time in which nobody led what was used before it is looked at, however long it was", async () => {
  const { clock, looked, followUps, pass } = openFollowUps();
  const ledMs = clock.now() - 86_400 * SECOND_MS;
  const of = (name: string, lastUsedMs: number) =>
    ({
      metadata: { name, uid: `uid-${name}` },
      status: { lastUsedTime: formatTime(lastUsedMs) },
    }) as ControlPlaneObject;
  const all = [of("resting", ledMs - 4_000 * SECOND_MS), of("used", ledMs - 60 * SECOND_MS)];
  const ending = new AbortController();
  const running = followUps.run(all, ledMs, ending.signal);
  await pass(3 * SECOND_MS);
  assert.deepEqual(looked, ["used"]);
  ending.abort();
  await running;
});

test("44: what could not be loaded for a reason that passes is looked at later, without another write", async () => {
  const { clock, looked, followUps, pass, room } = openFollowUps();
  const ending = new AbortController();
  const running = followUps.run([], clock.now(), ending.signal);
  followUps.saw("uid-crowded", "core/namespaces/x", false);
  followUps.saw("uid-suspended", "core/namespaces/x", false);
  await pass(3 * SECOND_MS);
  assert.deepEqual(looked, []);
  room.is = true;
  await pass(15 * SECOND_MS);
  assert.deepEqual(looked, ["crowded"]);
  ending.abort();
  await running;
});
