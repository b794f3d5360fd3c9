/** What follows from records: links, chains, loops, blame and the picture, on records made here. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { blameFields } from "./blame.js";
import { explain } from "./explain.js";
import { linksOf, NAMES_NOTHING } from "./links.js";
import { findLoops } from "./loops.js";
import { RecordIndex } from "./record-index.js";
import type { Delivery, RecordedClient, RecordedRead, RecordedWrite } from "./record-types.js";
import { mergeRecords } from "./records.js";
import { drawTimeline } from "./svg-timeline.js";
import { timelineLinks } from "./timeline-links.js";

const START_MS = Date.parse("2030-01-01T00:00:00Z");

function at(ms: number): string {
  return new Date(START_MS + ms).toISOString();
}

const jane = { id: "c1", user: "jane", agent: "kubectl/v1", address: "10.0.0.1" };
const robot = { id: "c2", user: "robot", agent: "robot/v1", address: "10.0.0.2" };
const other = { id: "c3", user: "other", agent: "other/v1", address: "10.0.0.3" };
const clients: readonly RecordedClient[] = [jane, robot, other];

function writeOf(revision: number, changes: Partial<RecordedWrite>): RecordedWrite {
  return {
    id: `w${revision}`,
    revision: String(revision),
    previousRevision: "",
    time: at(revision * 10 + 1),
    receivedTime: at(revision * 10),
    client: jane.id,
    connection: 1,
    verb: "update",
    group: "",
    version: "v1",
    resource: "configmaps",
    subresource: "",
    namespace: "default",
    name: "a",
    uid: "uid-a",
    owners: [],
    fieldManager: "kubectl",
    outcome: "changed",
    status: 200,
    reason: "",
    changedAnything: true,
    changedPaths: [],
    morePaths: false,
    base: "",
    causes: [],
    ...changes,
  };
}

function watchOf(client: string, resource = "configmaps"): RecordedRead {
  return {
    id: `r-${client}-${resource}`,
    verb: "watch",
    client,
    connection: 2,
    group: "",
    resource,
    namespace: "",
    name: "",
    selector: "",
    time: at(0),
    endTime: "",
    fromRevision: "1",
    upToRevision: "",
    upToTime: "",
    events: 0,
    status: 200,
  };
}

function sent(read: RecordedRead, revision: number, ms: number): Delivery {
  return { read: read.id, revision: String(revision), time: at(ms) };
}

test("a chain goes back over what was delivered to the first write that nothing led to, and no guess is exact", () => {
  const watch = watchOf(robot.id);
  const writes = [
    writeOf(10, { outcome: "created", verb: "create" }),
    writeOf(11, { name: "b", uid: "uid-b", client: other.id, outcome: "created", verb: "create" }),
    writeOf(12, {
      name: "a-child",
      uid: "uid-c",
      owners: ["uid-a"],
      client: robot.id,
      outcome: "created",
    }),
  ];
  const deliveries = [sent(watch, 10, 102), sent(watch, 11, 112)];
  const index = new RecordIndex({ clients, writes, reads: [watch], deliveries });
  const { steps, end } = explain(index, writes[2] as RecordedWrite, NAMES_NOTHING);
  assert.deepEqual(
    steps.map(({ write, followed }) => [write, followed]),
    [
      ["w12", "w10"],
      ["w10", ""],
    ],
  );
  assert.equal(end, "outer");
  const [first] = steps;
  assert.deepEqual(first?.exact, []);
  assert.deepEqual(
    first?.candidates.map(({ to, rank, certainty }) => [to, rank, certainty]),
    [
      ["w10", 1, "candidate"],
      ["w11", 2, "candidate"],
    ],
  );
  assert.match(first?.candidates[0]?.reasons.join() ?? "", /it owns the object/);
});

test("#46 a controller that begins with sixty informers has seen what each of them listed, the owner of what it makes first", () => {
  const kinds = Array.from({ length: 60 }, (_, at) => `kind${at}s`);
  const reads = ["configmaps", ...kinds].map((resource) => ({
    ...watchOf(robot.id, resource),
    fromRevision: "1000",
    time: at(10_001),
  }));
  const owner = writeOf(1, { outcome: "created", verb: "create" });
  // So many newer ones of its type that no list's newest have it.
  const others = Array.from({ length: 600 }, (_, one) =>
    writeOf(one + 2, { name: `b${one}`, uid: `uid-b${one}`, outcome: "created", verb: "create" }),
  );
  const noise = kinds.map((resource, one) =>
    writeOf(700 + one, { resource, name: "robot", uid: `uid-${resource}`, outcome: "created" }),
  );
  const child = { name: "child", uid: "uid-c", owners: ["uid-a"], client: robot.id };
  const made = writeOf(1_001, { ...child, resource: "pods", outcome: "created", verb: "create" });
  const writes = [owner, ...others, ...noise, made];
  const index = new RecordIndex({ clients, writes, reads, deliveries: [] });
  const { candidates } = linksOf(index, made, () => true);
  assert.equal(candidates[0]?.to, owner.id);
});

test("#46 who owns an object is likelier its cause than who is named in it, also of one client's own writes", () => {
  const watch = watchOf(robot.id);
  const own = { client: robot.id };
  const writes = [
    writeOf(10, own),
    writeOf(11, { ...own, name: "b", uid: "uid-b" }),
    writeOf(12, { ...own, name: "b-child", uid: "uid-c", owners: ["uid-a"], outcome: "created" }),
  ];
  const deliveries = [sent(watch, 10, 102), sent(watch, 11, 119)];
  const index = new RecordIndex({ clients, writes, reads: [watch], deliveries });
  const { candidates } = linksOf(index, writes[2] as RecordedWrite, () => true);
  assert.deepEqual(
    candidates.map(({ to }) => to),
    ["w10", "w11"],
  );
});

test("#46 clients of one program know what one of them was sent, as those of kube-controller-manager do", () => {
  const program = "manager/v1.2 (linux/amd64) kubernetes/0f29094";
  const reader = { ...robot, id: "c4", user: "manager", agent: `${program}/shared-informers` };
  const writer = { ...robot, id: "c5", user: "loop", agent: `${program}/loop` };
  const elsewhere = { ...writer, id: "c6", address: "10.0.0.9" };
  const plain = { ...robot, id: "c7", user: "joe", agent: program };
  const alike = { ...plain, id: "c8", user: "jim", address: "10.0.0.9" };
  const programs = [jane, reader, writer, elsewhere, plain, alike];
  const watch = watchOf(reader.id);
  const alone = watchOf(plain.id, "secrets");
  const childOf = (client: RecordedClient, revision: number) =>
    writeOf(revision, { name: "a-child", uid: "uid-c", client: client.id, outcome: "created" });
  const writes = [
    writeOf(10, {}),
    childOf(writer, 12),
    childOf(elsewhere, 13),
    childOf(plain, 14),
    childOf(alike, 15),
  ];
  const deliveries = [sent(watch, 10, 102)];
  const index = new RecordIndex({ clients: programs, writes, reads: [watch, alone], deliveries });
  const ledBy = (write: RecordedWrite | undefined) =>
    explain(index, write as RecordedWrite, NAMES_NOTHING).steps[0]?.followed;
  assert.deepEqual(writes.map(ledBy), ["", "w10", "", "w10", ""]);
  const { candidates } = linksOf(index, writes[1] as RecordedWrite, NAMES_NOTHING);
  assert.deepEqual(
    candidates.map(({ to, certainty, read }) => [to, certainty, read]),
    [["w10", "candidate", watch.id]],
  );
});

test("what is delivered behind a write, or to somebody else, is no candidate; a revision of another object is not its base", () => {
  const mine = watchOf(robot.id);
  const theirs = watchOf(other.id);
  const writes = [
    writeOf(10, {}),
    writeOf(11, { name: "b", uid: "uid-b" }),
    writeOf(12, { name: "c", uid: "uid-c" }),
    writeOf(13, { name: "d", uid: "uid-d", client: robot.id, base: "10" }),
  ];
  const deliveries = [sent(theirs, 11, 111), sent(mine, 12, 131)];
  const index = new RecordIndex({ clients, writes, reads: [mine, theirs], deliveries });
  const { exact, candidates } = linksOf(index, writes[3] as RecordedWrite, NAMES_NOTHING);
  assert.deepEqual(candidates, []);
  assert.deepEqual(
    exact.map(({ to, revision }) => [to, revision]),
    [["", "10"]],
  );
});

test("#46 a name that is an owner's is no reference to another object of that name: Services are called as Deployments are", () => {
  const watch = watchOf(robot.id);
  const service = { resource: "services", name: "web", uid: "uid-service" };
  const slice = { resource: "endpointslices", name: "web-x" };
  const deployment = { resource: "deployments", name: "web", uid: "uid-deployment" };
  const names = ({ name }: { readonly name: string }, wanted: string) =>
    name === "web-x" && wanted === "web";
  const reasonsWith = (owners: readonly string[]) => {
    const last = writeOf(12, { ...deployment, client: robot.id });
    const writes = [
      writeOf(10, { ...service, outcome: "created" }),
      writeOf(11, { ...slice, owners, uid: "uid-slice", client: other.id }),
      last,
    ];
    const deliveries = [sent(watch, 11, 111)];
    const index = new RecordIndex({ clients, writes, reads: [watch], deliveries });
    return linksOf(index, last, names).candidates.flatMap(({ reasons }) => reasons);
  };
  assert.ok(reasonsWith([]).includes("it refers to the object by name"));
  assert.ok(!reasonsWith(["uid-service"]).includes("it refers to the object by name"));
});

test("hot loops are named: writes that change nothing, two that fight over a field, and a storm of lists", () => {
  const idle = Array.from({ length: 8 }, (_, i) =>
    writeOf(100 + i, { revision: "", outcome: "unchanged", name: "idle", client: robot.id }),
  );
  const fight = Array.from({ length: 8 }, (_, i) =>
    writeOf(200 + i, {
      name: "fight",
      client: (i % 2 === 0 ? robot : other).id,
      fieldManager: i % 2 === 0 ? "left" : "right",
      changedPaths: ["spec.replicas", "metadata.generation"],
    }),
  );
  const calm = Array.from({ length: 20 }, (_, i) =>
    writeOf(300 + i, { name: "calm", changedPaths: ["data.a"] }),
  );
  const storm = Array.from({ length: 12 }, (_, i) => {
    return { ...watchOf(other.id, "pods"), id: `l${i}`, verb: "list" as const, time: at(i * 100) };
  });
  const loops = findLoops({ clients, writes: [...idle, ...fight, ...calm], reads: storm });
  assert.deepEqual(
    loops.map(({ type, name, resource, path }) => [type, name, resource, path]).sort(),
    [
      ["fight", "fight", "configmaps", "spec.replicas"],
      ["no-change", "idle", "configmaps", ""],
      ["relist", "", "pods", ""],
    ],
  );
  const [told] = loops.filter(({ type }) => type === "fight");
  assert.match(
    told?.message ?? "",
    /^left \(robot\) and right \(other\) change spec\.replicas of configmaps default\/fight in turns, 7 times/,
  );
  assert.deepEqual(findLoops({ clients, writes: calm, reads: storm.slice(0, 9) }), []);
});

test("each field has its writer: from the record without a gap, else from managedFields, else the server", () => {
  const object = {
    metadata: {
      name: "a",
      uid: "uid-a",
      resourceVersion: "12",
      managedFields: [
        {
          manager: "maker",
          operation: "Update",
          time: "2029-01-01T00:00:00Z",
          fieldsV1: { "f:data": { "f:a": {}, "f:b": {} } },
        },
        {
          manager: "robot",
          operation: "Apply",
          time: "2030-01-01T00:00:00Z",
          fieldsV1: { "f:items": { 'k:{"name":"x"}': { "f:port": {} } } },
        },
      ],
    },
    data: { a: "1", b: "2" },
    items: [{ name: "x", port: 1 }],
  };
  const writes = [
    writeOf(10, { outcome: "created" }),
    writeOf(12, {
      previousRevision: "11",
      client: robot.id,
      fieldManager: "robot",
      changedPaths: ["data.a"],
    }),
  ];
  const fields = blameFields(object, writes, clients);
  assert.deepEqual(
    fields.map(({ path, manager, revision, user, how }) => [path, manager, revision, user, how]),
    [
      ["metadata.name", "", "", "", "server"],
      ["metadata.uid", "", "", "", "server"],
      ["data.a", "robot", "12", "robot", "recorded"],
      ["data.b", "maker", "", "", "managed"],
      ["items[0].name", "", "", "", "server"],
      ["items[0].port", "robot", "", "", "managed"],
    ],
  );
});

test("the picture has a row for each write, arrows for links, and takes text as text", () => {
  const writes = [
    writeOf(10, { name: '<script>"&' }),
    writeOf(11, { outcome: "refused", revision: "", status: 422 }),
  ];
  const link = { write: "w11", to: "w10", revision: "10", certainty: "candidate" as const, by: "" };
  const rest = { reasons: ["]]>"], deliveredTime: "", read: "" };
  const exact = { ...link, certainty: "exact" as const, by: "resourceVersion" };
  const links = [
    { ...link, ...rest, rank: 1 },
    { ...exact, ...rest, rank: 0 },
  ];
  for (const lanes of ["client", "object"] as const) {
    const svg = drawTimeline({
      title: "a < b",
      lanes,
      clients,
      writes,
      links,
      followed: new Set(["w11 w10"]),
    });
    assert.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
    assert.doesNotMatch(svg, /<script|"&"|a < b/);
    assert.equal([...svg.matchAll(/class="arrow candidate followed"/g)].length, 1);
    assert.equal([...svg.matchAll(/class="arrow exact followed"/g)].length, 1);
    assert.match(svg, /<title>exact, resourceVersion, /);
    assert.match(svg, /&lt;script&gt;/);
  }
});

test("records of several replicas are one: by revision, with what one wrote and another delivered", () => {
  const watch = watchOf(robot.id);
  const own = { ...robot, id: "other-c7" };
  const made = writeOf(10, { outcome: "created", verb: "create" });
  const led = writeOf(12, { id: "other-w1", name: "a-child", client: own.id, outcome: "created" });
  const refused = writeOf(13, { id: "w13", revision: "", outcome: "refused", time: at(115) });
  const first = { next: "a:1", hidden: 1, clients, writes: [made, refused], reads: [watch] };
  const second = {
    next: "b:1",
    hidden: 2,
    clients: [own],
    writes: [led],
    reads: [],
    deliveries: [],
  };
  const merged = mergeRecords([{ ...first, deliveries: [sent(watch, 10, 102)] }, second]);
  assert.deepEqual(
    [merged.next, merged.hidden, merged.writes.map(({ id }) => id)],
    ["a:1,b:1", 3, ["w10", "w13", "other-w1"]],
  );
  const { candidates } = linksOf(new RecordIndex(merged), led, NAMES_NOTHING);
  assert.deepEqual(
    candidates.map(({ to }) => to),
    ["w10"],
  );
});

test("#46 however many fields an object has, each set of a manager's fields is looked through once", () => {
  const looks = { count: 0 };
  const counted = (fields: object) =>
    new Proxy(fields, {
      ownKeys(target) {
        looks.count++;
        return Reflect.ownKeys(target);
      },
    });
  const names = Array.from({ length: 500 }, (_, one) => `name-${one}`);
  const items = names.map((name) => [`k:{"name":"${name}"}`, { "f:value": {} }]);
  const fieldsV1 = {
    "f:data": counted(Object.fromEntries(names.map((name) => [`f:${name}`, {}]))),
    "f:items": counted(Object.fromEntries(items)),
  };
  const managedFields = [{ manager: "kubectl", operation: "Update", time: at(0), fieldsV1 }];
  const object = {
    metadata: { managedFields },
    data: Object.fromEntries(names.map((name) => [name, "1"])),
    items: names.map((name) => ({ name, value: 1, other: 2 })),
  };
  const fields = blameFields(object as never, [], clients);
  const owned = fields.filter(({ manager }) => manager === "kubectl").map(({ path }) => path);
  assert.equal(owned.length, 1_000);
  assert.ok(owned.includes("items[499].value"));
  assert.ok(looks.count <= 4, `${looks.count} looks`);
});

test("#46 what led to the writes of a timeline is found in turns: others wait for five writes at most", async () => {
  const watch = watchOf(robot.id);
  const writes = Array.from({ length: 53 }, (_, one) => writeOf(one + 1, { client: robot.id }));
  const index = new RecordIndex({ clients, writes, reads: [watch], deliveries: [] });
  const turns = { count: 0 };
  const links = await timelineLinks(index, writes, NAMES_NOTHING, async () => {
    turns.count++;
  });
  assert.equal(turns.count, 10);
  const alone = writes.flatMap((write) => {
    const { exact, candidates } = linksOf(index, write, NAMES_NOTHING);
    return [...exact, ...candidates.slice(0, 3)];
  });
  assert.deepEqual(links, alone);
});
