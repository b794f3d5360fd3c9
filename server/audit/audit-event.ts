/**
 * AuditEvent: what is kept of a request for those who look later: who asked for what, as whom, from
 * where, why it was decided so, and what became of it (S2-REQ-09). In the form of kube-apiserver's
 * `Event` of the group audit, at its level `Metadata`: no bodies, so nothing secret.
 */
import { isIP } from "node:net";
import type { Naming } from "../api/naming.js";
import type { Status, StatusDetails } from "../api/status.js";
import type { Outcome, SentIdentity } from "../request/audit-capture.js";
import type { RequestInfo } from "../request/request-info.js";
import { recordedUri } from "../request/shown-uri.js";
import type { UserInfo } from "../request/user-info.js";
import type { Deprecation } from "../schema/lifecycle.js";
import type { AuditLevel, AuditStage } from "./policy.js";

/** kube-apiserver's. */
const USER_AGENT_CHARS_MAX = 1024;

export interface AuditedRequest {
  readonly auditId: string;
  /** Undefined for a request that was not understood. */
  readonly info: RequestInfo | undefined;
  /** The name of a created object, which the URL does not have; "" = unknown, or no create. */
  readonly createdName: string;
  /** The identity of the object in the body; undefined = there was no body. */
  readonly sent: SentIdentity | undefined;
  /** Path and query, as sent. */
  readonly uri: string;
  readonly method: string;
  /** The user; undefined when nobody vouched for the sender. */
  readonly user: UserInfo | undefined;
  /** As whom. */
  readonly impersonated: UserInfo | undefined;
  /** The verb that allowed it, under constrained impersonation; "" otherwise. */
  readonly impersonationConstraint: string;
  readonly remoteAddress: string;
  /** The sender's address as proxies report it: X-Forwarded-For and X-Real-Ip, as sent. */
  readonly forwardedFor: string;
  readonly realIp: string;
  readonly userAgent: string;
  readonly code: number;
  /** The Status that was answered; undefined = something else was. */
  readonly outcome: Outcome | undefined;
  /** Why the authorizer decided so. */
  readonly reason: string;
  readonly isAllowed: boolean | undefined;
  /** Set when what was asked for goes away. */
  readonly deprecation: Deprecation | undefined;
  /** Annotations of other parts, by key. */
  readonly annotations: ReadonlyMap<string, string> | undefined;
  /** Wall clock, milliseconds. */
  readonly receivedAtMs: number;
  readonly stageAtMs: number;
}

/** Forms of a record as a line: the whole event as JSON, or a part of it as text. */
export const AUDIT_FORMATS = ["json", "legacy"] as const;
export type AuditFormat = (typeof AUDIT_FORMATS)[number];

