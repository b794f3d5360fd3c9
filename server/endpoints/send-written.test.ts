/** Whole answers from pooled memory: reused as soon as it is sent, and never before. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { test } from "node:test";
import { openFront } from "../chain/testing/test-front.js";
import type { RequestContext } from "../request/request-state.js";
import { openTestServer } from "../request/testing/test-server.js";
import { ChunkPool } from "./chunk-pool.js";
import { ChunkWriter } from "./chunk-writer.js";
import { sendWritten } from "./send-written.js";

const BODY_BYTES = 200_000;

/** Answers with a body of one letter, the last of the path, in memory from a pool that is watched. */
function letters(): { memories: Set<Buffer>; handle(ctx: RequestContext): void } {
  const memories = new Set<Buffer>();
  const pool = new (class extends ChunkPool {
    override take(): Buffer {
      const memory = super.take();
      memories.add(memory);
      return memory;
    }
  })();
  const handle = (ctx: RequestContext): void => {
    const out = new ChunkWriter(pool);
    out.putBytes(Buffer.alloc(BODY_BYTES, ctx.path.at(-1)), 0, BODY_BYTES);
    sendWritten(ctx, ["Content-Type", "text/plain"], out);
  };
  return { memories, handle };
}

test("S1-NEG-16: answers of different clients use the same memory, one after another", async () => {
  const { memories, handle } = letters();
  await using server = await openTestServer(handle);
  for (const letter of "abcdefgh") {
    const text = await (await fetch(`${server.url}/${letter}`)).text();
    assert.equal(text, letter.repeat(BODY_BYTES));
  }
  assert.ok(memories.size === 1 || memories.size === 2, `${memories.size} pieces of memory`);
});

test("S1-NEG-16: an answer that a client has not read yet is not overwritten by others", async () => {
  const { handle } = letters();
  await using server = await openTestServer(handle);
  // More than the kernel takes for a connection, so that the last ones wait in the server.
  const asked = "abcdefghij".repeat(10);
  const slow = await server.connect();
  slow.pause();
  const request = (letter: string, index: number) =>
    `GET /${letter} HTTP/1.1\r\nHost: x\r\n${index === asked.length - 1 ? "Connection: close\r\n" : ""}\r\n`;
  slow.write([...asked].map(request).join(""));
  for (const letter of "zyxwvuts".repeat(2)) {
    const text = await (await fetch(`${server.url}/${letter}`)).text();
    assert.equal(text, letter.repeat(BODY_BYTES));
  }
  let received = "";
  slow.setEncoding("latin1");
  for await (const piece of slow) received += piece;
  const bodies = received.split(/HTTP\/1\.1 200 OK\r\n(?:.+\r\n)*\r\n/).slice(1);
  assert.equal(bodies.length, asked.length);
  for (const [index, body] of bodies.entries()) {
    assert.ok(body === (asked[index] ?? "").repeat(BODY_BYTES), `answer ${index}`);
  }
});

test("S1-NEG-16: nor one that a client of HTTP/2 has opened no window for", async () => {
  const { handle } = letters();
  await using front = await openFront({ handler: handle });
  const { key, cert } = front.certificates.admin;
  const ca = front.certificates.servingAuthority;
  const session = connectHttp2(`https://127.0.0.1:${front.port}`, { ca, key, cert });
  const ask = (letter: string) => session.request({ ":path": `/api/v1/pods/${letter}` });
  const slow = ask("a");
  await once(slow, "response");
  for (const letter of "bcdefgh") {
    const stream = ask(letter).setEncoding("latin1");
    let text = "";
    for await (const piece of stream) text += piece;
    assert.ok(text === letter.repeat(BODY_BYTES), letter);
  }
  let text = "";
  for await (const piece of slow.setEncoding("latin1")) text += piece;
  assert.ok(text === "a".repeat(BODY_BYTES));
  session.close();
  await once(session, "close");
});
