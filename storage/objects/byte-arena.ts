/**
 * ByteArena: the bytes of many objects in a few large buffers (*slabs*), because one buffer per object
 * costs 300 bytes beside its content. Bytes are appended and never moved or overwritten by the arena
 * itself; the garbage collector frees a slab when nothing refers to it any more.
 *
 * *Live* bytes are counted, so that sparse slabs can be emptied: the owner of their objects puts them
 * again, into the newest slab.
 *
 *   put a, b, c    slab 1 [a b c]          live 3
 *   put d, e       slab 1 [a b c] 2 [d e]
 *   drop a, b      slab 1 [. . c] 2 [d e]  slab 1 is sparse: live 1 of 3
 *   put c again    slab 2 [d e c]          slab 1 has nothing live and is forgotten
 */
import { assert } from "../base/assert.js";

/** A range of bytes in a shared buffer. */
export interface ByteRange {
  readonly memory: Buffer;
  readonly start: number;
  /** Behind the last byte. */
  readonly end: number;
}

interface Slab {
  used: number;
  live: number;
}

/** So much the allocator takes from the kernel for each slab, and gives back with it. */
const SLAB_BYTES = 256 * 1024;
/** Pieces above this share would waste too much of a slab: they get their own buffer. */
const PIECE_SHARE_MAX = 1 / 8;
/** A slab with less than this live is worth emptying. */
const SPARSE_SHARE = 0.6;
/** All slabs together may exceed their live bytes by this share, and a little more. */
const WASTE_SHARE = 0.35;
const WASTE_BYTES_MIN = 8 * SLAB_BYTES;
/** The first slab, in parts of a full one: 4 KiB. */
const FIRST_SHARE = 1 / 64;
const NO_SLAB = Buffer.alloc(0);

/** Stores bytes for the long term. */
export interface BytePlacer {
  put(bytes: Buffer): ByteRange;
  /** Room for so many bytes, for the caller to write at once. */
  reserve(length: number): ByteRange;
}

/** Slabs without accounting, for bytes that are freed in the order in which they came. */
export class Slabs implements BytePlacer {
  readonly #slabBytes: number;
  #newest = NO_SLAB;
  #used = 0;

  constructor(slabBytes = SLAB_BYTES) {
    this.#slabBytes = slabBytes;
  }

  /** The slab for the next bytes, if they fit. */
  get newest(): Buffer {
    return this.#newest;
  }

  put(bytes: Buffer): ByteRange {
    const { length } = bytes;
    if (this.#isLarge(length)) return { memory: bytes, start: 0, end: length };
    const place = this.reserve(length);
    bytes.copy(place.memory, place.start);
    return place;
  }

  reserve(length: number): ByteRange {
    if (this.#isLarge(length)) {
      return { memory: Buffer.allocUnsafeSlow(length), start: 0, end: length };
    }
    if (this.#used + length > this.#newest.length) {
      this.#newest = Buffer.allocUnsafeSlow(Math.max(this.#nextBytes(), length));
      this.#used = 0;
    }
    const start = this.#used;
    this.#used += length;
    return { memory: this.#newest, start, end: this.#used };
  }

  /** The first slabs are smaller: a process may hold a thousand registries of a few objects. */
  #nextBytes(): number {
    const least = this.#slabBytes * FIRST_SHARE;
    return Math.min(this.#slabBytes, Math.max(this.#newest.length * 2, least));
  }

  #isLarge(length: number): boolean {
    return length > this.#slabBytes * PIECE_SHARE_MAX;
  }
}

export class ByteArena implements BytePlacer {
  readonly #slabs = new Slabs();
  readonly #accounts = new Map<Buffer, Slab>();
  #live = 0;
  #used = 0;

  /** Bytes of all slabs that have live bytes. */
  get used(): number {
    return this.#used;
  }

  /** Live bytes in slabs. */
  get live(): number {
    return this.#live;
  }

  /** Whether enough is dead that emptying sparse slabs is worth the work. */
  get isWasteful(): boolean {
    return this.used - this.#live > WASTE_BYTES_MIN + this.#live * WASTE_SHARE;
  }

  /** Stores the bytes; they are live until their place is `dropped`. */
  put(bytes: Buffer): ByteRange {
    const before = this.#slabs.newest;
    return this.#counted(this.#slabs.put(bytes), before);
  }

  reserve(length: number): ByteRange {
    const before = this.#slabs.newest;
    return this.#counted(this.#slabs.reserve(length), before);
  }

  /** @param before the newest slab before the place was given */
  #counted(place: ByteRange, before: Buffer): ByteRange {
    const { memory } = place;
    // A large piece has a buffer of its own.
    if (memory !== this.#slabs.newest) return place;
    let account = this.#accounts.get(memory);
    if (account === undefined) {
      account = { used: 0, live: 0 };
      this.#accounts.set(memory, account);
      this.#used += memory.length;
      this.#forgetIfEmpty(before);
    }
    const length = place.end - place.start;
    account.used += length;
    account.live += length;
    this.#live += length;
    return place;
  }

  /** Ignores a place that is in none of its slabs. */
  dropped({ memory, start, end }: ByteRange): void {
    const account = this.#accounts.get(memory);
    if (account === undefined) return;
    account.live -= end - start;
    this.#live -= end - start;
    assert(account.live >= 0, "SlabHoldsWhatIsLive");
    if (memory !== this.#slabs.newest) this.#forgetIfEmpty(memory);
  }

  /** Whether the place is in a sparse slab, so that it should be put again. */
  isSparse({ memory }: ByteRange): boolean {
    const account = this.#accounts.get(memory);
    if (account === undefined || memory === this.#slabs.newest) return false;
    return account.live < account.used * SPARSE_SHARE;
  }

  #forgetIfEmpty(memory: Buffer): void {
    if (this.#accounts.get(memory)?.live !== 0) return;
    this.#accounts.delete(memory);
    this.#used -= memory.length;
  }
}
