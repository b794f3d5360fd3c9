/** Kept-alive connections: a request sent right behind a large answer is read. */
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { test } from "node:test";
import { openFront } from "../chain/testing/test-front.js";

/**
 * More than a connection's buffers, so that it is still being sent when the next request arrives.
 */
const ANSWER_BYTES = 20_000_000;
const BODY = "b".repeat(20_000);
const REQUESTS = 3;
const PODS = "/api/v1/namespaces/default/pods";

test("a request in several pieces behind a large answer is read, not cut off", async () => {
  await using front = await openFront({
    async handler(ctx) {
      let bytes = 0;
      for await (const chunk of ctx.req) bytes += (chunk as Buffer).length;
      ctx.body = String(bytes).padEnd(ANSWER_BYTES);
    },
  });
  const socket = await front.connect();
  const send = () => {
    socket.write(`POST ${PODS} HTTP/1.1\r\nHost: x\r\nContent-Length: ${BODY.length}\r\n\r\n`);
    // Separate TLS records that arrive together.
    for (let at = 0; at < BODY.length; at += 2_000) socket.write(BODY.slice(at, at + 2_000));
  };
  send();
  const [first] = await once(socket, "data");
  socket.pause();
  socket.cork();
  for (let request = 1; request < REQUESTS; request++) send();
  socket.uncork();

  let received = String(first).length;
  let heads = String(first).slice(0, 12);
  socket.on("error", () => {});
  const done = new Promise<void>((resolve) => {
    socket.once("close", resolve);
    socket.on("data", (bytes: Buffer) => {
      received += bytes.length;
      for (const at of bytes.toString("latin1").matchAll(/HTTP\/1\.1 \d+/g)) heads += ` ${at[0]}`;
      if (received >= REQUESTS * ANSWER_BYTES) resolve();
    });
  });
  socket.resume();
  await done;
  socket.destroy();
  assert.equal(heads, "HTTP/1.1 200 HTTP/1.1 200 HTTP/1.1 200");
});

test("a request whose body comes later, behind a large answer, is read as well", async () => {
  let calls = 0;
  const arrivals = new EventEmitter();
  const second = once(arrivals, "second");
  await using front = await openFront({
    async handler(ctx) {
      if (++calls === 2) arrivals.emit("second");
      let bytes = 0;
      for await (const chunk of ctx.req) bytes += (chunk as Buffer).length;
      ctx.body = String(bytes).padEnd(calls === 1 ? ANSWER_BYTES : 3);
    },
  });
  const socket = await front.connect();
  const head = (length: number) =>
    `POST ${PODS} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`;
  socket.write(head(0));
  await once(socket, "data");
  socket.pause();
  socket.write(head(2));
  // It begins once the answer before it has been sent; the rest of it arrives behind that.
  let last = "";
  const answered = new Promise<void>((resolve) => {
    socket.on("data", (bytes: Buffer) => {
      last = (last + bytes.toString("latin1")).slice(-400);
      if (last.endsWith("2  ")) resolve();
    });
  });
  socket.resume();
  await second;
  socket.write("ab");
  await answered;
  assert.match(last, /\r\n\r\n2 {2}$/);
  socket.write(head(3));
  socket.write("abc");
  await once(socket, "data");
  assert.match(last, /\r\n\r\n3 {2}$/);
  socket.destroy();
});
