/**
 * OpenStreams: the calls of a LeanConnection whose answers have not come, by stream. The ids count up in
 * steps of two and are short-lived, so they index a ring of a power of two; when a call meets an older one
 * in its place, the ring doubles.
 *
 *   ring of 4     streams 1 3 5 7 -> places 0 1 2 3
 *   9 opens       place 0: stream 1 has ended, so it is free
 *   9 opens       place 0: stream 1 is still open, so the ring has 8 places, 1 in place 0 and 9 in place 4
 *
 * A Map in its place would be rehashed every few calls, and keep short-lived requests alive (see Slots).
 */
import { assert } from "../base/assert.js";
import type { LeanExchange } from "./lean-exchange.js";

const PLACES_MIN = 256;

export class OpenStreams {
  #ring: (LeanExchange | undefined)[] = emptyRing(PLACES_MIN);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The call has its stream, which no other call had. */
  add(call: LeanExchange): void {
    assert(call.streamId % 2 === 1, "ClientStreamsAreOdd");
    while (this.#ring[this.#placeOf(call.streamId)] !== undefined) this.#grow();
    this.#ring[this.#placeOf(call.streamId)] = call;
    this.#size++;
  }

  get(streamId: number): LeanExchange | undefined {
    const call = this.#ring[this.#placeOf(streamId)];
    return call?.streamId === streamId ? call : undefined;
  }

  delete(streamId: number): void {
    if (this.get(streamId) === undefined) return;
    this.#ring[this.#placeOf(streamId)] = undefined;
    this.#size--;
  }

  /** All open calls; the caller may delete them. */
  values(): LeanExchange[] {
    return this.#ring.filter((call) => call !== undefined);
  }

  clear(): void {
    this.#ring.fill(undefined);
    this.#size = 0;
  }

  #placeOf(streamId: number): number {
    return (streamId >> 1) & (this.#ring.length - 1);
  }

  /** Different places stay different when one more bit of the id counts. */
  #grow(): void {
    const calls = this.values();
    this.#ring = emptyRing(2 * this.#ring.length);
    for (const call of calls) this.#ring[this.#placeOf(call.streamId)] = call;
  }
}

function emptyRing(places: number): (LeanExchange | undefined)[] {
  return new Array<LeanExchange | undefined>(places).fill(undefined);
}
