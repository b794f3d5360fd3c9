import assert from "node:assert/strict";
import { test } from "node:test";
import { nextTurn } from "../../storage/base/next-turn.js";
import type { CollectionSize } from "../../storage/cache/namespace-sizes.js";
import { createNaming, DEFAULT_VENDOR } from "../api/naming.js";
import { POOLED_BYTES } from "../endpoints/chunk-pool.js";
import { parseQuery } from "../request/query.js";
import { parseRequestInfo } from "../request/request-info.js";
import { createUser, type UserInfo } from "../request/user-info.js";
import { mandatoryObjects, suggestedObjects } from "./default-objects.js";
import { dumpDocuments } from "./dump.js";
import {
  type Denial,
  type Entry,
  FlowControl,
  type FlowRequest,
  type HeldSeats,
} from "./flow-control.js";
import { NO_TIMES } from "./flow-counts.js";
import { Headroom } from "./headroom.js";
import {
  type LevelSetting,
  type SchemaSetting,
  toLevelSetting,
  toSchemaSetting,
} from "./settings.js";
import { SLICE_MS, Turns } from "./turns.js";
import { bodyMemory, listMemory, listWidth, objectMemory, watcherWork } from "./width.js";

const naming = createNaming(DEFAULT_VENDOR);
const mandatory = settingsOf(mandatoryObjects(naming));
const suggested = settingsOf(suggestedObjects(naming));

const PODS = "/api/v1/namespaces/shop/pods";
const jane = createUser({ name: "jane", groups: ["system:authenticated"] });
const account = createUser({
  name: "system:serviceaccount:shop:robot",
  groups: ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"],
});

test("requests belong to the default schemas as kube-apiserver has them", () => {
  const control = openControl();
  const leases = `/apis/coordination.${naming.groupDomain}/v1/namespaces/kube-system/leases/x`;
  const cases: readonly [string, UserInfo, string, string][] = [
    ["GET", createUser({ name: "root", groups: ["system:masters"] }), PODS, "exempt"],
    [
      "GET",
      createUser({ name: "system:anonymous", groups: ["system:unauthenticated"] }),
      "/livez",
      "probes",
    ],
    ["GET", jane, "/livez", "probes"],
    ["POST", jane, "/livez", "global-default"],
    ["GET", jane, PODS, "global-default"],
    ["GET", account, PODS, "service-accounts"],
    ["GET", nodeUser(), PODS, "system-nodes"],
    ["PUT", nodeUser(), leases, "system-node-high"],
    ["PATCH", nodeUser(), "/api/v1/nodes/n1/status", "system-node-high"],
    [
      "PUT",
      createUser({ name: "system:kube-scheduler", groups: ["system:authenticated"] }),
      leases,
      "system-leader-election",
    ],
    [
      "GET",
      createUser({ name: "system:kube-scheduler", groups: ["system:authenticated"] }),
      PODS,
      "kube-scheduler",
    ],
    ["GET", createUser({ name: "nobody", groups: [] }), PODS, "catch-all"],
  ];

  const found = cases.map(([method, user, path, wanted]) => {
    const entry = control.enter(asked(user, method, path), 1, 0);
    const level = control.describeSchemas().find(({ counts }) => counts.executing > 0);
    seated(entry).release(0);
    return [method, user.name, path, level?.schema ?? "none", wanted];
  });

  assert.deepEqual(
    found.filter(([, , , schema, wanted]) => schema !== wanted),
    [],
  );
});

test("the seats of a replica are divided by shares", () => {
  const control = openControl(600);

  const nominal = Object.fromEntries(
    control.describeLevels().map((level) => [level.name, level.nominal]),
  );

  assert.deepEqual(nominal, {
    exempt: 0,
    "catch-all": 13,
    system: 74,
    "node-high": 98,
    "leader-election": 25,
    "workload-high": 98,
    "workload-low": 245,
    "global-default": 49,
  });
});

