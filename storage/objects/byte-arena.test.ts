import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ByteArena, type ByteRange } from "./byte-arena.js";

const textAt = ({ memory, start, end }: ByteRange) => memory.toString("latin1", start, end);

test("bytes stay what they are through any puts, drops and moves, and what is live is counted", () => {
  const step = fc.record({
    bytes: fc.oneof(fc.nat({ max: 3_000 }), fc.constantFrom(32_768, 32_769, 200_000)),
    drops: fc.nat({ max: 20 }),
    isReserved: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const arena = new ByteArena();
      const kept: { place: ByteRange; text: string }[] = [];
      for (const [index, { bytes, drops, isReserved }] of steps.entries()) {
        const text = String.fromCharCode(97 + (index % 26)).repeat(bytes);
        const place = isReserved ? arena.reserve(bytes) : arena.put(Buffer.from(text));
        if (isReserved) place.memory.write(text, place.start, "latin1");
        kept.push({ place, text });
        if (drops < kept.length) {
          const [gone] = kept.splice(drops, 1);
          if (gone !== undefined) arena.dropped(gone.place);
        }
      }
      for (const entry of kept) assert.equal(textAt(entry.place), entry.text);
      for (const entry of kept) arena.dropped(entry.place);
      assert.equal(arena.live, 0);
    }),
    { numRuns: 40 },
  );
});

test("slabs of which little is left are emptied by putting the rest again", () => {
  const arena = new ByteArena();
  const text = "x".repeat(1_000);
  let places = Array.from({ length: 20_000 }, () => arena.put(Buffer.from(text)));
  const full = arena.used;
  assert.equal(arena.isWasteful, false);
  const kept = places.filter((_, index) => index % 4 === 0);
  for (const place of places) if (!kept.includes(place)) arena.dropped(place);
  assert.equal(arena.isWasteful, true);
  places = kept.map((place) => {
    if (!arena.isSparse(place)) return place;
    const moved = arena.put(place.memory.subarray(place.start, place.end));
    arena.dropped(place);
    return moved;
  });
  assert.equal(arena.isWasteful, false);
  assert.ok(arena.used < full / 3);
  for (const place of places) assert.equal(textAt(place), text);
});
