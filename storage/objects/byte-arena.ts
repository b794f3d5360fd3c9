/**
 * ByteArena: the bytes of many objects in few large memories (*slabs*), because a buffer for each costs 300
 * bytes beside what it holds. Bytes are put behind one another and never moved or overwritten by the
 * arena itself; a slab goes when nothing refers to it any more, which the garbage collector knows.
 *
 * What is *live* is counted, so that slabs of which little is left can be emptied: their objects are put
 * again, into the newest slab, by the one who knows them.
 *
 *   put a, b, c    slab 1 [a b c]          live 3
 *   put d, e       slab 1 [a b c] 2 [d e]
 *   drop a, b      slab 1 [. . c] 2 [d e]  slab 1 is sparse: live 1 of 3
 *   put c again    slab 2 [d e c]          slab 1 has nothing live and is forgotten
 */
import { assert } from "../base/assert.js";

/** Bytes in the middle of a memory that others share. */
export interface Place {
  readonly memory: Buffer;
  readonly start: number;
  /** Behind the last byte. */
  readonly end: number;
}

interface Slab {
  used: number;
  live: number;
}

const SLAB_BYTES = 256 * 1024;
/** Larger pieces would leave too much of a slab empty: they have a memory of their own. */
const PIECE_BYTES_MAX = SLAB_BYTES / 8;
/** A slab with less than this live is worth emptying. */
const SPARSE_SHARE = 0.6;
/** All slabs together may be so much larger than what is live in them, and a little more. */
const WASTE_SHARE = 0.35;
const WASTE_BYTES_MIN = 8 * SLAB_BYTES;
const NO_SLAB = Buffer.alloc(0);

/** Puts bytes somewhere to stay. */
export interface BytePlacer {
  put(bytes: Buffer): Place;
}

/** Slabs without an account: for what goes in the order in which it came. */
export class Slabs implements BytePlacer {
  #newest = NO_SLAB;
  #used = 0;

  /** The slab that the next bytes go into, if they fit. */
  get newest(): Buffer {
    return this.#newest;
  }

  put(bytes: Buffer): Place {
    const { length } = bytes;
    if (length > PIECE_BYTES_MAX) return { memory: bytes, start: 0, end: length };
    if (this.#used + length > this.#newest.length) {
      this.#newest = Buffer.allocUnsafeSlow(SLAB_BYTES);
      this.#used = 0;
    }
    const start = this.#used;
    this.#used += bytes.copy(this.#newest, start);
    return { memory: this.#newest, start, end: this.#used };
  }
}

export class ByteArena implements BytePlacer {
  readonly #slabs = new Slabs();
  readonly #accounts = new Map<Buffer, Slab>();
  #live = 0;

  /** Bytes of all slabs with something live in them. */
  get used(): number {
    return this.#accounts.size * SLAB_BYTES;
  }

  /** Bytes that are live in slabs. */
  get live(): number {
    return this.#live;
  }

  /** Whether so much is dead that emptying sparse slabs is worth the work. */
  get isWasteful(): boolean {
    return this.used - this.#live > WASTE_BYTES_MIN + this.#live * WASTE_SHARE;
  }

  /** The bytes at the place are live until they are `dropped`. */
  put(bytes: Buffer): Place {
    const before = this.#slabs.newest;
    const place = this.#slabs.put(bytes);
    const { memory } = place;
    if (memory === bytes) return place;
    let account = this.#accounts.get(memory);
    if (account === undefined) {
      account = { used: 0, live: 0 };
      this.#accounts.set(memory, account);
      this.#forgetIfEmpty(before);
    }
    account.used += bytes.length;
    account.live += bytes.length;
    this.#live += bytes.length;
    return place;
  }

  /** Nothing happens for a place that is in none of its slabs. */
  dropped({ memory, start, end }: Place): void {
    const account = this.#accounts.get(memory);
    if (account === undefined) return;
    account.live -= end - start;
    this.#live -= end - start;
    assert(account.live >= 0, "SlabHoldsWhatIsLive");
    if (memory !== this.#slabs.newest) this.#forgetIfEmpty(memory);
  }

  /** Whether the place is in a slab of which little is left, so that it should be put again. */
  isSparse({ memory }: Place): boolean {
    const account = this.#accounts.get(memory);
    if (account === undefined || memory === this.#slabs.newest) return false;
    return account.live < account.used * SPARSE_SHARE;
  }

  #forgetIfEmpty(memory: Buffer): void {
    if (this.#accounts.get(memory)?.live === 0) this.#accounts.delete(memory);
  }
}
