/**
 * StatusError: every unsuccessful answer to a client. It carries the API `Status` object and is
 * made only by the factories below; only the http layer renders it. Reasons and messages are those
 * of kube-apiserver, as client libraries branch on them (S1-ERR-08, S1-ERR-09).
 */

import { formatGroupResource, type GroupResource } from "./names.js";
import type { Naming } from "./naming.js";

export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  /** Path of the field in the object, such as "spec.containers[0].name". */
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  /** For errors about a resource its plural name, as kube-apiserver. */
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

export interface Status {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: { readonly continue?: string; readonly resourceVersion?: string };
  readonly status: "Success" | "Failure";
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code: number;
}

export class StatusError extends Error {
  override readonly name = "StatusError";
  readonly status: Status;

  constructor(status: Status, options?: { cause?: unknown }) {
    super(status.message, options);
    this.status = status;
  }

  get code(): number {
    return this.status.code;
  }

  get reason(): string {
    return this.status.reason ?? "";
  }
}

/** One problem of one field; `invalid()` collects them. */
export interface FieldError {
  readonly reason:
    | "FieldValueNotFound"
    | "FieldValueRequired"
    | "FieldValueDuplicate"
    | "FieldValueInvalid"
    | "FieldValueNotSupported"
    | "FieldValueForbidden"
    | "FieldValueTooLong"
    | "FieldValueTooMany"
    | "FieldValueTypeInvalid"
    | "InternalError";
  /** "spec.ports[0].port"; "" = the object itself. */
  readonly field: string;
  /** The error does not count in an update of an object that has this text already: the rule is newer. */
  readonly unlessHeld?: string;
  /** Without the field path: `Invalid value: "x": must be ...`. */
  readonly message: string;
}

interface Failure {
  code: number;
  reason?: string;
  message: string;
  details?: StatusDetails;
  metadata?: Status["metadata"];
  cause?: unknown;
}

function failure({ code, reason, message, details, metadata, cause }: Failure): StatusError {
  const status: Status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: metadata ?? {},
    status: "Failure",
    message,
    ...(reason === undefined ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code,
  };
  return new StatusError(status, { cause });
}

function detailsOf({ group, resource }: GroupResource, name = ""): StatusDetails {
  return {
    ...(name === "" ? {} : { name }),
    ...(group === "" ? {} : { group }),
    kind: resource,
  };
}

/** 400: the request itself is invalid. */
export function badRequest(message: string, cause?: unknown): StatusError {
  return failure({ code: 400, reason: "BadRequest", message, cause });
}

/** 505: a request line that names another version of HTTP. */
export function versionNotSupported(): StatusError {
  return failure({ code: 505, message: "unsupported protocol version" });
}

/** 401: no identity could be established. */
export function unauthorized(message = "Unauthorized"): StatusError {
  return failure({ code: 401, reason: "Unauthorized", message });
}

/** 421: the connection is not one for the host of the request (RFC 9110 section 15.5.20). */
export function misdirected(message: string): StatusError {
  return failure({ code: 421, reason: "MisdirectedRequest", message });
}

/** 403 for a resource. `why` follows the colon. */
export function forbidden(resource: GroupResource, name: string, why: string): StatusError {
  const what = `${formatGroupResource(resource)}${name === "" ? "" : ` ${JSON.stringify(name)}`}`;
  return failure({
    code: 403,
    reason: "Forbidden",
    message: `${what} is forbidden: ${why}`,
    details: detailsOf(resource, name),
  });
}

/** 403 for a non-resource path, or with a custom message. */
export function forbiddenPath(message: string): StatusError {
  return failure({ code: 403, reason: "Forbidden", message, details: {} });
}

const NAMESPACE_TERMINATING = "NamespaceTerminating";

/** Whether that is why; others refuse with 403 as well, such as quotas and policies. */
export function isNamespaceTerminating({ status }: StatusError): boolean {
  return status.details?.causes?.some(({ reason }) => reason === NAMESPACE_TERMINATING) === true;
}

/** 403 for a create in a terminating namespace (S1-GEN-20). */
export function namespaceTerminating(
  resource: GroupResource,
  name: string,
  namespace: string,
): StatusError {
  const message = `unable to create new content in namespace ${namespace} because it is being terminated`;
  return failure({
    code: 403,
    reason: "Forbidden",
    message: `${formatGroupResource(resource)} ${JSON.stringify(name)} is forbidden: ${message}`,
    details: {
      ...detailsOf(resource, name),
      causes: [
        {
          reason: NAMESPACE_TERMINATING,
          message: `namespace ${namespace} is being terminated`,
          field: "metadata.namespace",
        },
      ],
    },
  });
}

/** 404 for an object. */
export function notFound(resource: GroupResource, name: string): StatusError {
  return failure({
    code: 404,
    reason: "NotFound",
    message: `${formatGroupResource(resource)} ${JSON.stringify(name)} not found`,
    details: detailsOf(resource, name),
  });
}

