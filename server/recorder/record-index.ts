/**
 * RecordIndex: records that somebody asks about, so that what led to a write is found: writes by revision and by
 * object, and what each client had been delivered. Clients of several replicas are one where user, program and
 * address are the same, and those of one program know what one of them was sent.
 */
import type { RecordedClient, RecordedRead, RecordedWrite, Records } from "./record-types.js";

/** A write that a client had seen before it wrote itself. */
export interface Seen {
  readonly write: RecordedWrite;
  /** When it was delivered; milliseconds since 1970. */
  readonly atMs: number;
  readonly read: RecordedRead | undefined;
}

interface KnownDelivery {
  readonly revision: string;
  readonly atMs: number;
  readonly read: RecordedRead;
}

/** Of deliveries to one client before a write; older ones are no candidates. */
const SEEN_MAX = 1_000;
const SEEN_MS_MAX = 600_000;
/** What lists showed: the newest of each, and of all together so many. */
const LISTED_MAX = 500;
const LISTED_TOGETHER_MAX = 10_000;
/** kube-controller-manager begins with some sixty. */
const LISTS_MAX = 200;

export class RecordIndex {
  readonly writes: readonly RecordedWrite[];
  readonly byId: ReadonlyMap<string, RecordedWrite>;
  readonly #byRevision = new Map<string, RecordedWrite>();
  readonly #byUid = new Map<string, RecordedWrite[]>();
  /** Filled when it is asked for. */
  readonly #byType = new Map<string, RecordedWrite[]>();
  /** By the name of a program, as `#programOf` gives it. */
  readonly #deliveries = new Map<string, KnownDelivery[]>();
  readonly #reads = new Map<string, RecordedRead[]>();
  readonly #names: ReadonlyMap<string, string>;
  readonly #programs: ReadonlyMap<string, string>;

