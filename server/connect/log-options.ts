/** PodLogOptions: selects a part of a container's log, validated as in kube-apiserver. */

import { forbiddenField, invalidValue, unsupportedValue } from "../api/field-errors.js";
import { Problems } from "../api/problems.js";
import { badRequest, type FieldError } from "../api/status.js";
import { booleanParameter, type Query } from "../request/query.js";
import { integer } from "./options.js";

export interface LogOptions {
  readonly container: string;
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly skipsVerification: boolean;
  readonly sinceSeconds?: number;
  /** As it was sent, RFC 3339. */
  readonly sinceTime?: string;
  readonly tailLines?: number;
  readonly limitBytes?: number;
  /** "All", "Stdout" or "Stderr"; undefined = not given, or the feature is off. */
  readonly stream?: string;
}

const STREAMS = ["All", "Stderr", "Stdout"];
const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/;

/** @throws {StatusError} 400 for an invalid number or time */
export function logOptions(query: Query, hasStreams: boolean): LogOptions {
  const since = query.get("sinceTime") ?? "";
  const stream = query.get("stream");
  if (since !== "" && !(RFC_3339.test(since) && Number.isFinite(Date.parse(since)))) {
    const layout = "2006-01-02T15:04:05Z07:00";
    throw badRequest(`parsing time ${JSON.stringify(since)} as ${JSON.stringify(layout)}`);
  }
  return {
    container: query.get("container") ?? "",
    follow: booleanParameter(query, "follow"),
    previous: booleanParameter(query, "previous"),
    timestamps: booleanParameter(query, "timestamps"),
    skipsVerification: booleanParameter(query, "insecureSkipTLSVerifyBackend"),
    ...numbers(query, ["sinceSeconds", "tailLines", "limitBytes"]),
    ...(since !== "" && { sinceTime: since }),
    ...(hasStreams && stream !== undefined && { stream }),
  };
}

/** The validation errors of parsed options. */
export function problemsOfLogOptions(options: LogOptions): FieldError[] {
  const problems = new Problems();
  const { tailLines, limitBytes, sinceSeconds, sinceTime, stream } = options;
  if (tailLines !== undefined && tailLines < 0) {
    problems.push(invalidValue("tailLines", tailLines, "must be greater than or equal to 0"));
  }
  if (limitBytes !== undefined && limitBytes < 1) {
    problems.push(invalidValue("limitBytes", limitBytes, "must be greater than 0"));
  }
  if (sinceSeconds !== undefined && sinceTime !== undefined) {
    const why = "at most one of `sinceTime` or `sinceSeconds` may be specified";
    problems.push(forbiddenField("", why));
  } else if (sinceSeconds !== undefined && sinceSeconds < 1) {
    problems.push(invalidValue("sinceSeconds", sinceSeconds, "must be greater than 0"));
  }
  if (stream === undefined) return problems;
  if (!STREAMS.includes(stream)) problems.push(unsupportedValue("stream", stream, STREAMS));
  if (stream !== "All" && tailLines !== undefined) {
    const why = "`tailLines` and specific `stream` are mutually exclusive for now";
    problems.push(forbiddenField("", why));
  }
  return problems;
}

/** The query for a node agent, sorted by name. */
export function logParameters(options: LogOptions, hasStreams: boolean): string {
  const { follow, previous, timestamps, sinceSeconds, sinceTime, tailLines, limitBytes } = options;
  const { stream = "All" } = options;
  const parameters = new URLSearchParams();
  if (follow) parameters.append("follow", "true");
  if (limitBytes !== undefined) parameters.append("limitBytes", String(limitBytes));
  if (previous) parameters.append("previous", "true");
  if (sinceSeconds !== undefined) parameters.append("sinceSeconds", String(sinceSeconds));
  if (sinceTime !== undefined) parameters.append("sinceTime", sinceTime);
  if (hasStreams) parameters.append("stream", stream);
  if (tailLines !== undefined) parameters.append("tailLines", String(tailLines));
  if (timestamps) parameters.append("timestamps", "true");
  return parameters.toString();
}

function numbers<Name extends string>(
  query: Query,
  names: readonly Name[],
): Partial<Record<Name, number>> {
  const found: Partial<Record<Name, number>> = {};
  for (const name of names) {
    const text = query.get(name);
    if (text !== undefined && text !== "") found[name] = integer(text, 64);
  }
  return found;
}
