import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { test } from "node:test";
import { closeWithConnection } from "./queued-responses.js";

test("every response of a connection closes once, whether its turn had come or not", async () => {
  const REQUESTS = 4;
  const responses: ServerResponse[] = [];
  const closed: ServerResponse[] = [];
  const server = createServer((request, response) => {
    if (response.socket === null) closeWithConnection(request.socket, response);
    responses.push(response);
    response.once("close", () => assert.ok(response.closed && response.destroyed));
    response.on("close", () => closed.push(response));
    if (responses.length === REQUESTS) server.emit("all");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(REQUESTS));
  await once(server, "all");

  responses[0]?.end("the first");
  await once(socket, "data");
  const peer = responses[1]?.socket;
  assert.ok(peer, "the second has its turn");
  socket.destroy();
  await once(peer, "close");
  await new Promise((resolve) => setImmediate(resolve));
  server.close();

  assert.equal(new Set(closed).size, REQUESTS);
  assert.equal(closed.length, REQUESTS);
});
