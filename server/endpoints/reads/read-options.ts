/**
 * The query parameters of get, list and watch, checked against the three semantics tables (S1-RV-01..22,
 * S1-QP-01..09, S1-WATCH-11..19). Pure: the result says what kind of state is wanted; other code serves
 * it.
 */

import { type Revision, toRevision } from "../../../storage/kv/store.js";
import type { Naming } from "../../api/naming.js";
import { Problems } from "../../api/problems.js";
import { compareResourceVersions } from "../../api/resource-version.js";
import { parseWholeNumber } from "../../api/selector-rules.js";
import { badRequest, type FieldError, invalidOptions, type StatusError } from "../../api/status.js";
import { booleanParameter, type Query } from "../../request/query.js";

/** The state that a read is answered from. */
export type Wanted =
  /** Any state that this replica has. */
  | { readonly kind: "any" }
  /** A state with every write acknowledged before the request began. */
  | { readonly kind: "mostRecent" }
  | WantedVersion;

export interface WantedVersion {
  readonly kind: "atLeast" | "exact";
  /** The revision; versions beyond 2^53 are represented by the largest safe one. */
  readonly revision: Revision;
  /** The client's text, for a version beyond 2^53. */
  readonly asked?: string;
}

export interface ListOptions {
  /** Ignored with a continue token, which determines the state. */
  readonly wanted: Wanted;
  /** 0 = no limit. */
  readonly limit: number;
  readonly continueToken: string;
}

export interface WatchOptions {
  readonly wanted: Wanted;
  /** Whether the state is sent first, as ADDED events. */
  readonly sendsInitialEvents: boolean;
  /** Whether a bookmark marks the end of the initial events (C-19). */
  readonly marksInitialEventsEnd: boolean;
  readonly allowsBookmarks: boolean;
  /** undefined = the server chooses. */
  readonly timeoutSeconds: number | undefined;
}

export interface StreamingLists {
  /** The gate WatchList; default true. */
  readonly hasStreamingLists?: boolean;
}

const MATCH = "resourceVersionMatch";
const INITIAL_EVENTS = "sendInitialEvents";
const NOT_OLDER_THAN = "NotOlderThan";
const WITHOUT_VERSION = "is forbidden unless resourceVersion is provided";
const WITH_CONTINUE = "is forbidden when continue is provided";

/** The message that tells clients to list instead. */
const WITHOUT_GATE = `${INITIAL_EVENTS} is forbidden for watch unless the WatchList feature gate is enabled`;

const REVISION_MAX = String(Number.MAX_SAFE_INTEGER);
const ANY: Wanted = Object.freeze({ kind: "any" });
const MOST_RECENT: Wanted = Object.freeze({ kind: "mostRecent" });

/**
 * `resourceVersionMatch=Exact` is an extension: for one object kube-apiserver ignores it.
 * @throws {StatusError} 400
 */
export function parseGetOptions(query: Query): Wanted {
  if (query.isEmpty) return MOST_RECENT;
  const wanted = parseVersion(query.get("resourceVersion"));
  const isExact = wanted.kind === "atLeast" && query.get(MATCH) === "Exact";
  return isExact ? { ...wanted, kind: "exact" } : wanted;
}

/** @throws {StatusError} 400 or 422 for a combination that the tables declare invalid */
export function parseListOptions(query: Query, naming: Naming): ListOptions {
  if (query.isEmpty) return { wanted: MOST_RECENT, limit: 0, continueToken: "" };
  const version = query.get("resourceVersion") ?? "";
  const match = query.get("resourceVersionMatch") ?? "";
  const continueToken = query.get("continue") ?? "";
  const { limit } = parseNumbers(query);
  const wanted = parseVersion(version);

  const errors = new Problems();
  if (match !== "") {
    if (version === "") errors.push(forbiddenMatch(`${MATCH} ${WITHOUT_VERSION}`));
    if (continueToken !== "") errors.push(forbiddenMatch(`${MATCH} ${WITH_CONTINUE}`));
    if (match !== "Exact" && match !== NOT_OLDER_THAN) {
      errors.push(unsupportedMatch(match, ["Exact", NOT_OLDER_THAN, ""]));
    }
    if (match === "Exact" && wanted.kind === "any") {
      errors.push(forbiddenMatch(`${MATCH} "exact" is forbidden for resourceVersion "0"`));
    }
  }
  if (query.has(INITIAL_EVENTS)) {
    errors.push(forbidden(INITIAL_EVENTS, `${INITIAL_EVENTS} is forbidden for list`));
  }
  if (errors.length > 0) throw invalidOptions(naming, "ListOptions", errors);
  if (continueToken !== "" && version !== "" && version !== "0") {
    throw badRequest("specifying resource version is not allowed when using continue");
  }

  const isExact = match === "Exact" || (match === "" && limit > 0 && continueToken === "");
  return {
    wanted: isExact && wanted.kind === "atLeast" ? { ...wanted, kind: "exact" } : wanted,
    limit,
    continueToken,
  };
}