test("a level borrows what others do not use, and gives it back when they want it", () => {
  const control = openControl(100);
  const current = (name: string) =>
    control.describeLevels().find((level) => level.name === name)?.current ?? 0;
  const before = current("workload-low");
  const held: HeldSeats[] = [];
  const waits: Promise<HeldSeats | Denial>[] = [];
  for (let i = 0; i < 120; i++) {
    const entry = control.enter(asked(account, "GET", PODS), 1, 0);
    if (entry.type === "seated") held.push(entry.seats);
    if (entry.type === "waiting") waits.push(entry.wait(new AbortController().signal));
  }
  control.adjust(10_000);
  const borrowed = current("workload-low");
  assert.ok(borrowed > before, `${borrowed} of ${before}`);
  const total = control
    .describeLevels()
    .filter(({ isExempt }) => !isExempt)
    .reduce((sum, level) => sum + level.current, 0);
  assert.ok(Math.abs(total - 100) <= 8, `${total}`);

  for (let i = 0; i < 60; i++) control.enter(asked(jane, "GET", PODS), 1, 10_000);
  control.adjust(20_000);
  assert.ok(current("workload-low") < borrowed);
  assert.ok(current("global-default") > 8);
});

test("exempt requests never wait, whatever else is full", () => {
  const control = openControl(10);
  for (let i = 0; i < 500; i++) control.enter(asked(jane, "GET", PODS), 1, 0);
  const admin = createUser({ name: "root", groups: ["system:masters"] });

  for (let i = 0; i < 500; i++) {
    assert.equal(control.enter(asked(admin, "GET", PODS), 10, 0).type, "seated");
  }
});

test("A23: a request waits for seats for a quarter of its own time, and never for more than a minute", async () => {
  const control = openControl(20, {
    levels: [level("tiny", 1)],
    schemas: [schemaFor("tiny", "jane")],
  });
  while (control.enter(asked(jane, "GET", PODS), 1, 0).type === "seated") {}
  const waits = async (deadlineMs: number) => {
    const request = { ...asked(jane, "GET", PODS), receivedAtMs: 0, deadlineMs };
    const entry = control.enter(request, 1, 100);
    assert.ok(entry.type === "waiting", entry.type);
    let outcome = "";
    void entry.wait(new AbortController().signal).then((end) => {
      outcome = "reason" in end ? end.reason : "seated";
    });
    return async (nowMs: number) => {
      control.tick(nowMs);
      await nextTurn();
      return outcome;
    };
  };
  const [short, long] = [await waits(8_000), await waits(1_000_000)];
  assert.deepEqual([await short(1_999), await short(2_001)], ["", "time-out"]);
  assert.deepEqual([await long(59_999), await long(60_001)], ["", "time-out"]);
});

test("a refusal names level, schema, queue and expected wait", () => {
  const control = openControl(10);
  const nobody = createUser({ name: "nobody" });
  seated(control.enter(asked(nobody, "GET", PODS), 1, 0));

  const entry = control.enter(asked(nobody, "GET", PODS), 1, 0);

  assert.ok(entry.type === "denied");
  assert.equal(entry.denial.reason, "concurrency-limit");
  assert.match(
    entry.denial.text,
    /^priority level "catch-all", flow schema "catch-all", concurrency-limit: 1 of 1 seats in use, your share is 1\.0, 0 of the 0 requests that wait are yours, about 0\.0 s$/,
  );
});

test("a level that is taken away serves those who wait in it, and nobody else", async () => {
  const control = openControl(20, {
    levels: [level("tiny", 1)],
    schemas: [schemaFor("tiny", "jane")],
  });
  const first = seated(control.enter(asked(jane, "GET", PODS), 1, 0));
  const waits = fill(control, jane);
  assert.ok(waits.length > 0);

  control.replace(suggested.levels, suggested.schemas, 1);
  const elsewhere = control.enter(asked(jane, "GET", PODS), 1, 1);
  assert.equal(elsewhere.type, "seated");
  first.release(2);
  for (const wait of waits) {
    const outcome = await wait;
    assert.ok("release" in outcome, "served");
    outcome.release(3);
  }
  control.tick(4);

  assert.ok(!control.describeLevels().some(({ name }) => name === "tiny"));
});

test("a mandatory level is there before it is stored, and has its uid when it is", () => {
  const control = openControl(600);
  const nobody = asked(createUser({ name: "nobody" }), "GET", PODS);
  const uidOf = () => {
    const request: FlowRequest = { ...nobody };
    seated(control.enter(request, 1, 1)).release(1);
    return request.place?.levelUid;
  };
  assert.equal(uidOf(), "");

  const stored = mandatory.levels.map((one) => ({ ...one, uid: `uid-of-${one.name}` }));
  control.replace([...suggested.levels, ...stored], suggested.schemas, 1);

  assert.equal(uidOf(), "uid-of-catch-all");
});

