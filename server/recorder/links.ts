/**
 * Links: what a write has to do with earlier ones. Exact is what the write says itself: that it was made upon a
 * revision, or, of the server's own loops, because of which object. Everything else that its client had seen
 * before is a candidate, in an order, with the reasons. Pure.
 */
import type { RecordIndex, Seen } from "./record-index.js";
import { isSameObject } from "./record-index.js";
import type { Link, RecordedWrite } from "./record-types.js";

export interface Links {
  readonly exact: readonly Link[];
  /** The likeliest first. */
  readonly candidates: readonly Link[];
  /** The first candidate where it is likely enough to go on with. */
  readonly likely: RecordedWrite | undefined;
}

/** Whether the text of one object has the name of another; asked of objects that are still there. */
export type Names = (object: RecordedWrite, name: string) => boolean;

export const NAMES_NOTHING: Names = () => false;

const CANDIDATES_MAX = 20;
/** Candidates whose texts are looked at. */
const READ_MAX = 64;

/** How much a reason weighs against a tenfold of time. */
const WEIGHTS = { owner: 7, sameObject: 6, sibling: 4, names: 5, named: 4, namespace: 2, own: -1 };
/** A candidate is followed with a reason of its own, or where nothing lies between. */
const LIKELY_WEIGHT = 4;
const NEAR_MS = 1_000;

export function linksOf(index: RecordIndex, write: RecordedWrite, names: Names): Links {
  const exact = [...namedLinks(index, write), ...baseLinks(index, write)];
  const told = new Set(exact.map(({ to }) => to));
  const judged = index
    .seenBefore(write)
    .filter(({ write: other }) => !told.has(other.id) && isBefore(other, write))
    .map((seen) => judge(index, write, seen))
    // A loop of the server sees everything: only what has to do with the object says something.
    .filter(({ seen, weight }) => seen.read !== undefined || weight > 0);
  judged.sort(byScore);
  const read = judged.slice(0, READ_MAX).map((each) => withNames(index, each, write, names));
  const best = [...read.sort(byScore), ...judged.slice(READ_MAX)].slice(0, CANDIDATES_MAX);
  const [first] = best;
  return {
    exact,
    candidates: best.map((each, at) => toLink(write, each, at + 1)),
    likely: first !== undefined && isLikely(first) ? first.seen.write : undefined,
  };
}

/** What the server's own parts say of themselves. */
function namedLinks(index: RecordIndex, write: RecordedWrite): Link[] {
  return write.causes.flatMap(({ by, name, object }) => {
    if (object === undefined || object.uid === "") return [];
    const { uid } = object;
    const ending = index.lastOf(uid, write, ({ outcome }) => ENDINGS.has(outcome));
    const to = ending ?? index.lastOf(uid, write, ({ changedAnything }) => changedAnything);
    const what = `${object.resource} ${[object.namespace, object.name].filter(Boolean).join("/")}`;
    const reason = name === "" ? what : `${what}: ${name}`;
    return [exactLink(write, { to, by, reasons: [reason] })];
  });
}

const ENDINGS: ReadonlySet<string> = new Set(["deleted", "marked"]);

/** The state of its object that the write names. */
function baseLinks(index: RecordIndex, write: RecordedWrite): Link[] {
  const { base, verb } = write;
  if (base === "") return [];
  const to = index.stateOf(write, base);
  const delivery = index.deliveryOf(write, base);
  const by = verb === "delete" ? "precondition" : "resourceVersion";
  const seen =
    delivery === undefined ? "it names this revision" : "it names this revision, which it was sent";
  const link = exactLink(write, { to, by, reasons: [seen] });
  return [
    {
      ...link,
      revision: base,
      ...(delivery && { deliveredTime: toTime(delivery.atMs), read: delivery.read?.id ?? "" }),
    },
  ];
}

function exactLink(
  write: RecordedWrite,
  { to, by, reasons }: Pick<Link, "by" | "reasons"> & { readonly to: RecordedWrite | undefined },
): Link {
  return {
    write: write.id,
    to: to?.id ?? "",
    revision: to?.revision ?? "",
    certainty: "exact",
    by,
    reasons,
    deliveredTime: "",
    read: "",
    rank: 0,
  };
}

