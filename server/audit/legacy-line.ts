/**
 * The legacy format of the audit log (`--audit-log-format=legacy`): an event as one line of text for
 * people and old collectors, with a part of what the event holds, in the words of kube-apiserver's
 * server. Nothing that a client sends can end the line or a quoted value. Pure.
 */
import { GO_ESCAPES } from "../api/go-text.js";
import type { AuditEvent } from "./audit-event.js";

export function legacyLine(event: AuditEvent): string {
  const { user, impersonatedUser, sourceIPs, objectRef, responseStatus } = event;
  const values = {
    id: event.auditID,
    stage: event.stage,
    ip: sourceIPs[0] ?? "<unknown>",
    method: event.verb,
    user: user.username || "<none>",
    groups: (user.username && listed(user.groups)) || "<none>",
    as: impersonatedUser?.username ?? "<self>",
    asgroups: listed(impersonatedUser?.groups) || "<lookup>",
    "user-agent": event.userAgent ?? "",
    namespace: objectRef?.namespace || "<none>",
    uri: event.requestURI,
    response: responseStatus === undefined ? "<deferred>" : String(responseStatus.code),
  };
  const pairs = Object.entries(values).map(([name, value]) => `${name}=${quoted(value)}`);
  return `${withoutZeros(event.requestReceivedTimestamp)} AUDIT: ${pairs.join(" ")}`;
}

function listed(groups: readonly string[] = []): string {
  return groups.map(quoted).join(",");
}

/** Go's RFC 3339 with nanoseconds has no zeros at the end of its fraction. */
function withoutZeros(timestamp: string): string {
  return timestamp.replace(/(?:(\.\d*[1-9])|\.)0*Z$/, "$1Z");
}

/** All but what Go takes for printable: of spaces only the plain one. */
const ESCAPED = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;

/** As Go's `%q`. */
function quoted(text: string): string {
  return `"${text.replace(ESCAPED, escaped)}"`;
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = (digits: number) => code.toString(16).padStart(digits, "0");
  if (code < 0x80) return GO_ESCAPES[character] ?? `\\x${hex(2)}`;
  return code < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`;
}
