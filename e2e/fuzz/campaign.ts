/**
 * A campaign of random patches and applies: a number of writes, shared out over the four kinds of
 * fuzzing, from one seed. Used by e2e/write-fuzz.test.ts (a share) and e2e/fuzz/run.ts (all).
 */
import fc from "fast-check";
import { openBuiltInFuzz } from "./built-in.js";
import { Draw } from "./draw.js";
import { fuzzOwnership } from "./ownership.js";
import { fuzzPlainPatches } from "./plain-patches.js";
import { fuzzStrategicMerge } from "./strategic.js";

/** Runs between two looks at how many writes there were. */
const RUNS_PER_BATCH = 200;

export interface Share {
  readonly name: string;
  readonly writes: number;
  readonly elapsedMs: number;
  readonly note: string;
}

type Fuzz = (draw: Draw) => number | Promise<number>;

/** @throws what fast-check says of the first failure, with its seed and path */
export async function runCampaign(writes: number, seed: number): Promise<readonly Share[]> {
  await using builtIn = await openBuiltInFuzz();
  const parts: readonly (readonly [name: string, share: number, fuzz: Fuzz])[] = [
    ["apply on random schemas", 0.3, fuzzOwnership],
    ["strategic merge on random types", 0.25, fuzzStrategicMerge],
    ["JSON Patch and merge patch", 0.2, fuzzPlainPatches],
    ["all writes on built-in kinds", 0.25, (draw) => builtIn.run(draw)],
  ];
  const shares: Share[] = [];
  for (const [name, share, fuzz] of parts) {
    const started = performance.now();
    const done = await runShare(Math.ceil(writes * share), seed, fuzz);
    const elapsedMs = performance.now() - started;
    const answers = [...builtIn.answers].sort().map(([code, count]) => `${code}: ${count}`);
    const note =
      shares.length < parts.length - 1 ? "" : `${builtIn.kinds} kinds; ${answers.join(", ")}`;
    shares.push({ name, writes: done, elapsedMs, note });
  }
  return shares;
}

async function runShare(writes: number, seed: number, fuzz: Fuzz): Promise<number> {
  let done = 0;
  for (let batch = 0; done < writes; batch++) {
    const property = fc.asyncProperty(fc.gen(), async (generate) => {
      done += await fuzz(new Draw(generate));
    });
    await fc.assert(property, { seed: seed + batch, numRuns: RUNS_PER_BATCH });
  }
  return done;
}
