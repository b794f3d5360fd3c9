/** Records as the recorder keeps them, and how they are shown. */
import type { Sender } from "./clients.js";
import type { KeptDelivery } from "./delivery-ring.js";
import type { Delivery, RecordedRead, RecordedWrite, WriteOutcome } from "./record-types.js";

type Shared =
  | "verb"
  | "group"
  | "version"
  | "resource"
  | "subresource"
  | "namespace"
  | "name"
  | "uid";

export interface KeptWrite
  extends Sender,
    Pick<RecordedWrite, Shared | "owners" | "fieldManager" | "status" | "reason">,
    Pick<RecordedWrite, "changedPaths" | "morePaths" | "causes"> {
  readonly number: number;
  /** 0 = none, here and below. */
  readonly revision: number;
  readonly previousRevision: number;
  readonly base: number;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly receivedAtMs: number;
  readonly outcome: WriteOutcome;
}

export interface KeptRead
  extends Sender,
    Pick<RecordedRead, "verb" | "group" | "resource" | "namespace" | "name" | "selector"> {
  readonly number: number;
  readonly atMs: number;
  readonly from: number;
  endedAtMs: number | undefined;
  upTo: number;
  upToAtMs: number;
  events: number;
  status: number;
}

const CHANGING: ReadonlySet<WriteOutcome> = new Set(["created", "changed", "marked", "deleted"]);

export function shownWrite(replica: string, write: KeptWrite): RecordedWrite {
  const { number, client, atMs, receivedAtMs, revision, previousRevision, base, ...same } = write;
  return {
    id: `${replica}-w${number}`,
    revision: toRevision(revision),
    previousRevision: toRevision(previousRevision),
    time: toTime(atMs),
    receivedTime: toTime(receivedAtMs),
    client: client.id,
    ...same,
    changedAnything: CHANGING.has(write.outcome),
    base: toRevision(base),
  };
}

export function shownRead(replica: string, read: KeptRead): RecordedRead {
  const { number, client, atMs, endedAtMs, from, upTo, upToAtMs, ...same } = read;
  return {
    id: readId(replica, number),
    ...same,
    client: client.id,
    time: toTime(atMs),
    endTime: endedAtMs === undefined ? "" : toTime(endedAtMs),
    fromRevision: toRevision(from),
    upToRevision: toRevision(upTo),
    upToTime: upTo === 0 ? "" : toTime(upToAtMs),
  };
}

export function shownDelivery(replica: string, delivery: KeptDelivery): Delivery {
  const { watch, revision, atMs } = delivery;
  return { read: readId(replica, watch), revision: toRevision(revision), time: toTime(atMs) };
}

function readId(replica: string, number: number): string {
  return `${replica}-r${number}`;
}

function toRevision(revision: number): string {
  return revision === 0 ? "" : String(revision);
}

function toTime(atMs: number): string {
  return new Date(atMs).toISOString();
}
