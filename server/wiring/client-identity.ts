/**
 * Client certificates for calls to other servers, and the authorities to verify those; renewed files are
 * reread.
 */
import { readFileSync } from "node:fs";
import { type ClientIdentity, NO_IDENTITY } from "../outbound/tls-connections.js";

/** Maximum age of a cached file. */
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

/** A cached value, read again when it is old. */
function kept<Value>(none: Value, read: () => Value): () => Value {
  let last = none;
  let readAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - readAtMs < AGE_MS_MAX) return last;
    readAtMs = performance.now();
    try {
      last = read();
    } catch {
      // The file is just being replaced: the last good value stays.
    }
    return last;
  };
}
