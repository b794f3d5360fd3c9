/**
 * CompressedRuns: a cache of compressed parts of lists, so that many clients listing the same collection
 * cost copying instead of compressing. A *run* is a sequence of neighbours in key order. The objects
 * themselves determine where a run ends, so a changed object invalidates only its own run, and lists with
 * different starts share runs:
 *
 *   keys        a  b  c  d  e  f  g  h  i        c, f and i end their runs
 *   whole list  [a  b  c][d  e  f][g  h  i]      three runs
 *   pages of 4  [a  b  c][d]|[e  f][g  h]|[i]    the first is known, the cut ones are runs of their own
 *   e changes   [a  b  c][d  e' f][g  h  i]      one run is made again
 *
 * A run is identified by its form and its first and last key, and is valid while its objects have the same
 * revisions. Forms that show ages are valid within their second.
 *
 * Bounded by bytes. Runs that were not used lately are evicted; if all are in use, the new run is not kept,
 * so that a list larger than the bound still finds part of itself. What a herd of clients has left is
 * forgotten soon: most of it is of objects that have changed since.
 */
import { type Clock, runAtIntervals } from "../../../storage/base/clock.js";
import { type Share, SharedBytes } from "../../../storage/base/shared-bytes.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { deflatePiece, type GzipPiece } from "../../response/gzip-member.js";
import type { ChunkWriter } from "../chunk-writer.js";
import type { Representation } from "../representation.js";

export const COMPRESSED_RUNS_BYTES_MAX = 24 * 1024 * 1024;
/** A run that was not used for so long is forgotten. */
const IN_USE_MS = 20_000;
const FORGETTING_INTERVAL_MS = 5_000;
/** Maximum number of objects in a run. */
const RUN_OBJECTS_MAX = 1_000;
/** The target of stored bytes in a run, and the maximum for a run of more than one object. */
const RUN_BYTES = 64 * 1024;
const RUN_BYTES_MAX = 16 * RUN_BYTES;
/** Key, map slot and objects of a run besides its bytes. */
const RUN_OVERHEAD_BYTES = 500;

/** Neighbours in key order, in one form. */
export interface RunOfObjects {
  readonly representation: Representation;
  readonly objects: readonly StoredObject[];
  /** Whether the run begins its list; some forms then have no separator. */
  readonly isFirst: boolean;
}

interface Run extends GzipPiece {
  readonly revisions: Float64Array;
  /** The wall-clock second in which it was made. */
  readonly second: number;
  usedAtMs: number;
}

/** Counters for the metrics endpoint. */
export interface RunCounts {
  /** Runs found in the cache. */
  reused: number;
  /** Runs that had to be compressed. */
  made: number;
}

export interface CompressedRunsOptions {
  readonly bytesMax?: number;
  /** What they count in; default: they are alone. */
  readonly memory?: SharedBytes;
  /** Wall clock in milliseconds, used for ages. */
  now?(): number;
}

export class CompressedRuns {
  readonly counts: RunCounts = { reused: 0, made: 0 };
  readonly #bytesMax: number;
  readonly #now: () => number;
  /** In order of last use. */
  readonly #runs = new Map<string, Run>();
  /** Runs being compressed; requests for the same run share the promise. */
  readonly #making = new Map<string, Promise<Run>>();
  readonly #formIds = new WeakMap<Representation, number>();
  #forms = 0;
  readonly #memory: SharedBytes;
  readonly #share: Share;

  constructor({
    bytesMax = COMPRESSED_RUNS_BYTES_MAX,
    memory = new SharedBytes(bytesMax),
    now = Date.now,
  }: CompressedRunsOptions = {}) {
    this.#bytesMax = bytesMax;
    this.#memory = memory;
    this.#share = memory.open((bytes) => this.#shrink(bytes));
    this.#now = now;
  }

  /** Bytes of all cached runs. */
  get bytes(): number {
    return this.#share.bytes;
  }

  /**
   * Returns the compressed run; a promise only if it has to be made.
   * @param epoch changes when equal revisions may stand for other objects
   * @param scratch holds the text; nobody else may use it until the promise resolves
   * @throws {StatusError} from the representation, for an object that it cannot show
   */
  get(run: RunOfObjects, epoch: number, scratch: ChunkWriter): GzipPiece | Promise<GzipPiece> {
    const { representation, objects, isFirst } = run;
    const nowMs = this.#now();
    const second = Math.floor(nowMs / 1000);
    const form = this.#formId(representation);
    const first = objects[0]?.path;
    const last = objects[objects.length - 1]?.path;
    const key = `${form} ${epoch} ${isFirst ? "first " : ""}${first} ${last}`;
    const known = this.#runs.get(key);
    if (known !== undefined && isGood(known, run, second)) {
      this.counts.reused++;
      known.usedAtMs = nowMs;
      this.#runs.delete(key);
      this.#runs.set(key, known);
      return known;
    }
    const making = this.#making.get(key);
    return making === undefined
      ? this.#start(key, run, second, scratch)
      : making.then((made) =>
          isGood(made, run, second) ? made : this.#make(run, second, scratch),
        );
  }

