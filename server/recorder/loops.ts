/**
 * Hot loops in what was recorded: writes that change nothing, writers that change the same field in turns, and
 * clients that list or watch the same again and again. Pure.
 */
import type {
  HotLoop,
  RecordedClient,
  RecordedRead,
  RecordedWrite,
  Records,
} from "./record-types.js";

/** So many within so long are a loop. */
const WINDOW_MS = 60_000;
const UNCHANGED_MIN = 5;
const TURNS_MIN = 6;
const STARTS_MIN = 10;
/** More are not told. */
const LOOPS_MAX = 200;
/** Moves with every change of the spec. */
const COUNTED_PATHS: ReadonlySet<string> = new Set(["metadata.generation"]);

export function findLoops(
  records: Pick<Records, "clients" | "writes" | "reads">,
): readonly HotLoop[] {
  const clients = new Map(records.clients.map((client) => [client.id, client]));
  const all = [
    ...idleWrites(records.writes, clients),
    ...fights(records.writes, clients),
    ...relists(records.reads, clients),
  ];
  return all.sort((a, b) => b.perSecond - a.perSecond).slice(0, LOOPS_MAX);
}

type Clients = ReadonlyMap<string, RecordedClient>;

function idleWrites(writes: readonly RecordedWrite[], clients: Clients): HotLoop[] {
  const idle = writes.filter(({ outcome }) => outcome === "unchanged");
  const groups = groupBy(idle, (write) => [
    keyOf(clients, write.client),
    objectOf(write),
    write.subresource,
  ]);
  return groups.flatMap((group) => {
    const busy = busiest(group, UNCHANGED_MIN);
    if (busy === undefined) return [];
    const what = `wrote ${shown(busy.first)} ${busy.count} times and changed nothing`;
    return [
      loopOf("no-change", busy, [busy.first.client], "", `${nameOf(clients, busy.first)} ${what}`),
    ];
  });
}

/** A field that one writer changes, then another one, then the first again. */
function fights(writes: readonly RecordedWrite[], clients: Clients): HotLoop[] {
  const changes = writes
    .filter(({ outcome }) => outcome === "changed")
    .flatMap((write) => write.changedPaths.map((path) => ({ write, path })))
    .filter(({ path }) => !COUNTED_PATHS.has(path));
  const groups = groupBy(changes, ({ write, path }) => [objectOf(write), path]);
  const found = groups.flatMap((group) => {
    const turns = group.filter(({ write }, at) => {
      const before = group[at - 1]?.write;
      return before !== undefined && writerOf(clients, before) !== writerOf(clients, write);
    });
    const [first] = group;
    const busy = busiest(
      turns.map(({ write }) => write),
      TURNS_MIN,
    );
    if (busy === undefined || first === undefined) return [];
    const writers = new Map(busy.all.map((write) => [writerOf(clients, write), write]));
    if (writers.size < 2) return [];
    const names = [...writers.values()].map((write) => nameOf(clients, write)).sort();
    const text = `${names.join(" and ")} change ${first.path} of ${shown(busy.first)} in turns, ${busy.count} times`;
    const ids = [...new Set([...writers.values()].map(({ client }) => client))];
    return [loopOf("fight", busy, ids, first.path, text)];
  });
  return onePerObject(found);
}

/** Two that fight over a spec fight over many fields of it. */
function onePerObject(loops: readonly HotLoop[]): HotLoop[] {
  const best = new Map<string, HotLoop>();
  for (const loop of loops) {
    const key = [loop.group, loop.resource, loop.namespace, loop.name, ...loop.clients].join("\n");
    const known = best.get(key);
    if (known === undefined || loop.count > known.count) best.set(key, loop);
  }
  return [...best.values()];
}

function relists(reads: readonly RecordedRead[], clients: Clients): HotLoop[] {
  const groups = groupBy(reads, (read) => [
    keyOf(clients, read.client),
    ...[read.group, read.resource, read.namespace, read.name, read.selector],
  ]);
  return groups.flatMap((group) => {
    const busy = busiest(group, STARTS_MIN);
    if (busy === undefined) return [];
    const where = busy.first.namespace === "" ? "" : ` in ${busy.first.namespace}`;
    const lists = busy.all.filter(({ verb }) => verb === "list").length;
    const what = `began ${lists} lists and ${busy.count - lists} watches of ${busy.first.resource}${where}`;
    return [
      loopOf("relist", busy, [busy.first.client], "", `${nameOf(clients, busy.first)} ${what}`),
    ];
  });
}

interface Busy<Item> {
  readonly first: Item;
  readonly all: readonly Item[];
  readonly count: number;
  readonly fromTime: string;
  readonly toTime: string;
}

/** The window with the most of them; undefined = there are never enough. */
function busiest<Item extends { readonly time: string }>(
  items: readonly Item[],
  min: number,
): Busy<Item> | undefined {
  const sorted = [...items].sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
  let best: Item[] = [];
  for (let from = 0, to = 0; to < sorted.length; to++) {
    const end = Date.parse(sorted[to]?.time ?? "");
    while (end - Date.parse(sorted[from]?.time ?? "") > WINDOW_MS) from++;
    if (to - from + 1 > best.length) best = sorted.slice(from, to + 1);
  }
  const [first] = best;
  if (first === undefined || best.length < min) return undefined;
  const toTime = best.at(-1)?.time ?? first.time;
  return { first, all: best, count: best.length, fromTime: first.time, toTime };
}

function loopOf(
  type: HotLoop["type"],
  busy: Busy<RecordedWrite | RecordedRead>,
  clients: readonly string[],
  path: string,
  what: string,
): HotLoop {
  const { first, count, fromTime, toTime } = busy;
  const seconds = (Date.parse(toTime) - Date.parse(fromTime)) / 1_000;
  const { group, resource, namespace, name } = first;
  return {
    type,
    clients,
    ...{ group, resource, namespace, name, path, count },
    perSecond: Math.round((10 * count) / Math.max(seconds, 0.1)) / 10,
    fromTime,
    toTime,
    message: `${what} in ${seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`}`,
  };
}

function groupBy<Item>(items: readonly Item[], keys: (item: Item) => readonly string[]): Item[][] {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = keys(item).join("\n");
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return [...groups.values()];
}

/** The same for a client of several replicas. */
function keyOf(clients: Clients, id: string): string {
  const client = clients.get(id);
  return client === undefined ? id : `${client.user}\n${client.agent}\n${client.address}`;
}

function writerOf(clients: Clients, { client, fieldManager }: RecordedWrite): string {
  return `${keyOf(clients, client)}\n${fieldManager}`;
}

function nameOf(clients: Clients, record: RecordedWrite | RecordedRead): string {
  const { user = "", agent = "" } = clients.get(record.client) ?? {};
  const manager = "fieldManager" in record ? record.fieldManager : "";
  return `${manager || agent.split(" ")[0] || "a client"} (${user})`;
}

function objectOf({ group, resource, namespace, name }: RecordedWrite): string {
  return [group, resource, namespace, name].join("\n");
}

function shown({ resource, namespace, name }: RecordedWrite | RecordedRead): string {
  return `${resource} ${namespace === "" ? "" : `${namespace}/`}${name}`;
}
