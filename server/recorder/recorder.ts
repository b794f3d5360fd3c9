/**
 * Recorder: keeps what clients wrote and what had been delivered to them, for the question why something happened.
 * The loop of all writes, the request chain and the watches tell it; it keeps the newest within a budget of bytes
 * and no value of any object. What follows from its records is worked out when somebody asks.
 */
import { createHmac, randomBytes } from "node:crypto";
import type { Revision } from "../../storage/kv/store.js";
import type { ApiObject } from "../api/meta.js";
import type { RecordedWatch, WatchRecorder } from "../endpoints/reads/watch.js";
import { mainOf, type StoredResource } from "../kinds/served-resource.js";
import type { WriteRecorder, WrittenObject } from "../registry/registry.js";
import type { SignalSource } from "../request/lazy-signal.js";
import { isReadOnly, type RequestInfo } from "../request/request-info.js";
import type { RequestContext } from "../request/request-state.js";
import { bracket, gate, passAll, type RequestStep } from "../request/step.js";
import { SERVER_USER } from "../request/user-info.js";
import { notesOf, WriteNotes } from "../request/write-notes.js";
import { ByteRing } from "./byte-ring.js";
import { Clients, type Sender } from "./clients.js";
import { DeliveryRing } from "./delivery-ring.js";
import type { KeptRead, KeptWrite } from "./kept.js";
import type { WriteOutcome } from "./record-types.js";
import type { Restored } from "./restored.js";
import { NO_PATHS, type WrittenPaths, writtenPaths } from "./written-paths.js";

export interface RecorderOptions {
  /** Names this replica in ids. */
  readonly replica: string;
  /** Of before this process; absent = nothing is known of it. */
  readonly restored?: Restored | undefined;
  readonly bytesMax: number;
  /** Milliseconds since 1970, with fractions. */
  readonly now: () => number;
  /** Whether names of keys of these objects may say something: Secrets, and what is encrypted at rest. */
  readonly isConfidential: (resource: {
    readonly group: string;
    readonly resource: string;
  }) => boolean;
  /** The view's revision. */
  readonly revision: () => number;
}

/** Of the budget; the rest is for writes. */
const DELIVERIES_SHARE = 0.2;
const READS_SHARE = 0.1;
/** Of a record with its numbers and its texts that others share. */
const WRITE_BYTES = 320;
const READ_BYTES = 240;
const SELECTOR_CHARS_MAX = 256;
/** Of a selector's digest, which tells it from others. */
const DIGEST_CHARS = 8;
const MARKED: WrittenPaths = { paths: ["metadata.deletionTimestamp"], hasMore: false };

export class Recorder implements WriteRecorder, WatchRecorder {
  readonly writes: ByteRing<KeptWrite>;
  readonly reads: ByteRing<KeptRead>;
  readonly deliveries: DeliveryRing;
  /** Since when it records, as far as it knows. */
  startedAtMs: number;
  /** Around recovery: sees what is refused. */
  readonly outer: RequestStep;
  /** Behind authentication: what is known of a write begins. */
  readonly inner: RequestStep;
  readonly #options: RecorderOptions;
  readonly #clients: Clients;
  /** Nobody else has it: digests of guessed selectors do not help. */
  readonly #digestKey = randomBytes(32);
  #writeCount = 0;
  #readCount = 0;