/** As it is written, without objects. Absent = not known, or not yet. */
export interface AuditEvent {
  readonly kind: "Event";
  readonly apiVersion: string;
  readonly level: AuditLevel;
  readonly auditID: string;
  readonly stage: AuditStage;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: Partial<AuditUser>;
  readonly impersonatedUser?: AuditUser;
  readonly authenticationMetadata?: { readonly impersonationConstraint: string };
  readonly sourceIPs: readonly string[];
  readonly userAgent?: string;
  readonly objectRef?: Readonly<Record<string, string>>;
  readonly responseStatus?: AuditStatus;
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface AuditStatus extends Partial<Pick<Status, "status" | "message" | "reason" | "details">> {
  readonly metadata: object;
  readonly code: number;
}

interface AuditUser {
  readonly username: string;
  readonly groups: readonly string[];
}

export function toAuditEvent(
  { groupDomain }: Naming,
  stage: AuditStage,
  level: AuditLevel,
  request: AuditedRequest,
): AuditEvent {
  const { info, user, impersonated, impersonationConstraint } = request;
  const annotations = toAnnotations(groupDomain, request);
  return {
    kind: "Event",
    apiVersion: `audit.${groupDomain}/v1`,
    level,
    auditID: request.auditId,
    stage,
    requestURI: recordedUri(request.uri),
    verb: info?.verb || request.method.toLowerCase(),
    user: user === undefined ? {} : toUser(user),
    ...(impersonated !== undefined && { impersonatedUser: toUser(impersonated) }),
    ...(impersonationConstraint !== "" && { authenticationMetadata: { impersonationConstraint } }),
    sourceIPs: sourcesOf(request),
    ...(request.userAgent !== "" && { userAgent: shortened(request.userAgent) }),
    ...(info?.isResourceRequest === true && { objectRef: toReference(info, request) }),
    ...(stage !== "RequestReceived" && { responseStatus: toStatus(level, request) }),
    requestReceivedTimestamp: toMicroTime(request.receivedAtMs),
    stageTimestamp: toMicroTime(request.stageAtMs),
    ...(annotations !== undefined && { annotations }),
  };
}

/** Messages of refusals may quote what was sent, so they are kept from the level that asks for it. */
function toStatus(level: AuditLevel, { code, outcome }: AuditedRequest): AuditStatus {
  const metadata = {};
  if (outcome === undefined) return { metadata, code };
  const { status, reason, message, details } = outcome;
  return {
    metadata,
    status,
    ...(level !== "Metadata" && message !== undefined && { message }),
    ...(reason !== undefined && { reason }),
    ...(details !== undefined && { details: shownDetails(level, details) }),
    code,
  };
}

/** Causes quote what was sent as well. */
function shownDetails(level: AuditLevel, { causes, ...rest }: StatusDetails): StatusDetails {
  return level === "Metadata" || causes === undefined ? rest : { ...rest, causes };
}

function toAnnotations(
  groupDomain: string,
  { isAllowed, reason, deprecation, annotations }: AuditedRequest,
): Record<string, string> | undefined {
  if (isAllowed === undefined && (annotations?.size ?? 0) === 0) return undefined;
  return {
    ...(isAllowed !== undefined && {
      [`authorization.${groupDomain}/decision`]: isAllowed ? "allow" : "forbid",
      [`authorization.${groupDomain}/reason`]: reason,
    }),
    ...(deprecation !== undefined && { [`${groupDomain}/deprecated`]: "true" }),
    ...(deprecation?.removedRelease && {
      [`${groupDomain}/removed-release`]: deprecation.removedRelease,
    }),
    ...Object.fromEntries(annotations ?? []),
  };
}

/** First whom proxies name, which anybody can make up, and the sender itself last. */
function sourcesOf({ forwardedFor, realIp, remoteAddress }: AuditedRequest): readonly string[] {
  const sources = forwardedFor
    .split(",")
    .map((part) => part.trim())
    .filter((part) => isIP(part) !== 0);
  if (isIP(realIp) !== 0 && !sources.includes(realIp)) sources.push(realIp);
  if (remoteAddress !== "" && sources.at(-1) !== remoteAddress) sources.push(remoteAddress);
  return sources;
}

function shortened(userAgent: string): string {
  if (userAgent.length <= USER_AGENT_CHARS_MAX) return userAgent;
  return `${userAgent.slice(0, USER_AGENT_CHARS_MAX)}...TRUNCATED`;
}

function toUser({ name, uid, groups, extra }: UserInfo): AuditUser {
  return {
    username: name,
    ...(uid !== "" && { uid }),
    groups,
    ...(Object.keys(extra).length > 0 && { extra }),
  };
}

function toReference(
  info: RequestInfo,
  { createdName, sent }: AuditedRequest,
): Record<string, string> {
  const { resource, namespace, group, version, subresource } = info;
  const name = info.name || createdName;
  return {
    resource,
    ...(namespace !== "" && { namespace }),
    ...(name !== "" && { name }),
    ...(sent !== undefined && sent.uid !== "" && { uid: sent.uid }),
    ...(group !== "" && { apiGroup: group }),
    apiVersion: version,
    ...(sent !== undefined &&
      sent.resourceVersion !== "" && { resourceVersion: sent.resourceVersion }),
    ...(subresource !== "" && { subresource }),
  };
}

/** RFC 3339 with six digits, as the API writes micro times. */
function toMicroTime(ms: number): string {
  const micros = String(Math.floor((ms % 1) * 1000)).padStart(3, "0");
  return new Date(ms).toISOString().replace("Z", `${micros}Z`);
}