  constructor(records: Pick<Records, "clients" | "writes" | "reads" | "deliveries">) {
    this.writes = records.writes;
    this.byId = new Map(records.writes.map((write) => [write.id, write]));
    this.#names = new Map(
      records.clients.map(({ id, user, agent, address }) => [id, `${user}\n${agent}\n${address}`]),
    );
    this.#programs = programsOf(records.clients);
    for (const write of records.writes) {
      if (write.revision !== "") this.#byRevision.set(write.revision, write);
      if (write.uid !== "") push(this.#byUid, write.uid, write);
    }
    const reads = new Map(records.reads.map((read) => [read.id, read]));
    for (const read of records.reads) push(this.#reads, this.#programOf(read.client), read);
    for (const { read: id, revision, time } of records.deliveries) {
      const read = reads.get(id);
      if (read === undefined) continue;
      const delivery = { revision, atMs: Date.parse(time), read };
      push(this.#deliveries, this.#programOf(read.client), delivery);
    }
  }

  isSameClient(a: RecordedWrite, b: RecordedWrite): boolean {
    return this.#nameOf(a.client) === this.#nameOf(b.client);
  }

  /** The write that made this state of the object of another write. */
  stateOf(write: RecordedWrite, revision: string): RecordedWrite | undefined {
    const found = this.#byRevision.get(revision);
    return found !== undefined && isSameObject(found, write) ? found : undefined;
  }

  /** The last write of an object before another write. */
  lastOf(uid: string, before: RecordedWrite, isWanted: (write: RecordedWrite) => boolean) {
    const untilMs = Date.parse(before.time);
    const all = this.#byUid.get(uid) ?? [];
    return all.findLast(
      (write) => write.id !== before.id && Date.parse(write.time) <= untilMs && isWanted(write),
    );
  }

  /** Whether the object of a write has an owner of this name that is another object than `uid`: the name in it is that one's. */
  hasOtherOwnerNamed(name: string, uid: string, { owners }: RecordedWrite): boolean {
    return owners.some((owner) => owner !== uid && this.#byUid.get(owner)?.[0]?.name === name);
  }

  /** How a revision of the write's object reached its client; undefined = by no watch that is recorded. */
  deliveryOf(write: RecordedWrite, revision: string): Omit<Seen, "write"> | undefined {
    const untilMs = Date.parse(write.receivedTime);
    const name = this.#programOf(write.client);
    const all = this.#deliveries.get(name) ?? [];
    const delivery = all.findLast((each) => each.revision === revision && each.atMs <= untilMs);
    if (delivery !== undefined) return delivery;
    const reads = this.#reads.get(name) ?? [];
    const read = reads.findLast(
      (each) =>
        covers(each, write) &&
        Date.parse(each.time) <= untilMs &&
        Number(each.fromRevision) >= Number(revision),
    );
    return read && { read, atMs: Date.parse(read.time) };
  }

  /** Whether the client followed anything when it wrote: otherwise nothing that is recorded led it. */
  isFollower(write: RecordedWrite): boolean {
    if (this.#isOwn(write)) return true;
    const reads = this.#reads.get(this.#programOf(write.client)) ?? [];
    return reads.some(
      ({ verb, time, endTime }) =>
        verb === "watch" && time <= write.time && (endTime === "" || endTime >= write.receivedTime),
    );
  }

  /** What the client of a write had seen before it, each write once, the newest first. */
  seenBefore(write: RecordedWrite): Seen[] {
    const untilMs = Date.parse(write.receivedTime);
    const name = this.#programOf(write.client);
    const seen = new Map<string, Seen>();
    const note = (
      other: RecordedWrite | undefined,
      atMs: number,
      read: RecordedRead | undefined,
    ) => {
      if (other === undefined || other.id === write.id || seen.has(other.id)) return;
      seen.set(other.id, { write: other, atMs, read });
    };
    if (this.#isOwn(write)) this.#noteAll(write, note);
    const deliveries = this.#deliveries.get(name) ?? [];
    for (let at = deliveries.length - 1; at >= 0 && seen.size < SEEN_MAX; at--) {
      const { revision, atMs, read } = deliveries[at] as KnownDelivery;
      if (atMs > untilMs) continue;
      if (atMs < untilMs - SEEN_MS_MAX) break;
      note(this.#byRevision.get(revision), atMs, read);
    }
    this.#noteListed(write, untilMs, note);
    return [...seen.values()];
  }

  /** A loop of the server sees everything, as soon as it is stored. */
  #noteAll(
    write: RecordedWrite,
    note: (other: RecordedWrite, atMs: number, read: undefined) => void,
  ): void {
    const at = this.writes.indexOf(write);
    for (const other of this.writes.slice(Math.max(0, at - LISTED_MAX), at).reverse()) {
      if (other.changedAnything) note(other, Date.parse(other.time), undefined);
    }
  }

  #isOwn({ client, connection }: RecordedWrite): boolean {
    return connection === 0 && this.#nameOf(client).endsWith("\n");
  }

  /** What was there when the client listed, or began to watch. */
  #noteListed(
    write: RecordedWrite,
    untilMs: number,
    note: (other: RecordedWrite, atMs: number, read: RecordedRead) => void,
  ): void {
    const reads = this.#reads.get(this.#programOf(write.client)) ?? [];
    const before = newestOfEach(reads, untilMs);
    const owned = write.owners.flatMap((uid) => this.#byUid.get(uid) ?? []).reverse();
    for (const read of before) {
      for (const other of owned) if (showed(read, other)) note(other, Date.parse(read.time), read);
    }
    const each = Math.min(LISTED_MAX, Math.ceil(LISTED_TOGETHER_MAX / Math.max(1, before.length)));
    for (const read of before) {
      const atMs = Date.parse(read.time);
      const all = this.#ofType(read);
      let left = each;
      for (let at = all.length - 1; at >= 0 && left > 0; at--) {
        const other = all[at] as RecordedWrite;
        if (!showed(read, other)) continue;
        left--;
        note(other, atMs, read);
      }
    }
  }

  #ofType(read: RecordedRead): readonly RecordedWrite[] {
    if (this.#byType.size === 0) {
      for (const write of this.writes) push(this.#byType, typeOf(write), write);
    }
    return this.#byType.get(typeOf(read)) ?? [];
  }

  #nameOf(client: string): string {
    return this.#names.get(client) ?? client;
  }

  /** What one client of a program was sent the others know as well. */
  #programOf(client: string): string {
    return this.#programs.get(client) ?? this.#nameOf(client);
  }
}

/**
 * Programs with several clients: kube-controller-manager reads by one user and writes by many. client-go's
 * rest.AddUserAgent tells such clients apart by a suffix of the same header: "manager/v1 (linux/amd64) kubernetes/0f2"
 * and the same with "/shared-informers".
 * @returns by id of those clients
 */
function programsOf(clients: readonly RecordedClient[]): ReadonlyMap<string, string> {
  const found = clients.flatMap(({ id, agent, address }) => {
    const [, program, suffix = ""] = SUFFIXED.exec(agent) ?? [];
    return program === undefined ? [] : [{ id, name: `${program}\n${address}`, suffix }];
  });
  const several = new Set(found.flatMap(({ name, suffix }) => (suffix === "" ? [] : [name])));
  return new Map(found.filter(({ name }) => several.has(name)).map(({ id, name }) => [id, name]));
}

const SUFFIXED = /^([^ ]+ \([^)]*\) kubernetes\/[^/ ]+)(\/.+)?$/;

export function isSameObject(a: RecordedWrite, b: RecordedWrite): boolean {
  return (
    a.name === b.name &&
    a.namespace === b.namespace &&
    a.resource === b.resource &&
    a.group === b.group
  );
}

/** Lists and watches of before, the newest first, each that repeats another one left out. */
function newestOfEach(reads: readonly RecordedRead[], untilMs: number): RecordedRead[] {
  const found = new Map<string, RecordedRead>();
  for (let at = reads.length - 1; at >= 0 && found.size < LISTS_MAX; at--) {
    const read = reads[at] as RecordedRead;
    const key = [typeOf(read), read.namespace, read.name, read.selector].join("\n");
    if (Date.parse(read.time) <= untilMs && !found.has(key)) found.set(key, read);
  }
  return [...found.values()];
}

function typeOf({ group, resource }: Pick<RecordedWrite, "group" | "resource">): string {
  return `${group}/${resource}`;
}

/** Whether a list, or a watch as it began, had what the write made. */
function showed(read: RecordedRead, write: RecordedWrite): boolean {
  return (
    write.revision !== "" &&
    Number(write.revision) <= Number(read.fromRevision) &&
    covers(read, write)
  );
}

function covers(read: RecordedRead, write: RecordedWrite): boolean {
  return (
    read.resource === write.resource &&
    read.group === write.group &&
    (read.namespace === "" || read.namespace === write.namespace) &&
    (read.name === "" || read.name === write.name)
  );
}

function push<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}
