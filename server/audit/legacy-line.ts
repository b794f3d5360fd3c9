/**
 * The legacy format of the audit log (`--audit-log-format=legacy`): an event as one line of text for
 * people and old collectors, with a part of what the event holds, in the words of kube-apiserver's
 * server. Nothing that a client sends can end the line or a quoted value. Pure.
 */
import { goQuote } from "../api/go-text.js";
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
  const pairs = Object.entries(values).map(([name, value]) => `${name}=${goQuote(value)}`);
  return `${withoutZeros(event.requestReceivedTimestamp)} AUDIT: ${pairs.join(" ")}`;
}

function listed(groups: readonly string[] = []): string {
  return groups.map(goQuote).join(",");
}

/** Go's RFC 3339 with nanoseconds has no zeros at the end of its fraction. */
function withoutZeros(timestamp: string): string {
  return timestamp.replace(/(?:(\.\d*[1-9])|\.)0*Z$/, "$1Z");
}
