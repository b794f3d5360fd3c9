/**
 * Passing one request on to the server behind an APIService: bodies of both sides stream with
 * back-pressure, nothing that was sent is sent again, redirects are the client's affair, and when the
 * client goes the other side hears of it.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { errors } from "undici";
import { serviceUnavailable } from "../api/status.js";
import type { RequestContext } from "../request/request-state.js";
import { upgradeTo } from "../request/upgrade.js";
import { answerHeaders, forwardedHeaders } from "./forwarded-headers.js";
import type { RemoteServer } from "./remote-server.js";
import { UnreachableService } from "./service-address.js";

/** @throws {StatusError} 503 when the service cannot be reached, and the signal's reason */
export async function passOn(ctx: RequestContext, remote: RemoteServer): Promise<void> {
  const { state, req } = ctx;
  const headers = forwardedHeaders({
    headers: req.headers,
    user: state.user,
    auditId: state.auditId,
    remoteAddress: req.socket?.remoteAddress ?? "",
    host: ctx.host,
    uri: req.url ?? "",
  });
  const upgrade = upgradeTo(req);
  try {
    if (upgrade !== undefined) await passUpgradeOn(ctx, remote, headers, upgrade);
    else await passRequestOn(ctx, remote, headers);
  } catch (error) {
    if (state.signal.aborted) throw state.signal.reason;
    if (ctx.headerSent) throw error;
    throw serviceUnavailable(`error trying to reach service: ${describe(error)}`);
  }
}

async function passRequestOn(
  ctx: RequestContext,
  remote: RemoteServer,
  headers: string[],
): Promise<void> {
  const { req, res, state } = ctx;
  const length = req.headers["content-length"];
  const hasBody = ctx.method !== "GET" && ctx.method !== "HEAD" && length !== "0";
  if (hasBody && length !== undefined) headers.push("content-length", length);
  const answer = await remote.pool().request({
    method: ctx.method as "GET",
    path: req.url ?? "/",
    headers,
    body: hasBody ? (req as IncomingMessage) : null,
    responseHeaders: "raw",
    signal: state.signal,
  });
  const received = answer.headers as unknown as (Buffer | string)[];
  ctx.respond = false;
  res.statusCode = answer.statusCode;
  const multiple = new Map<string, string[]>();
  for (const [name, value] of answerHeaders(received)) {
    const known = multiple.get(name);
    if (known === undefined) multiple.set(name, [value]);
    else known.push(value);
  }
  for (const [name, values] of multiple) {
    res.setHeader(name, values.length === 1 ? (values[0] as string) : values);
  }
  res.setHeader("Audit-Id", state.auditId);
  // A watch has headers long before its first event.
  res.flushHeaders();
  answer.body.on("data", (chunk: Buffer) => {
    state.bytesSent += chunk.length;
  });
  // A handler is done when its answer is under way; a broken one is cut, so that nobody takes it for whole.
  void pipeline(answer.body, res).catch(() => res.destroy());
}

async function passUpgradeOn(
  ctx: RequestContext,
  remote: RemoteServer,
  headers: string[],
  { protocol, socket, head }: { protocol: string; socket: Socket; head: Buffer },
): Promise<void> {
  const { headers: received, socket: other } = await remote.pool().upgrade({
    method: ctx.method,
    path: ctx.req.url ?? "/",
    headers: pairsToObject(headers),
    protocol,
    signal: ctx.state.signal,
  });
  ctx.status = 101;
  ctx.respond = false;
  const lines = Object.entries(received).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((one) => `${name}: ${one}`),
  );
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("\r\n")}\r\n\r\n`);
  if (head.length > 0) other.write(head);
  join(socket, other);
}

/** Bytes go both ways until both sides have ended; an error on one ends the other. */
function join(client: Socket, server: Duplex): void {
  client.setTimeout(0);
  const end = () => {
    client.destroy();
    server.destroy();
  };
  client.on("error", end).on("close", end);
  server.on("error", end).on("close", end);
  client.pipe(server);
  server.pipe(client);
}

function pairsToObject(pairs: readonly string[]): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    const [name, value] = [pairs[i] ?? "", pairs[i + 1] ?? ""];
    const known = headers[name];
    headers[name] = known === undefined ? value : [known, value].flat();
  }
  return headers;
}

/** What happened, for people; never what was sent. */
function describe(error: unknown): string {
  if (error instanceof UnreachableService) return error.message;
  if (error instanceof errors.UndiciError) return error.message;
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined || message.includes(code) ? message : `${code}: ${message}`;
}
