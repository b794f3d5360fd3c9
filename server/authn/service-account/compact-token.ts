/**
 * The compact form of a signed token (RFC 7515): header, claims and signature as base64url, joined by
 * dots. Nothing is verified here; the caller decides with a key whether to trust it.
 */
import { type SigningKey, signText } from "./token-keys.js";

export interface CompactToken {
  readonly header: { readonly alg: string; readonly kid: string };
  readonly claims: Readonly<Record<string, unknown>>;
  /** The text that is signed. */
  readonly signedText: string;
  readonly signature: Buffer;
}

/** Longer tokens are invalid: a request head has no room for more. */
const TOKEN_CHARS_MAX = 16 * 1024;

const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** undefined if it is not a signed token, or has critical extensions, none of which we support. */
export function parseCompactToken(text: string): CompactToken | undefined {
  if (text.length > TOKEN_CHARS_MAX || !COMPACT.test(text)) return undefined;
  const [head = "", body = "", signature = ""] = text.split(".");
  const header = parseMembers(head);
  const claims = parseMembers(body);
  if (header === undefined || claims === undefined) return undefined;
  const { alg, kid = "", crit } = header;
  if (typeof alg !== "string" || typeof kid !== "string" || crit !== undefined) return undefined;
  return {
    header: { alg, kid },
    claims,
    signedText: `${head}.${body}`,
    signature: Buffer.from(signature, "base64url"),
  };
}

export async function signCompactToken(
  key: SigningKey,
  claims: Readonly<Record<string, unknown>>,
): Promise<string> {
  const text = `${encode({ alg: key.algorithm, kid: key.id })}.${encode(claims)}`;
  return `${text}.${(await signText(key, text)).toString("base64url")}`;
}

function encode(members: Readonly<Record<string, unknown>>): string {
  return Buffer.from(JSON.stringify(members)).toString("base64url");
}

function parseMembers(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    return value as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