/** @throws {StatusError} 400 or 422 */
export function parseWatchOptions(
  query: Query,
  naming: Naming,
  { hasStreamingLists = true }: StreamingLists = {},
): WatchOptions {
  const version = query.get("resourceVersion") ?? "";
  const match = query.get("resourceVersionMatch") ?? "";
  const wanted = parseVersion(version);
  const allowsBookmarks = booleanParameter(query, "allowWatchBookmarks");
  const isAsked = query.has(INITIAL_EVENTS);
  const isStreamingList = isAsked && booleanParameter(query, INITIAL_EVENTS);
  const { timeoutSeconds } = parseNumbers(query);
  // Without the parameter, no version or "0" requests initial events, for old clients.
  const isLegacyStart = !isAsked && match === "" && wanted.kind !== "atLeast";

  const errors = new Problems();
  if (isAsked && match !== NOT_OLDER_THAN) {
    errors.push(forbiddenMatch(`${INITIAL_EVENTS} requires setting ${MATCH} to ${NOT_OLDER_THAN}`));
  }
  if (isAsked && !hasStreamingLists) errors.push(forbidden(INITIAL_EVENTS, WITHOUT_GATE));
  if (match !== "" && !isAsked) {
    errors.push(
      forbiddenMatch(`${MATCH} is forbidden for watch unless ${INITIAL_EVENTS} is provided`),
    );
  }
  if (match !== "" && match !== NOT_OLDER_THAN) {
    errors.push(unsupportedMatch(match, [NOT_OLDER_THAN]));
  }
  if ((match !== "" || isLegacyStart) && (query.get("continue") ?? "") !== "") {
    errors.push(forbiddenMatch(`${MATCH} ${WITH_CONTINUE}`));
  }
  if (errors.length > 0) throw invalidOptions(naming, "ListOptions", errors);

  return {
    wanted,
    sendsInitialEvents: isStreamingList || isLegacyStart,
    marksInitialEventsEnd:
      allowsBookmarks && (isStreamingList || (isLegacyStart && wanted.kind === "mostRecent")),
    allowsBookmarks,
    timeoutSeconds,
  };
}

/** Of any length (S1-VER-02). @throws {StatusError} 400 if it is not a version (S1-QP-02) */
function parseVersion(text: string | undefined): Wanted {
  if (text === undefined || text === "") return MOST_RECENT;
  if (text === "0") return ANY;
  if (!/^[0-9]+$/.test(text)) throw invalidVersion(text);
  const version = text.replace(/^0+/, "");
  if (version === "") return ANY;
  const isBeyond = (compareResourceVersions(version, REVISION_MAX) ?? 0) > 0;
  if (!isBeyond) return { kind: "atLeast", revision: toRevision(Number(version)) };
  return { kind: "atLeast", revision: toRevision(Number(REVISION_MAX)), asked: version };
}

function invalidVersion(text: string): StatusError {
  const shown = JSON.stringify(text.slice(0, 100));
  return badRequest(`resourceVersion: Invalid value: ${shown}: must be a decimal number`);
}

/** Lists and watches accept both parameters and reject them alike. @throws {StatusError} 400 */
function parseNumbers(query: Query): { limit: number; timeoutSeconds: number | undefined } {
  return {
    limit: parseCount(query, "limit") ?? 0,
    timeoutSeconds: parseCount(query, "timeoutSeconds"),
  };
}

/** Any 64-bit number; negative ones count as 0, excessive ones as the maximum. */
function parseCount(query: Query, name: string): number | undefined {
  const text = query.get(name);
  if (text === undefined) return undefined;
  const value = parseWholeNumber(text);
  if (value === undefined) {
    throw badRequest(`${name}: Invalid value: ${JSON.stringify(text.slice(0, 100))}: not a number`);
  }
  return Math.min(Math.max(0, Number(value)), Number.MAX_SAFE_INTEGER);
}

function forbidden(field: string, why: string): FieldError {
  return { reason: "FieldValueForbidden", field, message: `Forbidden: ${why}` };
}

function forbiddenMatch(why: string): FieldError {
  return forbidden(MATCH, why);
}

function unsupportedMatch(value: string, supported: readonly string[]): FieldError {
  const values = supported.map((each) => JSON.stringify(each)).join(", ");
  return {
    reason: "FieldValueNotSupported",
    field: MATCH,
    message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${values}`,
  };
}
