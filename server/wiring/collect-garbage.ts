/**
 * Memory settings of V8: how far its heap may grow between two collections, and one explicit collection.
 * Loading the view leaves as much garbage as objects, and a replica that only serves reads then produces
 * too little garbage for V8 to collect it by itself.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * A full collection blocks the thread for some ten milliseconds, so it must not run while serving.
 */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  setFlagsFromString("--no-expose-gc");
  collect();
}

/** In per cent of the live heap after the last collection; V8 itself allows up to 300. */
const HEAP_GROWTH_PERCENT = 50;

/**
 * Makes V8 collect old garbage sooner. Long-lived data is in slabs outside of the heap with small objects
 * around them, so a collection is cheap and a large heap would be mostly garbage.
 */
export function growHeapSlowly(): void {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
}
