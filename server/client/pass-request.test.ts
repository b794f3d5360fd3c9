/** How the answers of other servers reach the client. */
import assert from "node:assert/strict";
import { Readable, Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { test } from "node:test";
import type { RequestContext } from "../request/request-state.js";
import { sendAnswer } from "./pass-request.js";

test("39.3: an answer in ten thousand chunks of a byte is passed on in few pieces", async () => {
  let writes = 0;
  let bytes = 0;
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      writes++;
      bytes += chunk.length;
      done();
    },
  });
  const res = Object.assign(sink, { setHeader() {}, flushHeaders() {} });
  const state = { auditId: "1", bytesSent: 0 };
  const body = new Readable({ read() {} });
  sendAnswer({ res, state } as unknown as RequestContext, { status: 200, headers: [], body });
  for (let index = 0; index < 10_000; index++) body.push("x");
  body.push(null);
  await finished(sink);
  assert.deepEqual([bytes, state.bytesSent], [10_000, 10_000]);
  assert.ok(writes < 100, String(writes));
});
