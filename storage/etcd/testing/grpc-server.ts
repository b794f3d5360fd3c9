/**
 * A server of Node's HTTP/2 that handles each gRPC call as a test says, and the ways in which a call can
 * end: both clients of etcd must behave the same on them.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import {
  constants,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { RpcError } from "../errors.js";

export interface GrpcServer extends AsyncDisposable {
  readonly port: number;
}

export async function startGrpcServer(
  onStream: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
  settings = {},
): Promise<GrpcServer> {
  const server = createServer({ settings });
  server.on("stream", (stream, headers) => {
    stream.on("error", () => {});
    onStream(stream, headers);
  });
  server.on("session", (session) => session.on("error", () => {}));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close();
    },
  };
}

/** A message with its prefix: not compressed, and its length. */
export function framed(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

/** Answers with these messages and an OK status. */
export function answer(stream: ServerHttp2Stream, messages: readonly (string | Buffer)[]): void {
  stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  for (const message of messages) stream.write(framed(message));
  stream.end();
}

/** A refusal with non-ASCII text. */
export const DENIED_TEXT = "etcdserver: permission denied: ü";
export function deny(stream: ServerHttp2Stream): void {
  const message = encodeURIComponent(DENIED_TEXT);
  stream.respond({ "grpc-status": "7", "grpc-message": message }, { endStream: true });
}

export const refuse = (stream: ServerHttp2Stream): void =>
  stream.close(constants.NGHTTP2_REFUSED_STREAM);

/** Ends of a call that leave open whether the request was executed. */
export const OPEN_ENDS: readonly ((stream: ServerHttp2Stream) => void)[] = [
  (stream) => stream.session?.destroy(),
  (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
  (stream) => stream.close(constants.NGHTTP2_CANCEL),
  (stream) => stream.respond({ ":status": 503 }, { endStream: true }),
  (stream) => stream.respond({ "grpc-status": "14" }, { endStream: true }),
  (stream) => answer(stream, []),
];

export async function failureOf(promise: Promise<unknown>): Promise<RpcError> {
  const failure = await promise.catch((error: unknown) => error);
  assert.ok(failure instanceof RpcError, String(failure));
  return failure;
}
