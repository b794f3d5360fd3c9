/**
 * Proxies an upgrade: the server is asked for the protocol first. If it accepts, the client is told and
 * bytes flow both ways. A refusal (400 and above) is the client's; any other answer is an error, as a redirect
 * would lead the client, with its credentials, where the server likes (CVE-2020-8559).
 */
import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import { type Duplex, Readable } from "node:stream";
import type { Dispatcher, Pool } from "undici";
import type { RequestContext } from "../request/request-state.js";
import type { Upgrade } from "../request/upgrade.js";
import { answerHeaders } from "./forwarded-headers.js";
import { sendAnswer } from "./pass-request.js";

export interface UpgradeRequest {
  readonly pool: Pool;
  readonly method: string;
  readonly path: string;
  /** Name and value pairs, without those that request the upgrade. */
  readonly headers: readonly string[];
  readonly protocol: string;
  readonly signal: AbortSignal;
}

export type UpgradeOutcome =
  | {
      readonly type: "agreed";
      readonly headers: IncomingHttpHeaders;
      readonly socket: Duplex;
    }
  | {
      readonly type: "answered";
      readonly status: number;
      readonly headers: readonly (readonly [string, string])[];
      readonly body: Buffer;
    };

/** The server neither switched the protocol nor refused to. */
export class InvalidUpgrade extends Error {
  override readonly name = "InvalidUpgrade";

  constructor(status: number) {
    super(`invalid upgrade response: status code ${status}`);
  }
}

/** The lowest status of a refusal. */
const REFUSAL_MIN = 400;
/** The limit of a refusal's text; the rest is cut. */
const ANSWER_BYTES_MAX = 64 * 1024;
/** The server's time limit for accepting; container runtimes are slow. */
const ANSWER_TIMEOUT_MS = 120_000;
/** How long one direction may continue after the other has ended. */
const LINGER_MS = 10_000;

/** @throws {InvalidUpgrade}; {Error} of undici and the network; the signal's reason */
export function openUpgrade(request: UpgradeRequest): Promise<UpgradeOutcome> {
  const { pool, method, path, headers, protocol, signal } = request;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let kept = 0;
    let answer: { status: number; headers: [string, string][] } | undefined;
    let abort = () => reject(signal.reason);
    const onAbort = () => abort();
    const settle = (what: () => void) => {
      signal.removeEventListener("abort", onAbort);
      what();
    };
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) return settle(abort);
    const options = { method: method as "GET", path, headers: [...headers] };
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(controller) {
        abort = () => controller.abort(signal.reason as Error);
        if (signal.aborted) abort();
      },
      onRequestUpgrade(_controller, _status, received, socket) {
        socket.on("error", () => {});
        settle(() => resolve({ type: "agreed", headers: received, socket }));
      },
      onResponseStart(controller, status) {
        if (status < REFUSAL_MIN) {
          controller.abort(new InvalidUpgrade(status));
          return;
        }
        const raw = (controller as unknown as { rawHeaders: (Buffer | string)[] }).rawHeaders;
        answer = { status, headers: answerHeaders(raw) };
      },
      onResponseData(_controller, chunk) {
        const room = ANSWER_BYTES_MAX - kept;
        if (room > 0) chunks.push(Buffer.from(chunk.subarray(0, room)));
        kept += chunk.length;
      },
      onResponseEnd() {
        const { status, headers: received } = answer ?? { status: 502, headers: [] };
        const body = Buffer.concat(chunks);
        settle(() => resolve({ type: "answered", status, headers: received, body }));
      },
      onResponseError(_controller, error) {
        settle(() => reject(signal.aborted ? signal.reason : error));
      },
    };
    const timeouts = { headersTimeout: ANSWER_TIMEOUT_MS, bodyTimeout: LINGER_MS };
    pool.dispatch({ ...options, ...timeouts, upgrade: protocol }, handler);
  });
}

/** Sends the server's answer to the client, and joins the connections if it accepted. */
export function passOutcome(
  ctx: RequestContext,
  { socket, head }: Pick<Upgrade, "socket" | "head">,
  outcome: UpgradeOutcome,
): void {
  if (outcome.type === "answered") {
    const { status, headers, body } = outcome;
    sendAnswer(ctx, {
      status,
      headers: headers.filter(([name]) => name.toLowerCase() !== "content-length"),
      body: Readable.from(body.length === 0 ? [] : [body]),
    });
    return;
  }
  ctx.status = 101;
  ctx.respond = false;
  const lines = Object.entries(outcome.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((one) => `${name}: ${one}`),
  );
  lines.push(`Audit-Id: ${ctx.state.auditId}`);
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("\r\n")}\r\n\r\n`);
  if (head.length > 0) outcome.socket.write(head);
  joinSockets(socket, outcome.socket);
}

/** Bytes flow both ways until both sides have ended; an error on one ends the other. */
export function joinSockets(client: Socket | Duplex, server: Duplex): void {
  let timer: NodeJS.Timeout | undefined;
  if ("setTimeout" in client) client.setTimeout(0);
  const cut = () => {
    clearTimeout(timer);
    client.destroy();
    server.destroy();
  };
  const linger = () => {
    timer ??= setTimeout(cut, LINGER_MS);
  };
  for (const side of [client, server]) side.on("error", cut).on("close", cut).once("end", linger);
  if (client.destroyed || server.destroyed) {
    cut();
    return;
  }
  client.pipe(server);
  server.pipe(client);
}
