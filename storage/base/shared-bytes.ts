/**
 * SharedBytes: one bound for memory of one kind that many hold, such as the recent events of all control planes of a
 * process. Where all together hold more, those that hold most give way, down to one *level*; who holds no more than that
 * keeps all of it, however much others ask for.
 *
 *     bound 100     a 10  b 30  c 90             130 together; level 60, c gives 30 away
 *     and d 60      a 10  b 30  c 60  d 60       160 together; level 30, c and d give 30 away each
 *
 * One of them may be a bound of its own for several, such as the caches of one control plane: to the others these are one.
 *
 * A holder is told to give way in the middle of another one's turn, so it does that at once, and asks nobody.
 */
import { assert } from "./assert.js";

/** To what part of the bound they shrink where there is to be room afterwards. */
const REFILL_SHARE = 0.95;

/** What one of them holds. */
export class Share {
  readonly #owner: SharedBytes;
  readonly #giveWay: (bytesMax: number) => void;
  #bytes = 0;
  #isOpen = true;

  constructor(owner: SharedBytes, giveWay: (bytesMax: number) => void) {
    this.#owner = owner;
    this.#giveWay = giveWay;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** @param bytes more than before; negative = less */
  add(bytes: number): void {
    // What was under way when it was closed counts no more.
    if (!this.#isOpen) return;
    this.#bytes += bytes;
    assert(this.#bytes >= 0, "SharesNotNegative");
    this.#owner.count(bytes);
  }

  /** The same, where the holder counts by itself. */
  set(bytes: number): void {
    this.add(bytes - this.#bytes);
  }

  /** The most that it may hold, so that all together hold no more than `bytesMax`. */
  level(bytesMax: number): number {
    const isSmall = this.#bytes * this.#owner.holders <= bytesMax;
    return isSmall ? Number.POSITIVE_INFINITY : this.#owner.level(bytesMax);
  }

  giveWay(bytesMax: number): void {
    this.#giveWay(bytesMax);
  }

  /** It holds nothing any more. */
  close(): void {
    this.set(0);
    this.#isOpen = false;
    this.#owner.leave(this);
  }
}

export class SharedBytes {
  readonly bytesMax: number;
  readonly #shares = new Set<Share>();
  readonly #outer: SharedBytes | undefined;
  readonly #outerShare: Share | undefined;
  #bytes = 0;

  /** @param outer counts what is held here as that of one */
  constructor(bytesMax: number, outer?: SharedBytes) {
    this.bytesMax = bytesMax;
    this.#outer = outer;
    this.#outerShare = outer?.open((bytes) => this.#settleWithin(bytes));
  }

  /** What all together hold. */
  get bytes(): number {
    return this.#bytes;
  }

  get holders(): number {
    return this.#shares.size;
  }

  /** @param giveWay frees memory until the share holds no more than that; called within `settle` or `settleWithRoom` */
  open(giveWay: (bytesMax: number) => void): Share {
    const share = new Share(this, giveWay);
    this.#shares.add(share);
    return share;
  }

  /** The most that each may hold, so that all together hold no more than `bytesMax`. */
  level(bytesMax = this.bytesMax): number {
    if (this.#bytes <= bytesMax) return Number.POSITIVE_INFINITY;
    const sizes = Float64Array.from(this.#shares, ({ bytes }) => bytes).sort();
    let left = bytesMax;
    for (const [index, size] of sizes.entries()) {
      const each = left / (sizes.length - index);
      if (size > each) return Math.floor(each);
      left -= size;
    }
    return Number.POSITIVE_INFINITY;
  }

  /** Those that hold most give way, the largest first, until all together hold no more than the bound. */
  settle(): void {
    this.#settleWithin(this.bytesMax);
    this.#outer?.settleWithRoom();
  }

  /** The same where it is asked for often: thousands of holders are not looked through for each piece that is added. */
  settleWithRoom(): void {
    if (this.#bytes > this.bytesMax) this.#settleWithin(this.bytesMax * REFILL_SHARE);
  }

  /** Nothing that is held here counts any more. */
  close(): void {
    this.#outerShare?.close();
  }

  #settleWithin(bytesMax: number): void {
    if (this.#bytes <= bytesMax) return;
    const level = this.level(bytesMax);
    const largestFirst = [...this.#shares].sort((one, other) => other.bytes - one.bytes);
    for (const share of largestFirst) {
      if (this.#bytes <= bytesMax) return;
      share.giveWay(level);
      assert(share.bytes <= level, "LargestGivesWay");
    }
    assert(this.#bytes <= bytesMax, "SharedBytesBounded");
  }

  /** Only called by a share. */
  count(bytes: number): void {
    this.#bytes += bytes;
    this.#outerShare?.add(bytes);
    assert(this.#bytes >= 0, "SharesNotNegative");
  }

  /** Only called by a share. */
  leave(share: Share): void {
    this.#shares.delete(share);
    assert(this.#shares.size > 0 || this.#bytes === 0, "SharesNotNegative");
  }
}