/** 404 for an unknown path. */
export function routeNotFound(): StatusError {
  return failure({
    code: 404,
    reason: "NotFound",
    message: "the server could not find the requested resource",
    details: {},
  });
}

/** 405: the path exists, but does not support the method. */
export function methodNotAllowed(
  message = "the server does not allow this method on the requested resource",
): StatusError {
  return failure({ code: 405, reason: "MethodNotAllowed", message, details: {} });
}

/** 406: none of the accepted media types is available. */
export function notAcceptable(accepted: readonly string[]): StatusError {
  const message = `only the following media types are accepted: ${accepted.join(", ")}`;
  return failure({ code: 406, reason: "NotAcceptable", message });
}

/** 406: the object cannot be rendered in the requested form. @param why follows "the requested object" */
export function unsuitableForm(form: string, why: string): StatusError {
  const message = `you requested ${form}, but the requested object ${why}`;
  return failure({ code: 406, reason: "NotAcceptable", message });
}

/** 409: the name is taken. */
export function alreadyExists(resource: GroupResource, name: string): StatusError {
  return failure({
    code: 409,
    reason: "AlreadyExists",
    message: `${formatGroupResource(resource)} ${JSON.stringify(name)} already exists`,
    details: detailsOf(resource, name),
  });
}

/** A retry may find a free name. */
const NAME_RETRY_AFTER_SECONDS = 1;

/** 409: every name generated from the client's prefix is taken (S1-META-03). */
export function generatedNameTaken(resource: GroupResource, name: string): StatusError {
  return failure({
    code: 409,
    reason: "AlreadyExists",
    message: `${formatGroupResource(resource)} ${JSON.stringify(name)} already exists, the server was not able to generate a unique name for the object`,
    details: { ...detailsOf(resource, name), retryAfterSeconds: NAME_RETRY_AFTER_SECONDS },
  });
}

/** 409: the name is `taken` by an object that is being deleted (S1-DEL-11). */
export function stillBeingDeleted({ status }: StatusError): StatusError {
  return new StatusError({ ...status, message: `object is being deleted: ${status.message}` });
}

/** 409: the client's version of the object is not the current one. */
export function conflict(
  resource: GroupResource,
  name: string,
  why = "the object has been modified; please apply your changes to the latest version and try again",
): StatusError {
  return failure({
    code: 409,
    reason: "Conflict",
    message: `Operation cannot be fulfilled on ${formatGroupResource(resource)} ${JSON.stringify(name)}: ${why}`,
    details: detailsOf(resource, name),
  });
}

/** 410: the version asked for is no longer kept. `continueToken` starts an inconsistent rest. */
export function expired(message: string, continueToken?: string): StatusError {
  return failure({
    code: 410,
    reason: "Expired",
    message,
    ...(continueToken === undefined ? {} : { metadata: { continue: continueToken } }),
  });
}

/** 413: the body, or the object made from it, is too large. */
export function requestEntityTooLarge(message: string): StatusError {
  return failure({ code: 413, reason: "RequestEntityTooLarge", message });
}

