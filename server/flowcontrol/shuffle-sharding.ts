/**
 * Shuffle sharding: each flow is dealt a small hand of the level's queues, so that a flow that fills
 * its queues leaves most others a queue outside its hand. With 128 queues and a hand of 6, all queues
 * of a flow collide with one elephant's about once in five billion hands.
 *
 *     deal(hash, 8, 3)      hash mod 8 picks the first card, the rest of the hash the second of the
 *                           remaining 7, and so on: no card twice, every hand as likely as any other
 */
import { createHash } from "node:crypto";
import { assert } from "../../storage/base/assert.js";

/** Bits of a hash; larger hands could not be dealt evenly. */
export const HASH_BITS = 60;

/** 60 bits of a digest of a flow's name. */
export function hashOfFlow(flow: string): bigint {
  const digest = createHash("sha256").update(flow).digest();
  return digest.readBigUInt64LE(0) >> BigInt(64 - HASH_BITS);
}

/** Bits needed to deal `handSize` of `deckSize` cards evenly. */
export function bitsOfHand(deckSize: number, handSize: number): number {
  let bits = 0;
  for (let card = 0; card < handSize; card++) bits += Math.log2(deckSize - card);
  return Math.ceil(bits);
}

/** @returns `handSize` different numbers below `deckSize` */
export function deal(hash: bigint, deckSize: number, handSize: number): readonly number[] {
  assert(handSize <= deckSize, "HandFitsDeck");
  const hand: number[] = [];
  let rest = hash;
  for (let dealt = 0; dealt < handSize; dealt++) {
    const left = BigInt(deckSize - dealt);
    let card = Number(rest % left);
    rest /= left;
    // `card` counts only the cards still in the deck.
    for (const taken of [...hand].sort((a, b) => a - b)) if (taken <= card) card++;
    hand.push(card);
  }
  return hand;
}
