/**
 * Proxies a request: both bodies stream with back-pressure, nothing is sent twice, no redirect is followed, and a
 * client's disconnect is passed on.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Pool } from "undici";
import { endWith } from "../../storage/base/trace.js";
import type { Http2Request } from "../request/http2-request.js";
import type { Http2Response } from "../request/http2-response.js";
import type { RequestContext } from "../request/request-state.js";
import { answerHeaders } from "./forwarded-headers.js";

export interface PassedRequest {
  readonly pool: Pool;
  /** With the query, percent-encoded. */
  readonly path: string;
  /** Name and value pairs from forwardedHeaders. */
  readonly headers: readonly string[];
  /** A limit of its own, for the answer with its body. */
  readonly limit?: AbortSignal | undefined;
  /** Transforms the answer. */
  readonly change?: (answer: PassedAnswer) => PassedAnswer;
}

export interface PassedAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Readable;
}

/** @throws {Error} of undici and the network, before the answer begins; the signal's reason */
export async function passRequest(ctx: RequestContext, passed: PassedRequest): Promise<void> {
  const { req, state } = ctx;
  const { limit } = passed;
  const span = state.trace?.call("proxy", { "http.request.method": ctx.method });
  const headers = withContext(passed.headers, span?.traceparent);
  const hasBody = carriesBody(req);
  const length = req.headers["content-length"];
  if (hasBody && length !== undefined) headers.push("content-length", length);
  const asked = passed.pool.request({
    method: ctx.method as "GET",
    path: passed.path,
    headers,
    body: hasBody ? bodyOf(req) : null,
    responseHeaders: "raw",
    signal: limit === undefined ? state.signal : AbortSignal.any([state.signal, limit]),
  });
  const answer = await (span === undefined ? asked : endWith(span, asked));
  const received: PassedAnswer = {
    status: answer.statusCode,
    headers: answerHeaders(answer.headers as unknown as (Buffer | string)[]),
    body: answer.body,
  };
  sendAnswer(ctx, passed.change?.(received) ?? received);
}

/** Begins the answer; the body streams on in the background. */
export function sendAnswer(ctx: RequestContext, { status, headers, body }: PassedAnswer): void {
  const { res, state } = ctx;
  ctx.respond = false;
  res.statusCode = status;
  // Unless the other server says otherwise, nobody keeps what was answered to somebody.
  res.setHeader("Cache-Control", "no-cache, private");
  const byName = new Map<string, string[]>();
  for (const [name, value] of headers) {
    const known = byName.get(name);
    if (known === undefined) byName.set(name, [value]);
    else known.push(value);
  }
  for (const [name, values] of byName) {
    res.setHeader(name, values.length === 1 ? (values[0] as string) : values);
  }
  res.setHeader("Audit-Id", state.auditId);
  // A watch has headers long before its first event.
  res.flushHeaders();
  // An iterator joins what has come meanwhile: an answer in chunks of a byte is not written byte by byte.
  const counted = async function* (pieces: AsyncIterable<Buffer>) {
    for await (const piece of pieces) {
      state.bytesSent += piece.length;
      yield piece;
    }
  };
  // A handler ends when its answer is under way; a broken answer is cut, so that it does not look complete.
  void pipeline(body, counted, streamOf(res)).catch(() => res.destroy());
}

function bodyOf(request: IncomingMessage | Http2Request): Readable {
  return "toReadable" in request ? request.toReadable() : request;
}

function streamOf(response: ServerResponse | Http2Response): Writable {
  return "stream" in response ? response.stream : response;
}

/** A traced call replaces the client's trace header with its own. */
function withContext(headers: readonly string[], traceparent: string | undefined): string[] {
  if (traceparent === undefined) return [...headers];
  const others = headers.filter((_text, at) => !/^trace(parent|state)$/i.test(nameAt(headers, at)));
  return [...others, "traceparent", traceparent];
}

/** The name of the pair at this index. */
function nameAt(headers: readonly string[], at: number): string {
  return headers[at - (at % 2)] ?? "";
}

function carriesBody(request: IncomingMessage | Http2Request): boolean {
  const length = request.headers["content-length"];
  if (length !== undefined) return length !== "0";
  if (request.httpVersionMajor < 2) return request.headers["transfer-encoding"] !== undefined;
  return !(request as Http2Request).stream.endAfterHeaders;
}
