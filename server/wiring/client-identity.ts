/** Certificates by which other servers know this one, and by which they are known; renewed files count. */
import { readFileSync } from "node:fs";
import { type ClientIdentity, NO_IDENTITY } from "../proxy/connection-pools.js";

/** How old what was read may be. */
const AGE_MS_MAX = 5_000;

/** @param certificateFile "" = there is none */
export function identityReader(certificateFile: string, keyFile: string): () => ClientIdentity {
  if (certificateFile === "") return () => NO_IDENTITY;
  return kept(NO_IDENTITY, () => ({
    certificate: readFileSync(certificateFile, "utf8"),
    key: readFileSync(keyFile, "utf8"),
  }));
}

/** The text of a file. */
export function fileReader(file: string): () => string {
  return kept("", () => readFileSync(file, "utf8"));
}

/** What was read last, read anew when it is old. */
function kept<Value>(none: Value, read: () => Value): () => Value {
  let last = none;
  let readAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - readAtMs < AGE_MS_MAX) return last;
    readAtMs = performance.now();
    try {
      last = read();
    } catch {
      // A file that is just being replaced: the last good one stays.
    }
    return last;
  };
}
