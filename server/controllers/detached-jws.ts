/**
 * Detached signatures (RFC 7515 appendix F) over a text that both sides have: a compact JWS without
 * payload, `base64url(header)..base64url(signature)`. HMAC with SHA-256 only: both sides know the token,
 * and a verifier must not let the header choose the algorithm.
 */
import { createHmac } from "node:crypto";
import { isSameSecret } from "../authn/token-digests.js";

const ALGORITHM = "HS256";

/** Signs with the whole bootstrap token, `<id>.<secret>`; its id names the key (S2-BOOT-16). */
export function signDetached(content: string, id: string, token: string): string {
  const header = base64url(JSON.stringify({ alg: ALGORITHM, kid: id }));
  const mac = createHmac("sha256", token).update(`${header}.${base64url(content)}`);
  return `${header}..${mac.digest("base64url")}`;
}

/** Whether the holder of the token signed this content, with the one supported algorithm. */
export function isSignedBy(signature: string, content: string, id: string, token: string): boolean {
  const [header = "", payload, mac = "", ...more] = signature.split(".");
  if (payload !== "" || more.length > 0 || !isOurHeader(header, id)) return false;
  const expected = createHmac("sha256", token).update(`${header}.${base64url(content)}`);
  return isSameSecret(mac, expected.digest("base64url"));
}

function isOurHeader(encoded: string, id: string): boolean {
  try {
    const header: unknown = JSON.parse(Buffer.from(encoded, "base64url").toString("utf8"));
    if (typeof header !== "object" || header === null) return false;
    const { alg, kid, crit } = header as { alg?: unknown; kid?: unknown; crit?: unknown };
    // Critical extensions must be understood, and we support none (RFC 7515 section 4.1.11).
    return alg === ALGORITHM && kid === id && crit === undefined;
  } catch {
    return false;
  }
}

/** Without padding (S2-BOOT-15). */
function base64url(text: string): string {
  return Buffer.from(text, "utf8").toString("base64url");
}