  constructor(options: RecorderOptions) {
    const { bytesMax, replica, now } = options;
    this.#options = options;
    this.writes = new ByteRing(bytesMax * (1 - DELIVERIES_SHARE - READS_SHARE));
    this.reads = new ByteRing(bytesMax * READS_SHARE);
    this.deliveries = new DeliveryRing(bytesMax * DELIVERIES_SHARE);
    this.#clients = new Clients(replica);
    this.startedAtMs = this.#restore(options.restored) ?? now();
    this.inner = gate((ctx) => this.#begin(ctx));
    this.outer = bracket(passAll, (ctx, failure) => {
      this.#end(ctx);
      return failure;
    });
  }

  /** Takes what was recorded before. @returns when it began */
  #restore(restored: Restored | undefined): number | undefined {
    if (restored === undefined || restored.numbersTaken === 0) return undefined;
    const { clients, writes, reads, deliveries, numbersTaken } = restored;
    this.#clients.restore(clients, numbersTaken);
    this.#writeCount = numbersTaken;
    this.#readCount = numbersTaken;
    for (const read of reads) this.reads.push(read, bytesOfRead(read));
    for (const write of writes) this.writes.push(write, bytesOfWrite(write));
    for (const numbers of deliveries) this.deliveries.pushAll(numbers);
    return writes[0]?.atMs ?? reads[0]?.atMs;
  }

  /** What was recorded before speaks of another store, or of a state that this one has left. */
  forgetRestored(): void {
    const { restored, now } = this.#options;
    const isNew = ({ number }: KeptWrite | KeptRead) => number > (restored?.numbersTaken ?? 0);
    this.writes.retain(isNew);
    this.reads.retain(isNew);
    this.startedAtMs = this.writes.oldest?.atMs ?? now();
  }

  get replica(): string {
    return this.#options.replica;
  }

  get bytes(): number {
    return this.writes.bytes + this.reads.bytes + this.deliveries.bytes;
  }

  get bytesMax(): number {
    return this.#options.bytesMax;
  }

