/** Turns that are too long are kept with the request that took most of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRequestInfo } from "./request-info.js";
import { TurnWatch } from "./turn-watch.js";

function openWatch() {
  const clock = { ms: 0 };
  const ends: (() => void)[] = [];
  const observed: number[] = [];
  const logged: object[] = [];
  const watch = new TurnWatch({
    logger: { debug: (line: object) => logged.push(line) } as never,
    durations: { observe: (seconds) => observed.push(seconds) },
    now: () => clock.ms,
    atEndOfTurn: (end) => ends.push(end),
  });
  return { watch, clock, observed, logged, endTurn: () => ends.shift()?.() };
}

const requestOf = (auditId: string, method: string, path: string) => ({
  auditId,
  bodyBytes: 7,
  infoIfKnown: parseRequestInfo(method, path),
});

test("a long turn names the request that took most of it", () => {
  const { watch, clock, observed, logged, endTurn } = openWatch();
  watch.begin(requestOf("a", "GET", "/api/v1/nodes/n"));
  clock.ms += 1;
  watch.begin(requestOf("b", "POST", "/apis/apps/v1/namespaces/x/deployments"));
  clock.ms += 180;
  watch.begin(requestOf("c", "GET", "/api/v1/nodes/n"));
  clock.ms += 2;
  endTurn();
  assert.deepEqual(observed, [0.183]);
  assert.equal(logged.length, 1);
  const [turn] = watch.longTurns;
  assert.ok(turn);
  const { at, ...rest } = turn;
  assert.match(at, /^\d{4}-/);
  assert.deepEqual(rest, {
    turnMs: 183,
    requestMs: 180,
    requests: 3,
    verb: "create",
    resource: "deployments.apps",
    bodyBytes: 7,
    auditId: "b",
  });
});

test("short turns are not kept, and the last ten long ones are", () => {
  const { watch, clock, observed, endTurn } = openWatch();
  for (const ms of [1, 30, ...Array.from({ length: 12 }, (_, at) => 100 + at)]) {
    watch.begin(requestOf(`${ms}`, "GET", "/api/v1/nodes"));
    clock.ms += ms;
    endTurn();
    // The loop rests: that is nobody's.
    clock.ms += 1_000;
  }
  assert.equal(observed.length, 13);
  assert.deepEqual(
    watch.longTurns.map(({ turnMs }) => turnMs),
    [102, 103, 104, 105, 106, 107, 108, 109, 110, 111],
  );
});
