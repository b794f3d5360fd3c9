/**
 * A JSON web token: its claimed issuer and, once its signature is verified, its claims. The library
 * verifies signatures; issuer, audience and times are checked here, on the signed bytes.
 *
 * Only asymmetric signatures are accepted: no `none` and no shared secret, so that an issuer's public
 * key cannot be used as one (S2-OIDC-11).
 */

import { createPublicKey, type JsonWebKey } from "node:crypto";
import { compactVerify, errors, type JWK, type JWTHeaderParameters } from "jose";
import { isJsonObject } from "../../api/json-object.js";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import { parseJson } from "../../schema/parse-json.js";
import type { KeySet } from "./issuer-keys.js";

export const ALLOWED_ALGORITHMS: readonly string[] = Object.freeze([
  "ES256",
  "ES384",
  "ES512",
  "PS256",
  "PS384",
  "PS512",
  "RS256",
  "RS384",
  "RS512",
]);

/** Real tokens have 1 to 8 KiB; with a thousand groups, 40. Longer ones are ignored. */
export const TOKEN_CHARS_MAX = 64 * 1024;

/** Tolerated clock skew of `nbf`. Expiry has no such grace. */
const NOT_BEFORE_LEEWAY_MS = 60_000;

/** One issuer names itself without a scheme. */
const GOOGLE_ISSUER = "https://accounts.google.com";

/** A verified token. */
export interface VerifiedToken {
  readonly claims: JsonObject;
  readonly expiresAtMs: number;
}

/** Why a token is refused, for the log. It quotes nothing of the token. */
export class TokenRefusal extends Error {
  override readonly name = "TokenRefusal";
}

/** No key of the set matches the token; the issuer may have newer ones. */
export class UnknownKeyRefusal extends TokenRefusal {}

/** The claimed issuer; undefined if it is not a JSON web token. Unverified: do not trust it. */
export function untrustedIssuerOf(token: string): string | undefined {
  if (token.length > TOKEN_CHARS_MAX) return undefined;
  const first = token.indexOf(".");
  const second = token.indexOf(".", first + 1);
  if (first <= 0 || second <= first + 1 || token.includes(".", second + 1)) return undefined;
  try {
    const payload = Buffer.from(token.slice(first + 1, second), "base64url").toString("utf8");
    return issuerOf(JSON.parse(payload) as JsonValue);
  } catch {
    return undefined;
  }
}

function issuerOf(claims: JsonValue): string | undefined {
  const issuer = isJsonObject(claims) ? claims.iss : undefined;
  if (typeof issuer !== "string") return undefined;
  return issuer === "accounts.google.com" ? GOOGLE_ISSUER : issuer;
}

export interface TokenExpectation {
  readonly issuer: string;
  /** The token must have at least one of them. */
  readonly audiences: readonly string[];
  readonly algorithms: readonly string[];
}

/** @throws {TokenRefusal} */
export async function verifyToken(
  token: string,
  keys: KeySet,
  { issuer, audiences, algorithms }: TokenExpectation,
  nowMs: number,
): Promise<VerifiedToken> {
  const claims = parseClaims(await verifySignature(token, keys, algorithms));
  if (issuerOf(claims) !== issuer) throw new TokenRefusal("another issuer");
  const { aud, exp, nbf } = claims;
  if (!hasAudience(aud, audiences)) throw new TokenRefusal("none of the audiences is expected");
  if (typeof exp !== "number") throw new TokenRefusal("no expiry");
  const expiresAtMs = exp * 1000;
  // As in kube-apiserver, what is beyond an integer of 64 bits is in the past.
  if (nowMs >= expiresAtMs || exp >= 2 ** 63) throw new TokenRefusal("expired");
  if (nbf !== undefined && nbf !== null) {
    if (typeof nbf !== "number") throw new TokenRefusal("nbf is not a number");
    if (nowMs + NOT_BEFORE_LEEWAY_MS < nbf * 1000) throw new TokenRefusal("not valid yet");
  }
  return { claims, expiresAtMs };
}

/** The signed bytes. @throws {TokenRefusal} */
async function verifySignature(
  token: string,
  keys: KeySet,
  algorithms: readonly string[],
): Promise<Uint8Array> {
  const options = { algorithms: [...algorithms] };
  try {
    const { payload, protectedHeader } = await compactVerify(token, keys.resolve, options);
    checkHeader(protectedHeader);
    return payload;
  } catch (error) {
    if (error instanceof errors.JWKSMultipleMatchingKeys) {
      return await verifyWithAny(token, error, options);
    }
    throw toRefusal(error);
  }
}

/** The token names no key, or an ambiguous one: tries each. @throws {TokenRefusal} */
async function verifyWithAny(
  token: string,
  candidates: errors.JWKSMultipleMatchingKeys,
  options: { readonly algorithms: string[] },
): Promise<Uint8Array> {
  for await (const key of candidates) {
    try {
      const { payload, protectedHeader } = await compactVerify(token, key, options);
      checkHeader(protectedHeader);
      return payload;
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw toRefusal(error);
    }
  }
  throw new UnknownKeyRefusal("the signature is of none of the issuer's keys");
}

/**
 * Tokens have no critical extensions; the one that the library supports would change the payload. A key within the token is
 * never used, but has to be one, as in kube-apiserver.
 */
function checkHeader({ crit, jwk }: JWTHeaderParameters): void {
  if (crit !== undefined) throw new TokenRefusal("critical header parameters");
  if (jwk !== undefined && !isPublicKey(jwk)) throw new TokenRefusal("its key is no public key");
}

function isPublicKey(jwk: JWK): boolean {
  if (jwk === null || typeof jwk !== "object" || "d" in jwk) return false;
  try {
    createPublicKey({ key: jwk as JsonWebKey, format: "jwk" });
    return true;
  } catch {
    return false;
  }
}

function toRefusal(error: unknown): Error {
  if (error instanceof TokenRefusal) return error;
  if (error instanceof errors.JWKSNoMatchingKey) {
    return new UnknownKeyRefusal("none of the issuer's keys fits");
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    // The issuer may have replaced a key under the same name.
    return new UnknownKeyRefusal("the signature is wrong");
  }
  // The library's codes are safe constants such as ERR_JOSE_ALG_NOT_ALLOWED; its messages may quote the token.
  if (error instanceof errors.JOSEError) return new TokenRefusal(error.code);
  // An unusable key, for example a too short RSA key.
  if (error instanceof TypeError || error instanceof DOMException) {
    return new TokenRefusal("the key can not be used");
  }
  return error instanceof Error ? error : new Error(String(error));
}

function parseClaims(payload: Uint8Array): JsonObject {
  let claims: JsonValue;
  try {
    claims = parseJson(Buffer.from(payload));
  } catch {
    throw new TokenRefusal("the claims are not JSON");
  }
  if (!isJsonObject(claims)) throw new TokenRefusal("the claims are not an object");
  return claims;
}

function hasAudience(found: JsonValue | undefined, expected: readonly string[]): boolean {
  const list = Array.isArray(found) ? found : [found];
  return list.some((audience) => typeof audience === "string" && expected.includes(audience));
}