  wrote(resource: StoredResource, written: WrittenObject, signal: SignalSource): void {
    const notes = notesOf(signal);
    const { namespace, object, previousRevision, revision } = written;
    const { group, version, resource: plural } = mainOf(resource);
    const atMs = this.#options.now();
    const request = notes instanceof RequestNotes ? notes.ctx : undefined;
    const { outcome, status } = outcomeOf(written);
    const verb =
      request === undefined ? verbOf(written, outcome) : verbIn(request.state.info, notes);
    const { paths, hasMore } = this.#pathsOf(resource, written, outcome);
    if (notes !== undefined) notes.writes++;
    const { metadata } = object;
    const { client, connection } = this.#senderOf(request, notes);
    // All members in one literal: with a spread in front each of them would be added by itself.
    this.#add({
      client,
      connection,
      number: ++this.#writeCount,
      revision: outcome === "unchanged" ? 0 : revision,
      previousRevision: previousRevision ?? 0,
      atMs,
      receivedAtMs: request === undefined ? atMs : ORIGIN_MS + request.state.receivedAtMs,
      verb,
      group,
      version: request?.state.info.version ?? version,
      resource: plural,
      subresource: request?.state.info.subresource ?? "",
      namespace,
      name: metadata.name ?? "",
      uid: metadata.uid ?? "",
      owners: ownersOf(object),
      fieldManager: notes?.fieldManager ?? "",
      outcome,
      status,
      reason: "",
      changedPaths: paths,
      morePaths: hasMore,
      base: Number(notes?.base ?? ""),
      causes: this.#causesOf(resource, request, notes),
    });
  }

  opened(ctx: RequestContext, resource: StoredResource, from: Revision): RecordedWatch {
    const { group, resource: plural } = mainOf(resource);
    const read = this.#addRead(ctx, { verb: "watch", group, resource: plural, from });
    const { deliveries } = this;
    const { now } = this.#options;
    return {
      sent(revision) {
        const atMs = now();
        read.upTo = revision;
        read.upToAtMs = atMs;
        read.events++;
        deliveries.push(read.number, revision, atMs);
      },
      closed() {
        read.endedAtMs = now();
      },
    };
  }

  #begin(ctx: RequestContext): undefined {
    const { info } = ctx.state;
    if (info.isResourceRequest && !isReadOnly(info)) ctx.state.notes = new RequestNotes(ctx);
    return undefined;
  }

  #end(ctx: RequestContext): void {
    const { state } = ctx;
    const info = state.infoIfKnown;
    if (info?.isResourceRequest !== true || state.userIfKnown === undefined) return;
    const status = ctx.respond === false ? ctx.res.statusCode : ctx.status;
    const { notes } = state;
    if (notes === undefined) {
      // Further pages belong to the list before them.
      if (info.verb === "list" && !info.query.has("continue")) this.#listed(ctx, info, status);
    } else if (status >= 400 && notes.writes === 0 && !info.query.has("dryRun")) {
      this.#refused(ctx, info, notes, status);
    }
  }

  #listed(ctx: RequestContext, { group, resource }: RequestInfo, status: number): void {
    const from = this.#options.revision();
    const read = this.#addRead(ctx, { verb: "list", group, resource, from });
    read.status = status;
    read.endedAtMs = read.atMs;
  }

  #refused(ctx: RequestContext, info: RequestInfo, notes: WriteNotes, status: number): void {
    const { state } = ctx;
    const { reason = "", details } = state.failure ?? {};
    // The messages quote values.
    const fields = (details?.causes ?? []).flatMap(({ field = "" }) =>
      field === "" ? [] : [field],
    );
    const isConfidential = this.#options.isConfidential(info);
    // A webhook's reason is any text.
    const isWebhooks = notes.causes.some(({ by }) => by === "admission-webhook");
    const { group, version, resource, subresource, namespace } = info;
    const { client, connection } = this.#senderOf(ctx, notes);
    this.#add({
      client,
      connection,
      number: ++this.#writeCount,
      revision: 0,
      previousRevision: 0,
      atMs: this.#options.now(),
      receivedAtMs: ORIGIN_MS + state.receivedAtMs,
      verb: verbIn(info, notes),
      group,
      version,
      resource,
      subresource,
      namespace,
      name: info.name || state.createdName,
      uid: "",
      owners: NO_OWNERS,
      fieldManager: notes.fieldManager,
      outcome: status === 409 && reason === "Conflict" ? "conflict" : "refused",
      status,
      reason: isConfidential && isWebhooks ? "" : reason,
      changedPaths: isConfidential ? [] : fields.slice(0, REFUSED_FIELDS_MAX).map(cut),
      morePaths: fields.length > REFUSED_FIELDS_MAX,
      base: Number(notes.base),
      causes: [...notes.causes],
    });
  }

  #senderOf(ctx: RequestContext | undefined, notes: WriteNotes | undefined): Sender {
    if (ctx !== undefined) return this.#clients.of(ctx);
    const [cause] = notes?.causes ?? [];
    const loop = cause?.by === "control-loop" ? cause.name : (cause?.by ?? "");
    return this.#clients.own(SERVER_USER.name, loop);
  }

  /** What names itself; of confidential kinds without paths. */
  #causesOf(
    resource: StoredResource,
    request: RequestContext | undefined,
    notes: WriteNotes | undefined,
  ): KeptWrite["causes"] {
    const { group, version, codec, storedCodec, conversion } = mainOf(resource);
    const isConverted = request !== undefined && codec !== storedCodec;
    if (notes === undefined || (!isConverted && notes.causes.length === 0)) return NO_CAUSES;
    const isConfidential = this.#options.isConfidential(mainOf(resource));
    const causes = notes.causes.map(({ paths, ...cause }) => {
      return paths === undefined || isConfidential ? cause : { ...cause, paths };
    });
    if (!isConverted) return causes;
    const by = conversion?.remote === undefined ? "" : ", by its webhook";
    const asked = group === "" ? version : `${group}/${version}`;
    return [...causes, { by: "conversion", name: `from ${asked}${by}` }];
  }

  #pathsOf(
    resource: StoredResource,
    { before, object }: WrittenObject,
    outcome: WriteOutcome,
  ): WrittenPaths {
    if (outcome === "marked") return MARKED;
    if (before === undefined || outcome === "unchanged") return NO_PATHS;
    return writtenPaths(before, object, this.#options.isConfidential(mainOf(resource)));
  }

  #addRead(
    ctx: RequestContext,
    { from, ...about }: Pick<KeptRead, "verb" | "group" | "resource"> & { readonly from: number },
  ): KeptRead {
    const { info } = ctx.state;
    const atMs = this.#options.now();
    const { client, connection } = this.#clients.of(ctx);
    const { verb, group, resource } = about;
    const read: KeptRead = {
      client,
      connection,
      verb,
      group,
      resource,
      number: ++this.#readCount,
      namespace: info.namespace,
      name: info.name,
      selector: this.#selectorOf(info, about),
      atMs,
      endedAtMs: undefined,
      from,
      upTo: 0,
      upToAtMs: 0,
      events: 0,
      status: 200,
    };
    this.reads.push(read, bytesOfRead(read));
    return read;
  }

  /** Values of labels and fields are a part of it: of confidential kinds it is only told from others. */
  #selectorOf({ query }: RequestInfo, about: Pick<KeptRead, "group" | "resource">): string {
    if (query.isEmpty) return "";
    const parts = [query.get("labelSelector"), query.get("fieldSelector")];
    const selector = parts.filter((text) => text !== undefined && text !== "").join("; ");
    if (selector === "" || !this.#options.isConfidential(about)) {
      return selector.slice(0, SELECTOR_CHARS_MAX);
    }
    const digest = createHmac("sha256", this.#digestKey).update(selector).digest("hex");
    return `(confidential) ${digest.slice(0, DIGEST_CHARS)}`;
  }

  #add(write: KeptWrite): void {
    this.writes.push(write, bytesOfWrite(write));
  }
}

