/** Verifies a token with its issuer's cached keys, and once more with newer ones. */
import type { IssuerKeys, KeySet } from "./issuer-keys.js";
import {
  type TokenExpectation,
  TokenRefusal,
  UnknownKeyRefusal,
  type VerifiedToken,
  verifyToken,
} from "./token.js";

export interface VerifiedByIssuer {
  readonly verified: VerifiedToken;
  /** The keys of the successful verification. */
  readonly keys: KeySet;
}

/** @throws {TokenRefusal} */
export async function verifyByIssuer(
  token: string,
  issuerKeys: IssuerKeys,
  expected: TokenExpectation,
  nowMs: number,
): Promise<VerifiedByIssuer> {
  const known = await issuerKeys.first();
  if (known === undefined) throw new TokenRefusal("the issuer's keys are not known yet");
  try {
    return { verified: await verifyToken(token, known, expected, nowMs), keys: known };
  } catch (error) {
    if (!(error instanceof UnknownKeyRefusal)) throw error;
    const other = await issuerKeys.otherThan(known);
    if (other === undefined) throw error;
    return { verified: await verifyToken(token, other, expected, nowMs), keys: other };
  }
}