test("a schema of a level that is not there matches nothing", () => {
  const control = openControl(600);
  control.replace(suggested.levels, [...suggested.schemas, schemaFor("gone", "jane")], 1);

  seated(control.enter(asked(jane, "GET", PODS), 1, 1));

  const executing = control.describeSchemas().find(({ counts }) => counts.executing === 1);
  assert.equal(executing?.schema, "global-default");
});

test("a list is as wide as what it would send, everything else is one seat", () => {
  const sizes: Readonly<Record<string, CollectionSize>> = {
    "": { size: 20_000, bytes: 30_000_000 },
    shop: { size: 10_000, bytes: 10_000_000 },
  };
  const width = (method: string, path: string) =>
    listWidth(parseRequestInfo(method, path), (namespace) => sizes[namespace]);

  assert.equal(width("GET", PODS), 100);
  assert.equal(width("GET", "/api/v1/pods"), 300);
  assert.equal(width("GET", "/api/v1/namespaces/empty/pods"), 1);
  assert.equal(width("GET", `${PODS}?limit=500`), 5);
  assert.equal(width("GET", `${PODS}?limit=50000`), 100);
  assert.equal(width("GET", `${PODS}?fieldSelector=metadata.name%3Da`), 1);
  assert.equal(width("GET", `${PODS}?watch=1&sendInitialEvents=true`), 100);
  assert.equal(width("GET", `${PODS}?watch=1`), 100);
  assert.equal(width("GET", `${PODS}?watch=1&resourceVersion=7`), 1);
  assert.equal(width("DELETE", PODS), 100);
  assert.equal(width("POST", PODS), 1);
  assert.deepEqual([0, 9, 10, 500].map(watcherWork), [0, 0, 0.005, 0.25]);
});

test("an answer claims what it holds at most, and small ones claim nothing", () => {
  const memory = (path: string, bytes: number, isKept = false, method = "GET") =>
    listMemory(parseRequestInfo(method, path), () => ({ size: 1_000, bytes }), isKept);
  const largest = 3 * POOLED_BYTES;

  assert.equal(memory(PODS, 60_000), 0);
  assert.equal(memory(PODS, 100_000), 400_000);
  assert.equal(memory(PODS, 10 ** 9), largest);
  assert.equal(memory(`${PODS}?limit=10`, 5_000_000), 0);
  assert.equal(memory(`${PODS}?watch=1&sendInitialEvents=true`, 10 ** 9), largest);
  assert.equal(memory(`${PODS}?watch=1&resourceVersion=7`, 10 ** 9), 0);
  assert.equal(memory(PODS, 10 ** 7, true), 4 * 10 ** 7, "the audit log keeps it as a whole");
  assert.equal(memory(PODS, 10 ** 7, false, "DELETE"), largest);
  assert.deepEqual([1_000, 10 ** 6, undefined].map(bodyMemory), [0, 4 * 10 ** 6, 2 ** 20]);
  assert.equal(objectMemory(10 ** 6), 2 * 10 ** 6);
});

test("a page claims whole bytes, so that what is given back is what was held", () => {
  const sizes = [7, 30, 90, 110, 700].map((size) => ({ size, bytes: size * 31_007 + 1 }));

  const claims = sizes.map((size) =>
    listMemory(parseRequestInfo("GET", `${PODS}?limit=6`), () => size, false),
  );

  assert.ok(claims.every((bytes) => bytes > 0));
  assert.deepEqual(
    claims.filter((bytes) => !Number.isInteger(bytes)),
    [],
  );
});

test("one request takes no more than a part of its level", () => {
  const control = openControl(600);

  seated(control.enter(asked(account, "GET", PODS), 1000, 0));

  const executing = control.describeSchemas().find(({ counts }) => counts.executing === 1);
  assert.equal(executing?.counts.executingSeats, 10);
});

