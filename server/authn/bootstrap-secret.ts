/**
 * Bootstrap tokens: short-lived credentials for joining machines. A token is `<id>.<secret>`. It is
 * stored in a Secret of the system namespace that is named after its id and has its own type and these
 * keys (all text):
 *
 *   token-id, token-secret             the two halves
 *   expiration                         RFC 3339; absent = never
 *   usage-bootstrap-authentication     "true": it may be used as a bearer token
 *   usage-bootstrap-signing            "true": it signs the ConfigMap cluster-info
 *   auth-extra-groups                  "system:bootstrappers:a,system:bootstrappers:b"
 *   description                        for people
 */
import type { Naming } from "../api/naming.js";

export const BOOTSTRAP_SECRET_PREFIX = "bootstrap-token-";
const BOOTSTRAPPERS_GROUP = "system:bootstrappers";

const TOKEN = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const SECRET_NAME = /^bootstrap-token-([a-z0-9]{6})$/;
const EXTRA_GROUP = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;
const RFC_3339 =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

export interface BootstrapToken {
  readonly id: string;
  readonly secret: string;
}

/** The fields of a Secret that tokens use. */
export interface SecretLike {
  readonly metadata: { readonly name?: string; readonly deletionTimestamp?: string | null };
  readonly type?: unknown;
  readonly data?: unknown;
}

/** The parsed Secret. */
export interface BootstrapSecret extends BootstrapToken {
  /** Milliseconds since 1970; Infinity = never, NaN = unreadable and therefore expired. */
  readonly expiresAtMs: number;
  readonly allowsAuthentication: boolean;
  readonly allowsSigning: boolean;
  /** The bearer's groups, sorted; undefined if it names a group that tokens must not grant. */
  readonly groups: readonly string[] | undefined;
}

/** The halves of a token; undefined if malformed (S2-BOOT-10). */
export function parseBootstrapToken(text: string): BootstrapToken | undefined {
  const [, id, secret] = TOKEN.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

export function bootstrapSecretType({ labelDomain }: Naming): string {
  return `bootstrap.${labelDomain}/token`;
}

/**
 * Reads a Secret; undefined unless type, name and id agree and it is not being deleted (S2-BOOT-01). The
 * caller checks its expiration.
 */
export function readBootstrapSecret(
  { metadata, type, data }: SecretLike,
  naming: Naming,
): BootstrapSecret | undefined {
  if (type !== bootstrapSecretType(naming) || (metadata.deletionTimestamp ?? "") !== "") return;
  const id = SECRET_NAME.exec(metadata.name ?? "")?.[1];
  const values = (data ?? {}) as Readonly<Record<string, unknown>>;
  const text = (key: string): string => {
    const value = values[key];
    return typeof value === "string" ? Buffer.from(value, "base64").toString("utf8") : "";
  };
  const token = parseBootstrapToken(`${text("token-id")}.${text("token-secret")}`);
  if (token === undefined || token.id !== id) return;
  return {
    ...token,
    expiresAtMs: parseExpiration(text("expiration")),
    allowsAuthentication: text("usage-bootstrap-authentication") === "true",
    allowsSigning: text("usage-bootstrap-signing") === "true",
    groups: parseGroups(text("auth-extra-groups")),
  };
}

/** The time when a Secret expires; Infinity = never or not a token (S2-BOOT-12). */
export function expirationOf({ type, data }: SecretLike, naming: Naming): number {
  if (type !== bootstrapSecretType(naming)) return Number.POSITIVE_INFINITY;
  const { expiration } = (data ?? {}) as Readonly<Record<string, unknown>>;
  return parseExpiration(
    typeof expiration === "string" ? Buffer.from(expiration, "base64").toString("utf8") : "",
  );
}

/** An unreadable time counts as expired: every comparison with NaN is false. */
export function hasExpired(expiresAtMs: number, nowMs: number): boolean {
  return !(expiresAtMs > nowMs);
}

function parseExpiration(text: string): number {
  if (text === "") return Number.POSITIVE_INFINITY;
  const [, year, month, day] = RFC_3339.exec(text) ?? [];
  if (day === undefined) return Number.NaN;
  // Date.parse takes 30 February for 1 March.
  const midnight = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return midnight.getUTCDate() === Number(day) ? Date.parse(text) : Number.NaN;
}

function parseGroups(text: string): readonly string[] | undefined {
  const extra = text === "" ? [] : text.split(",");
  if (!extra.every((group) => EXTRA_GROUP.test(group))) return undefined;
  return [...new Set([BOOTSTRAPPERS_GROUP, ...extra])].sort();
}
