/** Clients are told to reconnect elsewhere, while requests under way continue. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:http2";
import { test } from "node:test";
import { openFront } from "../chain/testing/test-front.js";

const ALWAYS = 1;
const HTTP1 = "GET /version HTTP/1.1\r\nHost: x\r\n\r\n";

test("CARD-07: with a chance of GOAWAY, HTTP/1.1 is told to close after the answer", async () => {
  for (const [goawayChance, expected] of [
    [ALWAYS, /^connection: close\r$/im],
    [0, /^connection: keep-alive\r$/im],
  ] as const) {
    await using front = await openFront({ goawayChance });
    const socket = await front.connect();
    socket.write(HTTP1);
    const [answer] = await once(socket, "data");
    assert.match(String(answer), expected);
    socket.destroy();
  }
});

test("CARD-07: with a chance of GOAWAY, HTTP/2 gets it, and the streams that are open finish", async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await using front = await openFront({
    goawayChance: ALWAYS,
    async handler(ctx) {
      await held;
      ctx.body = "finished";
    },
  });
  const session = connect(`https://127.0.0.1:${front.port}`, {
    ca: front.certificates.servingAuthority,
    ...front.certificates.admin,
  });
  const away = once(session, "goaway");
  const stream = session.request({ ":path": "/api/v1/namespaces/default/pods" });
  const [code] = await away;
  assert.equal(code, 0);
  release();
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  assert.equal(text, "finished");
  await once(session, "close");
});

test("CARD-07: requests that are read together with the one that GOAWAY follows are all answered", async () => {
  await using front = await openFront({
    goawayChance: ALWAYS,
    async handler(ctx) {
      ctx.body = "finished";
    },
  });
  const session = connect(`https://127.0.0.1:${front.port}`, {
    ca: front.certificates.servingAuthority,
    ...front.certificates.admin,
  });
  await once(session, "connect");
  // In one write, so that the server parses them in one go: closing the session in the midst of that corrupted memory.
  const statuses = Array.from({ length: 20 }, async () => {
    const stream = session.request({ ":path": "/api/v1/namespaces/default/pods" });
    stream.resume();
    const [headers] = await once(stream, "response");
    return (headers as { ":status": number })[":status"];
  });
  assert.deepEqual(await Promise.all(statuses), Array(20).fill(200));
});
