/** What a client of a WebSocket sends without being asked costs the others little. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { test } from "node:test";
import { createNaming } from "../api/naming.js";
import type { RequestContext } from "../request/request-state.js";
import { openWebSocketSink, webSocketOptions } from "./web-socket-sink.js";

/** An empty ping, as clients have to mask it (RFC 6455, 5.2). */
const PING = Buffer.from([0x89, 0x80, 1, 2, 3, 4]);
const PINGS = 100;

test("39.2: of a hundred pings that were sent together one is looked at in each turn", async () => {
  const server = createServer();
  let inTurn = 0;
  let turns = 0;
  let mostInTurn = 0;
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const ctx = { req: request, state: { commonHeaders: () => [] } } as unknown as RequestContext;
    openWebSocketSink(ctx, { request, socket, head }, webSocketOptions(createNaming("kubernetes")));
    const { write } = socket;
    socket.write = (...args: unknown[]) => {
      mostInTurn = Math.max(mostInTurn, ++inTurn);
      if (inTurn === 1) {
        turns++;
        setImmediate(() => {
          inTurn = 0;
        });
      }
      return Reflect.apply(write, socket, args) as boolean;
    };
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const head = [
    "GET / HTTP/1.1",
    "Host: a",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
  ];
  client.write(`${head.join("\r\n")}\r\n\r\n`);
  await once(client, "data");
  client.write(Buffer.concat(Array(PINGS).fill(PING)));
  let received = 0;
  for await (const data of client) {
    received += (data as Buffer).length;
    // A pong without a mask is two bytes.
    if (received === 2 * PINGS) break;
  }
  client.destroy();
  server.close();
  assert.deepEqual({ turns, mostInTurn }, { turns: PINGS, mostInTurn: 1 });
});
