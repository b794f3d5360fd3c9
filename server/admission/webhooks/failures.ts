/**
 * Failed webhook calls, with the messages of kube-apiserver: the webhook refused, or gave no usable
 * answer and the failure policy decides.
 */
import { firstOf } from "../../api/shown-value.js";
import { internalError, type Status, StatusError } from "../../api/status.js";
import { TransportError } from "../../client/https-client.js";
import { describeCertificateError } from "../../outbound/failures.js";

/** No usable answer. */
export class CallFailure extends Error {
  override readonly name = "CallFailure";

  /** In kube-apiserver's measures: what the webhook answered, else that it is unavailable. */
  readonly code: number;

  constructor(
    hook: string,
    reason: string,
    { cause, code = 503 }: { readonly cause?: unknown; readonly code?: number } = {},
  ) {
    super(`failed calling webhook ${JSON.stringify(hook)}: ${reason}`, { cause });
    this.code = code;
  }

  /** Whether nobody waited for the answer any more. */
  get isCanceled(): boolean {
    return this.cause instanceof TransportError && this.cause.kind === "canceled";
  }

  /** The error for the client unless failures are ignored. */
  toStatus(): StatusError {
    return internalError(this.message, this);
  }
}

/** The lowest status code of a refusal. */
const CODE_MIN = 400;
/** Longer messages and reasons of webhooks are cut, and longer details left out: a refusal has at most 64 KiB. */
const MESSAGE_CHARS_MAX = 32 * 1024;
const REASON_CHARS_MAX = 1024;
const DETAILS_CHARS_MAX = 16 * 1024;

type Members = Readonly<Record<string, unknown>>;

/** The refusal for the client, with the valid parts of the webhook's Status. */
export function refusalOf(hook: string, result: Members | undefined): StatusError {
  const deniedBy = `admission webhook ${JSON.stringify(hook)} denied the request`;
  const { code, message, reason, details, metadata: _metadata } = result ?? {};
  const said = [message, reason].find((text) => typeof text === "string" && text !== "");
  const why =
    said === undefined ? " without explanation" : `: ${firstOf(String(said), MESSAGE_CHARS_MAX)}`;
  const isCode = typeof code === "number" && Number.isInteger(code) && code >= CODE_MIN;
  const status: Status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: `${deniedBy}${why}`,
    ...(typeof reason === "string" &&
      reason !== "" && { reason: firstOf(reason, REASON_CHARS_MAX) }),
    ...(typeof details === "object" &&
      details !== null &&
      JSON.stringify(details).length <= DETAILS_CHARS_MAX && { details }),
    code: isCode && code < 1000 ? code : CODE_MIN,
  };
  return new StatusError(status);
}

/** Messages for error codes, as client libraries word them. */
const HTTP_ERRORS: Readonly<Record<number, string>> = {
  400: "the server rejected our request for an unknown reason",
  401: "the server has asked for the client to provide credentials",
  404: "the server could not find the requested resource",
  405: "the server does not allow this method on the requested resource",
  406: "the server was unable to respond with a content type that the client supports",
  413: "the request is too large",
  415: "the body of the request was in an unknown format",
  429: "the server has received too many requests and has asked us to try again later",
  503: "the server is currently unable to handle the request",
  504: "the server was unable to return a response in the time allotted, but may still be processing the request",
};

export function describeHttpError(code: number, body: Buffer): string {
  const shown = body.toString("utf8", 0, 2_048).trim();
  if (code >= 300 && code < 400) return `redirects are not followed (the server answered ${code})`;
  const known = HTTP_ERRORS[code];
  if (known !== undefined) return known;
  if (code >= 500) {
    return `an error on the server (${JSON.stringify(shown || "unknown")}) has prevented the request from succeeding`;
  }
  return `the server responded with the status code ${code} but did not return more details`;
}

/** Messages for Node's connection error codes, in the words that people search for. */
const CONNECTION_ERRORS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connect: connection refused",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "server misbehaving",
  EHOSTUNREACH: "connect: no route to host",
  ECONNRESET: "read: connection reset by peer",
  EPIPE: "write: broken pipe",
  ENETUNREACH: "connect: network is unreachable",
};

export function describeTransportError(error: TransportError): string {
  if (error.kind === "timeout") return "context deadline exceeded";
  if (error.kind === "canceled") return "context canceled";
  const { code = "" } = (error.cause ?? {}) as NodeJS.ErrnoException;
  if (error.kind === "reset" && code !== "ECONNRESET" && code !== "EPIPE") return "EOF";
  const refused = describeCertificateError(error.cause ?? error);
  return refused ?? CONNECTION_ERRORS[code] ?? error.message;
}
