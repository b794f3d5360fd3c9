/**
 * Client certificates for calls to other servers, and the authorities to verify those. Files are read again after some
 * seconds; contents that cannot be used, such as half of a new pair, are left out until they can.
 */
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { type ClientIdentity, NO_IDENTITY } from "../outbound/tls-connections.js";

/** Maximum age of a cached file. */
const AGE_MS_MAX = 5_000;

/** Milliseconds that only grow. */
type Now = () => number;

const sinceStart: Now = () => performance.now();

/** @param certificateFile "" = there is none */
export function identityReader(
  certificateFile: string,
  keyFile: string,
  now = sinceStart,
): () => ClientIdentity {
  if (certificateFile === "") return () => NO_IDENTITY;
  return kept(NO_IDENTITY, now, () => {
    const certificate = readFileSync(certificateFile, "utf8");
    const key = readFileSync(keyFile, "utf8");
    createSecureContext({ cert: certificate, key });
    return { certificate, key };
  });
}

/** The text of a file. */
export function fileReader(file: string, now = sinceStart): () => string {
  return kept("", now, () => readFileSync(file, "utf8"));
}

/** A cached value, read again when it is old. */
function kept<Value>(none: Value, now: Now, read: () => Value): () => Value {
  let last = none;
  let readAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (now() - readAtMs < AGE_MS_MAX) return last;
    readAtMs = now();
    try {
      last = read();
    } catch {
      // Files are just being replaced: the last good value stays.
    }
    return last;
  };
}