/** 415: the body's media type is not supported. */
export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`;
  return failure({ code: 415, reason: "UnsupportedMediaType", message });
}

/** A body of 3 MB has room for 600,000 mistakes; nobody needs that many. */
export const CAUSES_MAX = 100;
/** Bytes of all causes, which stand in the message as well: a Status has at most 64 KiB. */
const CAUSES_BYTES_MAX = 24 * 1024;

/** 422: the object (or the options) violates rules; one cause per violation, up to a limit. */
export function invalid(
  subject: { readonly group: string; readonly kind: string },
  name: string,
  problems: readonly FieldError[],
): StatusError {
  const errors = reported(problems);
  // One text stands for all causes that it is the text of.
  const texts = [
    ...new Set(
      errors.map(({ field, message }) => (field === "" ? message : `${field}: ${message}`)),
    ),
  ];
  if (errors.length < problems.length) texts.push("and more");
  const detail = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  const kind = subject.group === "" ? subject.kind : `${subject.kind}.${subject.group}`;
  return failure({
    code: 422,
    reason: "Invalid",
    message: `${kind} ${JSON.stringify(name)} is invalid: ${detail}`,
    details: {
      ...(name === "" ? {} : { name }),
      ...(subject.group === "" ? {} : { group: subject.group }),
      ...(subject.kind === "" ? {} : { kind: subject.kind }),
      causes: errors.map(({ reason, field, message }) => ({ reason, message, field })),
    },
  });
}

/** The first problems, as far as they fit; the first one always does, cut. */
function reported(problems: readonly FieldError[]): readonly FieldError[] {
  const kept: FieldError[] = [];
  let left = CAUSES_BYTES_MAX;
  for (const { reason, field, message } of problems) {
    const shown = { reason, field: cutText(field), message: cutText(message) };
    left -= Buffer.byteLength(JSON.stringify(shown));
    if (kept.length > 0 && (kept.length === CAUSES_MAX || left < 0)) break;
    kept.push(shown);
  }
  return kept;
}

/** UTF-16 units of one text that is not cut, and of what is left of a longer one, whatever JSON makes of it. */
const CAUSE_CHARS_MAX = 20 * 1024;
const CUT_CAUSE_CHARS = 2 * 1024;

function cutText(text: string): string {
  const isShort = text.length <= CAUSE_CHARS_MAX;
  if (isShort && Buffer.byteLength(JSON.stringify(text)) <= CAUSES_BYTES_MAX) return text;
  return `${text.slice(0, CUT_CAUSE_CHARS)}...`;
}

/** 422 about request options rather than about an object. */
export function invalidOptions(
  naming: Naming,
  kind: string,
  errors: readonly FieldError[],
): StatusError {
  return invalid({ group: `meta.${naming.groupDomain}`, kind }, "", errors);
}

/** 429. @param retryAfterSeconds clients send again what is answered with it */
export function tooManyRequests(message: string, retryAfterSeconds?: number): StatusError {
  const details = retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } };
  return failure({ code: 429, reason: "TooManyRequests", message, ...details });
}

/**
 * 429 for an eviction that a PodDisruptionBudget forbids; 0 seconds = the retry time is unknown.
 */
export function disruptionRefused(why: string, retryAfterSeconds: number): StatusError {
  return failure({
    code: 429,
    reason: "TooManyRequests",
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
    details: {
      causes: [{ reason: "DisruptionBudget", message: why }],
      ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }),
    },
  });
}

/** 500 without a reason: kube-apiserver's answer to an eviction that it cannot decide. */
export function evictionUnsupported(message: string): StatusError {
  return failure({ code: 500, message });
}

/** 500 without a reason: the node's agent is unreachable. */
export function nodeUnreachable(message: string, cause?: unknown): StatusError {
  return failure({ code: 500, message, cause });
}

/** Another server's answer, as relayed by the server that called it. */
export function relayedFailure(
  code: number,
  reason: string | undefined,
  message: string,
  details: StatusDetails,
): StatusError {
  return failure({ code, ...(reason !== undefined && { reason }), message, details });
}

/** 500: a defect or a failure that the client cannot fix. */
export function internalError(message: string, cause?: unknown): StatusError {
  return failure({
    code: 500,
    reason: "InternalError",
    message: `Internal error occurred: ${message}`,
    details: { causes: [{ message }] },
    cause,
  });
}

/** 500: an object that its webhook does not convert, in the webhook's words. */
export function failedConversion(message: string, cause?: unknown): StatusError {
  return failure({ code: 500, message, cause });
}

/** Maximum number of keys in a message. */
const UNREADABLE_PATHS_MAX = 100;

/**
 * 500 StoreReadError: unreadable stored objects (S1-UNS-08, S1-UNS-11, S1-UNS-12): their bytes are
 * junk, their metadata is invalid, or their content is not that of their kind. It names them, without
 * their content. Clients take it as the sign of objects that only a forced delete removes.
 */
export function unreadableObjects(paths: readonly string[], cause?: unknown): StatusError {
  return failure({
    code: 500,
    reason: "StoreReadError",
    message: "failed to read one or more objects from storage",
    details: {
      causes: paths.slice(0, UNREADABLE_PATHS_MAX).map((path) => ({
        reason: "UnexpectedServerResponse",
        message: `the stored object at ${JSON.stringify(path)} cannot be read`,
        field: path,
      })),
    },
    cause,
  });
}

export function isUnreadable(error: unknown): error is StatusError {
  return error instanceof StatusError && error.reason === "StoreReadError";
}

/** 503: the store is unreachable or the replica is shutting down. */
export function serviceUnavailable(message: string, cause?: unknown): StatusError {
  return failure({
    code: 503,
    reason: "ServiceUnavailable",
    message,
    details: { retryAfterSeconds: 1 },
    cause,
  });
}

/**
 * 504: a deadline passed. @param retryAfterSeconds for reads alone: clients send again what is answered with
 * one, and a write may have happened
 */
export function timeout(message: string, retryAfterSeconds?: number): StatusError {
  const details = retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } };
  return failure({ code: 504, reason: "Timeout", message, ...details });
}

/** 504: a version that this server has not reached (S1-RV-29). */
export function tooLargeResourceVersion(asked: number | bigint, current: number): StatusError {
  const message = `Too large resource version: ${asked}, current: ${current}`;
  return failure({
    code: 504,
    reason: "Timeout",
    message,
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
  });
}