interface Judged {
  readonly seen: Seen;
  /** By the client of the write. */
  readonly isOwn: boolean;
  readonly reasons: readonly string[];
  /** Of its reasons alone. */
  readonly weight: number;
  readonly ageMs: number;
  readonly score: number;
}

function judge(index: RecordIndex, write: RecordedWrite, seen: Seen): Judged {
  const { write: other } = seen;
  const reasons: string[] = [];
  let weight = 0;
  const add = (points: number, reason: string) => {
    reasons.push(reason);
    weight = Math.max(weight, points);
  };
  if (isSameObject(write, other)) add(WEIGHTS.sameObject, "the same object");
  if (write.owners.includes(other.uid)) add(WEIGHTS.owner, "it owns the object");
  if (other.owners.includes(write.uid)) add(WEIGHTS.owner, "the object owns it");
  if (write.owners.some((uid) => other.owners.includes(uid))) {
    add(WEIGHTS.sibling, "both have the same owner");
  }
  if (isNamedAfter(write.name, other.name)) add(WEIGHTS.named, "the object is named after it");
  if (isNamedAfter(other.name, write.name)) add(WEIGHTS.named, "it is named after the object");
  if (write.namespace !== "" && write.namespace === other.namespace) {
    add(WEIGHTS.namespace, "the same namespace");
  }
  const isOwn = index.isSameClient(write, other);
  if (isOwn) {
    reasons.push("the writer's own write");
    weight += WEIGHTS.own;
  }
  return scored({
    seen,
    isOwn,
    reasons,
    weight,
    ageMs: Date.parse(write.receivedTime) - seen.atMs,
  });
}

/** Adds what the texts of the two objects say. */
function withNames(index: RecordIndex, judged: Judged, write: RecordedWrite, names: Names): Judged {
  const { write: other } = judged.seen;
  const weight = WEIGHTS.names + (judged.isOwn ? WEIGHTS.own : 0);
  if (judged.weight >= weight) return judged;
  const refers = (from: RecordedWrite, { name, uid }: RecordedWrite) =>
    names(from, name) && !index.hasOtherOwnerNamed(name, uid, from);
  const reasons = [
    ...(refers(write, other) ? ["the object refers to it by name"] : []),
    ...(refers(other, write) ? ["it refers to the object by name"] : []),
  ];
  if (reasons.length === 0) return judged;
  return scored({ ...judged, reasons: [...reasons, ...judged.reasons], weight });
}

function scored(judged: Omit<Judged, "score">): Judged {
  return { ...judged, score: judged.weight - Math.log10(1 + Math.max(0, judged.ageMs)) };
}

function byScore(a: Judged, b: Judged): number {
  return (
    b.score - a.score ||
    b.seen.atMs - a.seen.atMs ||
    Number(b.seen.write.revision) - Number(a.seen.write.revision)
  );
}

function isLikely({ weight, ageMs }: Judged): boolean {
  return weight >= LIKELY_WEIGHT || (weight >= WEIGHTS.namespace && ageMs <= NEAR_MS);
}

function toLink(write: RecordedWrite, { seen, reasons, ageMs }: Judged, rank: number): Link {
  return {
    write: write.id,
    to: seen.write.id,
    revision: seen.write.revision,
    certainty: "candidate",
    by: "",
    reasons: [...reasons, `delivered ${Math.max(0, ageMs)} ms before`],
    deliveredTime: toTime(seen.atMs),
    read: seen.read?.id ?? "",
    rank,
  };
}

/** A write is never led by one that was stored behind it. */
function isBefore(other: RecordedWrite, write: RecordedWrite): boolean {
  if (other.revision === "") return false;
  return write.revision === "" || Number(other.revision) < Number(write.revision);
}

/** "web-5d4f" after "web" */
function isNamedAfter(name: string, other: string): boolean {
  return (
    other !== "" &&
    name.length > other.length &&
    name.startsWith(other) &&
    /[-.]/.test(name[other.length] ?? "")
  );
}

function toTime(atMs: number): string {
  return new Date(atMs).toISOString();
}
