/** Request lines that Node.js takes, and that no step knows what to do with (39): each is refused, none is a defect. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import { openFront } from "../chain/testing/test-front.js";

const front = await openFront();
after(() => front[Symbol.asyncDispose]());

async function statusOf(line: string, more = ""): Promise<string> {
  // Nobody's connection: it would end after the answer.
  const socket = await front.connect({ key: "", cert: "" });
  socket.write(`${line}\r\nHost: x\r\n${more}\r\n`);
  const [bytes] = await once(socket, "data");
  socket.destroy();
  return String(bytes).slice(9, 12);
}

const lines: readonly (readonly [status: string, line: string, more?: string])[] = [
  ["505", "GET /version HTTP/2.0"],
  ["505", "GET /version HTTP/0.9"],
  ["505", "GET /version HTTP/2.0", "Connection: Upgrade\r\nUpgrade: websocket\r\n"],
  ["400", "GET http://[::1/api HTTP/1.1"],
  ["400", "GET http://a^b/version HTTP/1.1"],
  ["400", "GET http://a:99999999/version HTTP/1.1"],
  ["200", "GET /version HTTP/1.1"],
  ["200", "GET /version HTTP/1.0"],
  ["200", "GET http://[::1]/version HTTP/1.1"],
  ["200", "GET https://x:1/version?a HTTP/1.1"],
  ["403", "GET http://x?a=/version HTTP/1.1"],
  ["403", "OPTIONS * HTTP/1.1"],
];
for (const [status, line, more] of lines) {
  test(`39: ${line}${more === undefined ? "" : ", with an upgrade"}: ${status}`, async () => {
    assert.equal(await statusOf(line, more), status);
    assert.deepEqual(front.logged, []);
  });
}
