/** Settings of V8 for a server that runs: how far its heap grows, and how soon it optimises how much. */
import { setFlagsFromString } from "node:v8";
import { setUsualHeapGrowth } from "./heap-growth.js";

/**
 * A request runs a thousand functions, each of them a few times. V8 waits until one has run long before it
 * optimises it, and then copies hundreds of callees into it; so a third of the first 10,000 writes is compiling.
 * With these it begins sooner, and copies less: those writes cost a fifth less, later ones the same
 * (docs/dev/decisions/0064). By the first part of V8's version, as the names of flags change; later ones have a
 * compiler in between.
 */
const OPTIMISATION: Readonly<Record<string, string>> = {
  11: "--interrupt-budget=10000 --max-inlined-bytecode-size-cumulative=400",
  12: "--invocation-count-for-turbofan=500 --max-inlined-bytecode-size-cumulative=400",
};

/** Called when the start is over: what V8 compiled until then is kept together with the flags that it had. */
export function tuneV8(): void {
  setUsualHeapGrowth();
  const [major = ""] = process.versions.v8.split(".");
  const flags = OPTIMISATION[major];
  if (flags !== undefined) setFlagsFromString(flags);
}
