/**
 * What V8 is told about memory: how far its heap may grow between two collections, and to collect once, on
 * request. Loading the view leaves as much garbage as objects behind, and a
 * replica that only serves reads makes too little of it afterwards for V8 to come round by itself.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** A full collection: some ten milliseconds in which nothing else happens, so not while serving. */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  setFlagsFromString("--no-expose-gc");
  collect();
}

/** Beyond what was alive after the last collection, in per cent; V8 itself takes up to 300. */
const HEAP_GROWTH_PERCENT = 50;

/**
 * Old garbage is collected sooner than V8 would by itself. What lives long here are slabs outside of the
 * heap and small objects around them, so a collection costs little and a large heap would be mostly garbage.
 */
export function growHeapSlowly(): void {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
}