test("A23: the debug pages have kube-apiserver's columns and format, and show levels, queues and those who wait", () => {
  const control = openControl(20, {
    levels: [level("tiny", 1)],
    schemas: [schemaFor("tiny", "jane")],
  });
  void fill(control, jane);
  const pages = dumpDocuments(control);
  const text = (page: string, query = "") =>
    pages[`/debug/api_priority_and_fairness/${page}`]?.("", {}, parseQuery(query)).body ?? "";
  const table = (page: string, query = "") =>
    text(page, query)
      .trim()
      .split("\n")
      .map((line) => line.split(/, */));
  const tiny = (rows: string[][]) => rows.find(([name]) => name === "tiny") ?? [];

  const levels = table("dump_priority_levels");
  assert.deepEqual(levels[0], [
    ...["PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests"],
    ...["ExecutingRequests", "DispatchedRequests", "RejectedRequests", "TimedoutRequests"],
    "CancelledRequests",
  ]);
  assert.deepEqual(
    tiny(levels).join(),
    "tiny,1,false,false,5,1,1,1,0,0",
    "one at work, five wait in one queue, the next was refused",
  );

  const queues = table("dump_queues");
  assert.deepEqual(queues[0], [
    ...["PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse"],
    ...["NextDispatchR", "InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum"],
  ]);
  const names = new Set(queues.slice(1).map(([name]) => name));
  assert.deepEqual([names.has("exempt"), names.has("catch-all")], [false, false], "no queues");
  const [, index, ...busy] =
    queues.find(([name, , pending]) => name === "tiny" && pending !== "0") ?? [];
  assert.match(index ?? "", /^[0-3]$/);
  assert.equal(busy.join(), "5,1,1,0.00300000ss,5,5,0.01500000ss");
  const others = queues.filter(([name, at]) => name === "tiny" && at !== index);
  assert.equal(others.length, 3, "a row for each queue");
  for (const other of others)
    assert.equal(other.slice(2).join(), "0,0,0,0.00000000ss,0,0,0.00000000ss");
  assert.match(
    text("dump_queues"),
    /^PriorityLevelName, +Index, {2}PendingRequests, ExecutingRequests, /,
  );

  const columns = [
    ...["PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue"],
    ...["FlowDistingsher", "ArriveTime", "InitialSeats", "FinalSeats", "AdditionalLatency"],
    "StartTime",
  ];
  const requests = table("dump_requests");
  assert.deepEqual([requests[0], requests.length], [columns, 7]);
  const [start, arrival] = [requests[1]?.at(-1) ?? "", requests[1]?.[5] ?? ""];
  assert.equal(
    requests[1]?.slice(0, -1).toSpliced(5, 1).join(),
    "tiny,of-jane,-1,-1,jane,1,0,0s",
    "the one at work has left its queue",
  );
  assert.ok(Date.parse(arrival) <= Date.parse(start));
  assert.equal(
    requests.at(-1)?.toSpliced(5, 1).join(),
    `tiny,of-jane,${index},4,jane,1,0,0s,0001-01-01T00:00:00Z`,
  );
  const detailed = table("dump_requests", "includeRequestDetails=1");
  assert.deepEqual(detailed[0]?.slice(columns.length), [
    ...["UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource"],
    "SubResource",
  ]);
  assert.equal(detailed[1]?.slice(columns.length).join(), `jane,list,${PODS},shop,,v1,pods,`);
});

function settingsOf(objects: ReturnType<typeof mandatoryObjects>) {
  return {
    levels: objects.levels.map(toLevelSetting),
    schemas: objects.schemas.map(toSchemaSetting),
  };
}

