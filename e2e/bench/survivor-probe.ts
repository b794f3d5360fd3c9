/**
 * Loaded into a server by `node --import`: finds what survives V8's young collections. The first SIGUSR2
 * begins, the second writes a line to the file that SURVIVOR_PROBE names.
 *
 * V8 samples allocations and forgets those that a young collection frees, so what is left was copied twice
 * and got old. Of a request hardly anything should: what does makes the old collections, which take tens of
 * milliseconds, come more often.
 */
import { appendFileSync } from "node:fs";
import { Session } from "node:inspector";

/** Bytes that survived, by the function that allocated them. */
export type Survivors = Readonly<Record<string, number>>;

interface Site {
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
  };
  readonly selfSize: number;
  readonly children: readonly Site[];
}

const SAMPLED_BYTES = 1_024;

const file = process.env.SURVIVOR_PROBE ?? "";
const session = new Session();
const state = { isSampling: false };
session.connect();

process.on("SIGUSR2", () => {
  if (!state.isSampling) {
    state.isSampling = true;
    // What an old collection frees had survived as well.
    const kept = { includeObjectsCollectedByMajorGC: true };
    session.post(
      "HeapProfiler.startSampling",
      { samplingInterval: SAMPLED_BYTES, ...kept },
      (error) => {
        if (error !== null) throw error;
        appendFileSync(file, "{}\n");
      },
    );
    return;
  }
  state.isSampling = false;
  session.post("HeapProfiler.stopSampling", (error, { profile }) => {
    if (error !== null) throw error;
    const survivors: Record<string, number> = {};
    add(survivors, profile.head as Site);
    appendFileSync(file, `${JSON.stringify(survivors)}\n`);
  });
});

function add(survivors: Record<string, number>, { callFrame, selfSize, children }: Site): void {
  const { functionName, url, lineNumber } = callFrame;
  const place = `${url.slice(url.indexOf("/dist/") + 1)}:${lineNumber + 1} ${functionName}`;
  if (selfSize > 0) survivors[place] = (survivors[place] ?? 0) + selfSize;
  for (const child of children) add(survivors, child);
}
