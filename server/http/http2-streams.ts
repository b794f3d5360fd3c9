/**
 * Makes requests of HTTP/2 streams. Clients that ask for a tunnel or have expectations are answered as
 * over HTTP/1.1.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { TLSSocket } from "node:tls";
import { Http2Request } from "../request/http2-request.js";
import { Http2Response } from "../request/http2-response.js";
import type { RequestListener } from "./request-listener.js";

export interface OpenedStream {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: string[];
  readonly socket: TLSSocket;
  /** The connection's, told what readers take of its bodies. */
  readonly bodyTaken: (bytes: number) => void;
}

export function takeStream(opened: OpenedStream, handle: RequestListener): void {
  const { stream, headers } = opened;
  // The client may have given up already.
  if (stream.destroyed || stream.closed) {
    stream.on("error", ignore);
    return;
  }
  const { expect } = headers;
  if (headers[":method"] === "CONNECT") refuse(stream, 405);
  else if (expect !== undefined && expect !== "100-continue") refuse(stream, 417);
  else {
    if (expect !== undefined) stream.additionalHeaders({ ":status": 100 });
    handle(...exchangeOf(opened));
  }
}

/** Of the members of HTTP/1.1's, they have those that are used. */
function exchangeOf({ stream, headers, rawHeaders, socket, bodyTaken }: OpenedStream) {
  return [
    new Http2Request(stream, headers, rawHeaders, socket, bodyTaken) as unknown as IncomingMessage,
    new Http2Response(stream) as unknown as ServerResponse,
  ] as const;
}

function refuse(stream: ServerHttp2Stream, status: number): void {
  stream.on("error", ignore);
  stream.respond({ ":status": status }, { endStream: true });
}

function ignore(): void {}