  #start(key: string, run: RunOfObjects, second: number, scratch: ChunkWriter): Promise<GzipPiece> {
    const made = this.#make(run, second, scratch);
    this.#making.set(key, made);
    const forget = () => {
      if (this.#making.get(key) === made) this.#making.delete(key);
    };
    made.then((result) => {
      forget();
      this.#keep(key, result);
    }, forget);
    return made;
  }

  /** Forgets runs that nobody uses any more, until aborted. */
  run(clock: Clock, signal: AbortSignal): Promise<void> {
    const intervals = { clock, intervalMs: FORGETTING_INTERVAL_MS };
    return runAtIntervals(intervals, () => this.forgetUnused(), signal);
  }

  forgetUnused(): void {
    const untilMs = this.#now() - IN_USE_MS;
    for (const [key, { usedAtMs }] of this.#runs) {
      if (usedAtMs > untilMs) return;
      this.#drop(key);
    }
  }

  async #make(run: RunOfObjects, second: number, scratch: ChunkWriter): Promise<Run> {
    const { representation, objects, isFirst } = run;
    this.counts.made++;
    scratch.reset();
    const revisions = new Float64Array(objects.length);
    for (const [index, object] of objects.entries()) {
      representation.putItem(scratch, object, isFirst && index === 0);
      revisions[index] = object.revision;
    }
    // If the second passed meanwhile, ages may differ: the run is then used for this answer only.
    const isOneSecond = Math.floor(this.#now() / 1000) === second;
    const piece = await deflatePiece(scratch.peek());
    return { ...piece, revisions, second: isOneSecond ? second : -1, usedAtMs: this.#now() };
  }

  #keep(key: string, run: Run): void {
    this.#drop(key);
    const cost = costOf(run);
    const isIdleBefore = run.usedAtMs - IN_USE_MS;
    for (const [oldest, { usedAtMs }] of this.#runs) {
      if (this.bytes + cost <= this.#bytesMax || usedAtMs >= isIdleBefore) break;
      this.#drop(oldest);
    }
    if (this.bytes + cost > this.#bytesMax) return;
    this.#runs.set(key, run);
    this.#share.add(cost);
    this.#memory.settle();
  }

  #shrink(bytesMax: number): void {
    for (const key of this.#runs.keys()) {
      if (this.bytes <= bytesMax) return;
      this.#drop(key);
    }
  }

  #drop(key: string): void {
    const run = this.#runs.get(key);
    if (run === undefined) return;
    this.#runs.delete(key);
    this.#share.add(-costOf(run));
  }

  #formId(representation: Representation): number {
    let id = this.#formIds.get(representation);
    if (id === undefined) {
      id = this.#forms++;
      this.#formIds.set(representation, id);
    }
    return id;
  }
}

function isGood(run: Run, { representation, objects }: RunOfObjects, second: number): boolean {
  const { revisions } = run;
  if (revisions.length !== objects.length) return false;
  if (representation.isTimed && run.second !== second) return false;
  for (let i = 0; i < revisions.length; i++) {
    if (revisions[i] !== objects[i]?.revision) return false;
  }
  return true;
}

function costOf({ deflated, revisions }: Run): number {
  return deflated.length + revisions.byteLength + RUN_OVERHEAD_BYTES;
}

/** Gathers objects into runs. */
export class RunGatherer {
  #objects: StoredObject[] = [];
  #bytes = 0;

  /** @returns the run that ends with this object */
  add(object: StoredObject): readonly StoredObject[] | undefined {
    this.#objects.push(object);
    this.#bytes += object.length;
    const isOver =
      endsRun(object) || this.#objects.length >= RUN_OBJECTS_MAX || this.#bytes >= RUN_BYTES_MAX;
    return isOver ? this.take() : undefined;
  }

  /** The objects after the last run; empty if a run has just ended. */
  take(): readonly StoredObject[] {
    const objects = this.#objects;
    this.#objects = [];
    this.#bytes = 0;
    return objects;
  }
}

/**
 * Whether a run ends after this object: pseudo-random by its key, with a probability that grows with its
 * size, so that runs have similar sizes. Sizes are rounded to powers of two, so that small growth does not
 * move run borders.
 */
function endsRun({ path, length }: StoredObject): boolean {
  const size = 2 ** (31 - Math.clz32(length | 1));
  return hash(path) < (size / RUN_BYTES) * 2 ** 32;
}

/** FNV-1a with a final mix, because its high bits vary too little for short strings. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
