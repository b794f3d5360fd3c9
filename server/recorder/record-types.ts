/**
 * What the recorder keeps and answers, as JSON: the contract between the server, the commands that ask it and the
 * console. Times are RFC 3339 with milliseconds, revisions decimal texts, "" = none. There is no value of any
 * object in it.
 *
 *   recorder.ts        takes what happens           record-endpoints.ts   answers, with the rights of who asks
 *   records.ts, byte-ring.ts, delivery-ring.ts, clients.ts  keep it, bounded
 *   links.ts, blame.ts, loops.ts                    pure: what follows from it
 */
import type { NamedCause } from "../request/write-notes.js";

export const RECORD_PATH = "/debug/record";

export type WriteOutcome =
  | "created"
  | "changed"
  /** The store held it already. */
  | "unchanged"
  /** Its deletion has begun; finalizers or time hold it. */
  | "marked"
  | "deleted"
  | "conflict"
  | "refused";

export interface RecordedClient {
  /** Unique among the replicas. */
  readonly id: string;
  readonly user: string;
  /** The header User-Agent; of the server's own loops "keelson" and the name of the loop. */
  readonly agent: string;
  /** Without the port; "" = this server. */
  readonly address: string;
}

export interface RecordedWrite {
  /** Unique among the replicas. */
  readonly id: string;
  /** "" = nothing was stored. */
  readonly revision: string;
  /** Of the object that was there; "" = none, or it is not known. */
  readonly previousRevision: string;
  /** When its outcome was known. */
  readonly time: string;
  readonly receivedTime: string;
  /** A `RecordedClient.id`. */
  readonly client: string;
  /** Counts the connections of the replica; 0 = none. */
  readonly connection: number;
  /** create, update, patch, apply, delete, deletecollection */
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Uids of its owners. */
  readonly owners: readonly string[];
  readonly fieldManager: string;
  readonly outcome: WriteOutcome;
  readonly status: number;
  /** Of a refusal: "Conflict", "Invalid". */
  readonly reason: string;
  readonly changedAnything: boolean;
  /** "spec.containers[0].image"; of a refusal the fields that it names. Empty for a create: all of them. */
  readonly changedPaths: readonly string[];
  /** Whether there are more of them. */
  readonly morePaths: boolean;
  /** The revision of the object that the write itself says it was made upon. */
  readonly base: string;
  readonly causes: readonly NamedCause[];
}

export interface RecordedRead {
  readonly id: string;
  readonly verb: "watch" | "list";
  readonly client: string;
  readonly connection: number;
  readonly group: string;
  readonly resource: string;
  /** "" = all namespaces. */
  readonly namespace: string;
  /** One object's; "" = all. */
  readonly name: string;
  /** Label and field selector as they were asked; of confidential kinds a digest that only tells it from others. */
  readonly selector: string;
  readonly time: string;
  /** "" = it is open. */
  readonly endTime: string;
  /** The state that it began with. */
  readonly fromRevision: string;
  /** The newest event that went out. */
  readonly upToRevision: string;
  readonly upToTime: string;
  /** How many events went out. */
  readonly events: number;
  readonly status: number;
}

/** An event that went out to a watch. */
export interface Delivery {
  /** A `RecordedRead.id`. */
  readonly read: string;
  readonly revision: string;
  readonly time: string;
}

/** What a write may have to do with an earlier one. */
export interface Link {
  /** The later write. */
  readonly write: string;
  /** The earlier one; "" = it is not kept any more. */
  readonly to: string;
  /** Of the earlier one. */
  readonly revision: string;
  /** exact: the write itself says so. */
  readonly certainty: "exact" | "candidate";
  /** Of an exact one: "resourceVersion", "precondition", or the cause that names itself. */
  readonly by: string;
  readonly reasons: readonly string[];
  /** When the earlier one was delivered to the writer; "" = not by a watch that is recorded. */
  readonly deliveredTime: string;
  /** The watch that delivered it. */
  readonly read: string;
  /** Of candidates: 1 = the likeliest. */
  readonly rank: number;
}

export interface ReplicaAsked {
  /** "host:port" */
  readonly address: string;
  readonly isAsked: boolean;
  /** Why it could not be asked. */
  readonly problem: string;
}

export interface RecordStatus {
  readonly kind: "RecordStatus";
  readonly replica: string;
  /** Since when nothing is forgotten. */
  readonly since: string;
  readonly writes: number;
  readonly reads: number;
  readonly deliveries: number;
  readonly bytes: number;
  readonly bytesMax: number;
  /** Records that the directory did not take. */
  readonly dropped: number;
  readonly replicas: readonly ReplicaAsked[];
}

/** What was recorded, merged of all replicas that answered. */
export interface Records {
  readonly replicas: readonly ReplicaAsked[];
  /** How many of all records the asker may not read; 0 where the question names objects or writers. */
  readonly hidden: number;
  readonly clients: readonly RecordedClient[];
  /** In the order of revisions; what has none by time. */
  readonly writes: readonly RecordedWrite[];
  readonly reads: readonly RecordedRead[];
  readonly deliveries: readonly Delivery[];
}

export interface Timeline extends Records {
  readonly kind: "Timeline";
  readonly replica: string;
  /** For `after` of the next question. */
  readonly next: string;
  readonly links: readonly Link[];
}

export interface ExplainedStep {
  /** The id of the write. */
  readonly write: string;
  /** The id of the write that the next step explains; "" = the chain ends. */
  readonly followed: string;
  readonly exact: readonly Link[];
  readonly candidates: readonly Link[];
}

export interface Explanation {
  readonly kind: "Explanation";
  readonly replicas: readonly ReplicaAsked[];
  readonly hidden: number;
  readonly clients: readonly RecordedClient[];
  readonly steps: readonly ExplainedStep[];
  /** Those that the steps and their links name. */
  readonly writes: readonly RecordedWrite[];
  readonly reads: readonly RecordedRead[];
  /** Why the chain ends: nothing led to its last write; what did is not kept any more; it is too long. */
  readonly end: "outer" | "forgotten" | "limit";
}

export interface BlamedField {
  readonly path: string;
  /** "" = nobody owns it. */
  readonly manager: string;
  /** "Apply" or "Update". */
  readonly operation: string;
  readonly subresource: string;
  /** The id of the write that changed it last; "" = not kept. */
  readonly write: string;
  readonly revision: string;
  readonly time: string;
  readonly user: string;
  readonly agent: string;
  readonly how: "recorded" | "managed" | "server";
}

export interface Blame {
  readonly kind: "Blame";
  readonly replicas: readonly ReplicaAsked[];
  /** The object as it is, with what the caller may read. */
  readonly object: object;
  /** In the order of the object. */
  readonly fields: readonly BlamedField[];
}

export interface HotLoop {
  readonly type: "no-change" | "fight" | "relist";
  /** Ids of the clients. */
  readonly clients: readonly string[];
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** Of a fight. */
  readonly path: string;
  readonly count: number;
  readonly perSecond: number;
  readonly fromTime: string;
  readonly toTime: string;
  /** One sentence. */
  readonly message: string;
}

export interface Loops {
  readonly kind: "Loops";
  readonly replicas: readonly ReplicaAsked[];
  readonly hidden: number;
  readonly clients: readonly RecordedClient[];
  readonly loops: readonly HotLoop[];
}
