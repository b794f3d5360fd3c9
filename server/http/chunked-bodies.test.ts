/** Chunks are counted before anybody reads them. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { test } from "node:test";
import { countChunks } from "./chunked-bodies.js";

const HEAD = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

test("39.2: of a body in chunks of a byte no more than a thousand are kept, and its connection ends, though nobody reads it", async () => {
  let counted = 0;
  let asked: IncomingMessage | undefined;
  const server = createServer((request) => {
    asked = request;
    request.on("error", () => {});
    countChunks(request, { begunAlone: () => counted++ });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(HEAD + "1\r\nx\r\n".repeat(9_000));
  await new Promise((resolve) => socket.resume().once("close", resolve));
  server.close();
  assert.ok(counted > 1_024, `${counted} chunks were counted`);
  assert.ok((asked?.readableLength ?? 0) <= 1_025, `${asked?.readableLength} are kept`);
});
