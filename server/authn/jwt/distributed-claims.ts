/**
 * Claims that are not in the token but at an address that it names (OpenID Connect Core 5.6.2), which
 * issuers use for users with very many groups:
 *
 *   "_claim_names":   { "groups": "src1" },
 *   "_claim_sources": { "src1": { "endpoint": "https://...", "access_token": "..." } }
 *
 * The address returns another token with the claim, from the same issuer or one that the first trusts;
 * it is verified like the first. Only the groups are looked up this way, and only for a claim mapping:
 * expressions see the token's own claims (S2-AUTHC-17).
 */
import type { JsonObject, JsonValue } from "../../api/meta.js";
import type { IssuerKeys } from "./issuer-keys.js";
import {
  type TokenExpectation,
  TokenRefusal,
  untrustedIssuerOf,
  type VerifiedToken,
} from "./token.js";
import { verifyByIssuer } from "./verify-by-issuer.js";

export interface DistributedClaim {
  /** The claim's name, such as "groups". */
  readonly claim: string;
  /** The keys of the issuer whose token names the address. */
  readonly keys: IssuerKeys;
  /** The keys of the issuer of the token at the address. */
  readonly keysOf: (issuer: string) => IssuerKeys;
  readonly expected: Omit<TokenExpectation, "issuer">;
  readonly nowMs: number;
}

/**
 * The token with the claim filled in, or the token itself if there is nothing to look up. It expires
 * with the earlier of both tokens. @throws {TokenRefusal}
 */
export async function withDistributedClaim(
  token: VerifiedToken,
  wanted: DistributedClaim,
): Promise<VerifiedToken> {
  const { claim } = wanted;
  const source = sourceOf(token.claims, claim);
  if (source === undefined) return token;
  const found = await fetchToken(source, wanted);
  const value = memberOf(found.claims, claim);
  if (value === undefined) throw new TokenRefusal(`${quote(claim)} is not where it should be`);
  return {
    claims: { ...token.claims, [claim]: value },
    expiresAtMs: Math.min(token.expiresAtMs, found.expiresAtMs),
  };
}

interface Source {
  readonly url: string;
  readonly bearer: string | undefined;
}

/** The source of the claim; undefined if the token has it itself or it is absent. @throws {TokenRefusal} */
function sourceOf(claims: JsonObject, claim: string): Source | undefined {
  if (Object.hasOwn(claims, claim)) return undefined;
  const name = memberOf(memberOf(claims, "_claim_names"), claim);
  if (name === undefined) return undefined;
  const source =
    typeof name === "string" ? memberOf(memberOf(claims, "_claim_sources"), name) : undefined;
  const endpoint = memberOf(source, "endpoint");
  if (typeof endpoint !== "string" || !URL.canParse(endpoint)) {
    // Also refuses aggregated claims, which embed the other token; they are not supported.
    throw new TokenRefusal(`${quote(claim)} has no address`);
  }
  const bearer = memberOf(source, "access_token");
  return {
    url: endpoint,
    bearer: typeof bearer === "string" && bearer !== "" ? bearer : undefined,
  };
}

/** @throws {TokenRefusal} */
async function fetchToken(
  { url, bearer }: Source,
  { claim, keys, keysOf, expected, nowMs }: DistributedClaim,
): Promise<VerifiedToken> {
  let text: string;
  try {
    text = (await keys.fetchText(url, bearer)).trim();
  } catch {
    // The address and the error may be confidential parts of the token.
    throw new TokenRefusal(`${quote(claim)} can not be fetched`);
  }
  const issuer = untrustedIssuerOf(text);
  if (issuer === undefined) throw new TokenRefusal(`${quote(claim)} is not in a token`);
  const { verified } = await verifyByIssuer(text, keysOf(issuer), { ...expected, issuer }, nowMs);
  return verified;
}

function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

function quote(claim: string): string {
  return `distributed claim ${JSON.stringify(claim)}`;
}
