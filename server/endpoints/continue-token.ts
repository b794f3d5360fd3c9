/**
 * Continue tokens: the position in a chunked list (S1-LIST-05). A token carries the revision of the
 * first page, the last object sent and a digest of the query, so that it works on any replica but only
 * for its own list. It is neither secret nor authenticated: a client that may list may also page from
 * anywhere.
 */
import { createHash } from "node:crypto";
import { type Revision, toRevision } from "../../storage/kv/store.js";
import { badRequest, type StatusError } from "../api/status.js";
import type { ListMetadata } from "./representation.js";

export interface ContinueToken {
  /** The list's revision; -1 = continue at the current state ("inconsistent", S1-LIST-08). */
  readonly revision: Revision | -1;
  /** Path of the last object sent. */
  readonly after: string;
  /**
   * The number of objects after it at that revision, if known; counted once for all pages. A client
   * that changes it only changes the count in its own answers.
   */
  readonly remaining?: number | undefined;
}

/** The query that a token is bound to. */
export interface ListIdentity {
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  readonly labelSelector: string;
  readonly fieldSelector: string;
}

const VERSION = "keelson/v1";
const TOKEN_CHARS_MAX = 4096;

export function formatContinueToken(token: ContinueToken, list: ListIdentity): string {
  const { revision: rv, after, remaining: left } = token;
  const content = { v: VERSION, rv, after, left, list: digest(list) };
  return Buffer.from(JSON.stringify(content)).toString("base64url");
}

/** What a page says of those behind it. */
export function continuedMetadata(token: ContinueToken, list: ListIdentity): ListMetadata {
  const { revision, remaining } = token;
  return {
    resourceVersion: String(revision),
    continue: formatContinueToken(token, list),
    ...(remaining === undefined ? {} : { remainingItemCount: remaining }),
  };
}

/** @throws {StatusError} 400 for a token that is malformed or of another list (S1-LIST-06) */
export function parseContinueToken(text: string, list: ListIdentity): ContinueToken {
  if (text.length > TOKEN_CHARS_MAX) throw invalidToken();
  let content: unknown;
  try {
    content = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
  } catch {
    throw invalidToken();
  }
  if (typeof content !== "object" || content === null) throw invalidToken();
  const { v, rv, after, left, list: of } = content as Record<string, unknown>;
  if (v !== VERSION || of !== digest(list) || !isRevision(rv) || typeof after !== "string") {
    throw invalidToken();
  }
  const isBelow = list.namespace === "" || after.startsWith(`${list.namespace}/`);
  if (after === "" || !isBelow || !(left === undefined || isCount(left))) throw invalidToken();
  return { revision: rv === -1 ? -1 : toRevision(rv), after, remaining: left };
}

function isRevision(value: unknown): value is number {
  return value === -1 || (isCount(value) && value > 0);
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function invalidToken(): StatusError {
  return badRequest("continue key is not valid");
}

function digest(list: ListIdentity): string {
  const text = JSON.stringify([
    list.group,
    list.resource,
    list.namespace,
    list.labelSelector,
    list.fieldSelector,
  ]);
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}
