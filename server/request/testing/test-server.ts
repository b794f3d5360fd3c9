/**
 * A plain HTTP server around one handler, with the context that the real chain gives it: for tests
 * of this folder.
 */

import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import Koa from "koa";
import { StatusError } from "../../api/status.js";
import { AnswersTogether } from "../answers-together.js";
import { type RequestContext, RequestState } from "../request-state.js";

export interface TestServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** A raw connection. */
  connect(): Promise<Socket>;
}

export async function openTestServer(
  handle: (ctx: RequestContext) => void | Promise<void>,
): Promise<TestServer> {
  const app = new Koa<RequestState>();
  app.silent = true;
  app.use(async (ctx) => {
    ctx.state = new RequestState({
      auditId: "a",
      receivedAtMs: performance.now(),
      request: ctx.req,
      response: ctx.res,
      answersTogether: new AnswersTogether(),
    });
    try {
      await handle(ctx);
    } catch (error) {
      if (ctx.headerSent) throw error;
      ctx.status = error instanceof StatusError ? error.code : 500;
      ctx.body = error instanceof Error ? error.message : "";
    }
  });
  const server = createServer(app.callback());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async connect() {
      const socket = connect(port, "127.0.0.1");
      await once(socket, "connect");
      socket.on("error", () => {});
      return socket;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** A promise that is resolved from outside. */
export function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
