/** A server of Node's HTTP/2 and a LeanConnection to it. */
import type { ServerHttp2Stream } from "node:http2";
import { dialLean } from "../dial-lean.js";
import type { LeanConnection } from "../lean-connection.js";
import { startGrpcServer } from "./grpc-server.js";

export interface LeanServer extends AsyncDisposable {
  readonly connection: LeanConnection;
}

/** @param settings those of HTTP/2 that the server announces */
export async function startLeanServer(
  onStream: (stream: ServerHttp2Stream) => void,
  settings = {},
): Promise<LeanServer> {
  const server = await startGrpcServer(onStream, settings);
  const connection = await dialLean({
    url: `http://127.0.0.1:${server.port}`,
    tls: undefined,
    timeoutMs: 5_000,
    signal: new AbortController().signal,
    pingAfterTicks: 11,
    lostAfterTicks: 5,
    onClose() {},
  });
  return {
    connection,
    [Symbol.asyncDispose]: async () => {
      connection.destroy(new Error("the test is over"));
      await server[Symbol.asyncDispose]();
    },
  };
}
