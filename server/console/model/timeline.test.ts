/** The timeline's rows and lanes, and what clients did, out of one record. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Link, RecordedRead, RecordedWrite, Timeline } from "../../recorder/record-types.js";
import { activityOf } from "./activity.js";
import { drawTimeline } from "./timeline.js";

const AT = "2026-01-01T00:00:00.";

function write(id: string, client: string, change: Partial<RecordedWrite> = {}): RecordedWrite {
  return {
    id,
    client,
    revision: id,
    previousRevision: "",
    time: `${AT}100Z`,
    receivedTime: `${AT}099Z`,
    connection: 1,
    verb: "update",
    group: "",
    version: "v1",
    resource: "pods",
    subresource: "",
    namespace: "x",
    name: "a",
    uid: "",
    owners: [],
    fieldManager: "",
    outcome: "changed",
    status: 200,
    reason: "",
    changedAnything: true,
    changedPaths: [],
    morePaths: false,
    base: "",
    causes: [],
    ...change,
  };
}

function link(later: string, to: string, certainty: Link["certainty"], rank: number): Link {
  const rest = { revision: to, by: "", reasons: [], deliveredTime: "", read: "" };
  return { write: later, to, certainty, rank, ...rest };
}

const watch: RecordedRead = {
  id: "r",
  verb: "watch",
  client: "b",
  connection: 1,
  group: "",
  resource: "pods",
  namespace: "",
  name: "",
  selector: "",
  time: AT,
  endTime: "",
  fromRevision: "",
  upToRevision: "",
  upToTime: "",
  events: 1,
  status: 200,
};

const timeline: Timeline = {
  kind: "Timeline",
  replica: "",
  replicas: [],
  next: "",
  hidden: 0,
  clients: [
    { id: "a", user: "ada", agent: "kubectl/v1 (linux)", address: "" },
    { id: "b", user: "loop", agent: "loop", address: "" },
  ],
  writes: [
    write("1", "a", { changedPaths: ["spec.replicas"] }),
    write("2", "b", { subresource: "status", outcome: "unchanged" }),
    write("3", "b", { outcome: "conflict", reason: "Conflict", status: 409, revision: "" }),
    write("4", "gone", {
      outcome: "refused",
      reason: "TooManyRequests",
      status: 429,
      revision: "",
    }),
  ],
  reads: [watch, { ...watch, id: "l", verb: "list", time: `${AT}200Z` }],
  deliveries: [
    { read: "r", revision: "1", time: `${AT}107Z` },
    { read: "r", revision: "1", time: `${AT}103Z` },
    { read: "r", revision: "2", time: `${AT}108Z` },
  ],
  links: [
    link("2", "1", "exact", 0),
    link("3", "1", "candidate", 2),
    link("3", "2", "candidate", 1),
    link("1", "0", "exact", 0),
  ],
};

test("#46 a row tells who wrote it with its field manager, also where lanes are objects", () => {
  const writes = [write("1", "a", { fieldManager: "scaler" })];
  for (const kind of ["client", "object"] as const) {
    const [row] = drawTimeline({ ...timeline, writes }, kind, "").rows;
    assert.equal(row?.writer, "scaler, kubectl/v1 as ada", kind);
  }
  // A manager that the server has made of the program's name says nothing more.
  const unnamed = [write("1", "a", { fieldManager: "kubectl" })];
  const [row] = drawTimeline({ ...timeline, writes: unnamed }, "client", "").rows;
  assert.equal(row?.writer, "kubectl/v1 as ada");
});

test("each write is a row in the lane of its client, with where its event went and what led to it", () => {
  const { lanes, rows, arrows } = drawTimeline(timeline, "client", "");
  assert.deepEqual(lanes, ["kubectl/v1 as ada", "loop as loop", "somebody"]);
  assert.deepEqual(
    rows.map(({ lane, text, deliveries }) => [lane, text, deliveries]),
    [
      [0, "update pods x/a, changed: spec.replicas", [{ lane: 1, afterMs: 3 }]],
      // Its own event is no news to a client.
      [1, "update pods x/a status, unchanged", []],
      [1, "update pods x/a, conflict (Conflict)", []],
      [2, "update pods x/a, refused (TooManyRequests)", []],
    ],
  );
  const pairs = (chosen: string) =>
    drawTimeline(timeline, "client", chosen).arrows.map(({ from, to }) => [from, to]);
  assert.equal(arrows.length, 2);
  assert.deepEqual(pairs(""), [
    [0, 1],
    [1, 2],
  ]);
  assert.deepEqual(pairs("3"), [
    [0, 1],
    [0, 2],
    [1, 2],
  ]);
  assert.deepEqual(drawTimeline(timeline, "object", "").lanes, ["pods x/a"]);
});

test("what each client did is counted by its outcome, the busiest client first", () => {
  const some = activityOf(timeline, Date.parse(`${AT}105Z`));
  const none = {
    writes: 0,
    unchanged: 0,
    conflicts: 0,
    throttled: 0,
    refused: 0,
    lists: 0,
    watches: 0,
    events: 0,
  };
  assert.deepEqual(some, [
    {
      ...none,
      client: "loop as loop",
      writes: 2,
      unchanged: 1,
      conflicts: 1,
      lists: 1,
      watches: 1,
      events: 2,
    },
    { ...none, client: "kubectl/v1 as ada", writes: 1 },
    { ...none, client: "somebody", writes: 1, throttled: 1 },
  ]);
});
