/**
 * Collects garbage once, on request. Loading the view leaves as much garbage as objects behind, and a
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