test("control planes share the thread as levels do: one with many users gets as many turns as one with a single user", async () => {
  const clock = { nowMs: 0 };
  const turns = new Turns(new Headroom(1), () => clock.nowMs);
  const info = parseRequestInfo("GET", PODS);
  const served: string[] = [];
  const planes = ["greedy", "polite"].map((name) => ({
    name,
    control: openControl(600, {}, `control plane ${name}`),
  }));
  const work = async (at: number, user: UserInfo) => {
    const plane = planes[at];
    assert.ok(plane !== undefined);
    const place = plane.control.turnPlaceOf(user, info);
    assert.ok(place !== undefined);
    await turns.wait(place);
    clock.nowMs += SLICE_MS;
    served.push(plane.name);
  };
  const users = [jane, account, ...Array.from({ length: 18 }, (_, at) => userOf(`user-${at}`))];
  const all = users.flatMap((user) => [work(0, user), work(0, user)]);
  for (let piece = 0; piece < 10; piece++) all.push(work(1, jane));
  await Promise.all(all);

  assert.equal(served.length, 50);
  const first = served.slice(0, 20);
  assert.equal(first.filter((name) => name === "polite").length, 10, first.join(" "));
  // The same users of the root have levels, and flows of their names, of their own.
  const [greedy, polite] = planes.map(({ control }) => control.turnPlaceOf(jane, info));
  assert.notDeepEqual(greedy, polite);
  assert.equal(openControl().turnPlaceOf(jane, info)?.level, "global-default");
});

test("39: a flow's name is short, whatever its client calls itself or asks for", () => {
  const control = openControl();
  const { info } = asked(userOf("a"), "GET", PODS);
  const nameOf = (name: string) => control.turnPlaceOf(userOf(name), info)?.flow ?? "";
  assert.ok(nameOf("x".repeat(60_000)).length < 1_000);
  assert.equal(nameOf(`${"x".repeat(600)}1`), nameOf(`${"x".repeat(600)}2`));
  assert.notEqual(nameOf(`${"x".repeat(253)}1`), nameOf(`${"x".repeat(253)}2`));
});

test("44: who is exempt in a control plane, as its administrators say, waits for the thread like all of it, and claims memory", () => {
  const { user, info } = asked(createUser({ name: "a", groups: ["system:masters"] }), "GET", PODS);
  const [root, inside] = [openControl(), openControl(600, {}, "control plane shop")];
  assert.deepEqual([root.turnPlaceOf(user, info), root.isExempt(user, info)], [undefined, true]);
  assert.deepEqual(
    [inside.turnPlaceOf(user, info)?.level, inside.isExempt(user, info)],
    ["control plane shop", false],
  );
});

function userOf(name: string): UserInfo {
  return createUser({ name, groups: ["system:authenticated"] });
}

function openControl(
  seats = 600,
  more: Partial<typeof suggested> = {},
  turnLevel?: string,
): FlowControl {
  const control = new FlowControl({
    seats,
    patienceMs: 15_000,
    mandatory,
    times: NO_TIMES,
    nowMs: 0,
    turnLevel,
  });
  control.replace(
    [...suggested.levels, ...(more.levels ?? [])],
    [...suggested.schemas, ...(more.schemas ?? [])],
    0,
  );
  return control;
}

function level(name: string, shares: number): LevelSetting {
  return {
    name,
    uid: "",
    isExempt: false,
    shares,
    lendablePercent: 0,
    borrowingLimitPercent: 0,
    queuing: { queues: 4, handSize: 1, queueLengthLimit: 5 },
  };
}

function schemaFor(levelName: string, user: string): SchemaSetting {
  return {
    ...toSchemaSetting({
      kind: "FlowSchema",
      apiVersion: "",
      metadata: { name: `of-${user}` },
      spec: {
        priorityLevelConfiguration: { name: levelName },
        matchingPrecedence: 50,
        distinguisherMethod: { type: "ByUser" },
        rules: [
          {
            subjects: [{ kind: "User", user: { name: user } }],
            resourceRules: [
              { verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"] },
            ],
          },
        ],
      },
    }),
  };
}

/** Sends requests until one is refused. @returns the waits of the queued ones */
function fill(control: FlowControl, user: UserInfo): Promise<HeldSeats | Denial>[] {
  const waits: Promise<HeldSeats | Denial>[] = [];
  for (;;) {
    const entry = control.enter(asked(user, "GET", PODS), 1, 0);
    if (entry.type === "denied") return waits;
    if (entry.type === "waiting") waits.push(entry.wait(new AbortController().signal));
  }
}

function asked(user: UserInfo, method: string, path: string) {
  return { user, info: parseRequestInfo(method, path) };
}

function nodeUser(): UserInfo {
  return createUser({ name: "system:node:n1", groups: ["system:nodes", "system:authenticated"] });
}

function seated(entry: Entry): HeldSeats {
  assert.ok(entry.type === "seated", entry.type);
  return entry.seats;
}