function bytesOfRead({ selector, namespace }: KeptRead): number {
  return READ_BYTES + selector.length + namespace.length;
}

function bytesOfWrite({ namespace, name, changedPaths, owners, causes }: KeptWrite): number {
  let bytes = WRITE_BYTES + namespace.length + name.length;
  for (const path of changedPaths) bytes += path.length + 16;
  return bytes + owners.length * 52 + causes.length * 200;
}

const REFUSED_FIELDS_MAX = 16;
const FIELD_CHARS_MAX = 256;

function cut(field: string): string {
  return field.slice(0, FIELD_CHARS_MAX);
}

/** Of monotonic time, in milliseconds since 1970. */
const ORIGIN_MS = performance.timeOrigin;
const NO_CAUSES: KeptWrite["causes"] = [];
const NO_OWNERS: KeptWrite["owners"] = [];

/** Of a request's write. */
class RequestNotes extends WriteNotes {
  readonly ctx: RequestContext;

  constructor(ctx: RequestContext) {
    super();
    this.ctx = ctx;
  }
}

function verbIn({ verb }: RequestInfo, notes: WriteNotes | undefined): string {
  return notes?.isApply === true ? "apply" : verb;
}

/** Of a loop's write, which asks for nothing by a verb. */
function verbOf({ action, previousRevision }: WrittenObject, outcome: WriteOutcome): string {
  if (action === "remove" || outcome === "marked") return "delete";
  return previousRevision === undefined ? "create" : "update";
}

/** Only a delete has no state of before besides what it marks. */
function outcomeOf({ action, previousRevision, before, object }: WrittenObject): {
  readonly outcome: WriteOutcome;
  readonly status: number;
} {
  if (action === "remove") return { outcome: "deleted", status: 200 };
  if (action === "same") return { outcome: "unchanged", status: 200 };
  if (previousRevision === undefined) return { outcome: "created", status: 201 };
  const isMarked = before === undefined && object.metadata.deletionTimestamp !== undefined;
  return { outcome: isMarked ? "marked" : "changed", status: 200 };
}

function ownersOf({ metadata: { ownerReferences } }: ApiObject): readonly string[] {
  return ownerReferences === undefined ? NO_OWNERS : ownerReferences.map(({ uid }) => uid);
}
