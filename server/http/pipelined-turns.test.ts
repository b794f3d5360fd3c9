/** Requests of one HTTP/1.1 connection are begun one after the other, however many are sent at once. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { test } from "node:test";
import { PipelinedTurns } from "./pipelined-turns.js";

const request = (at: number) => `GET /${at} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
const requests = (count: number) => Array.from({ length: count }, (_, at) => request(at)).join("");

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function open(handler: Handler) {
  const turns = new PipelinedTurns(handler, { begunAlone() {} });
  const stacks: string[] = [];
  const server = createServer((asked, response) => {
    asked.on("error", ({ stack = "" }) => stacks.push(stack));
    if (response.socket === null) turns.take(asked, response);
    else handler(asked, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  return {
    socket,
    stacks,
    [Symbol.asyncDispose]: async () => {
      socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

test("39.2: 100 requests that are sent at once are answered in order, one in each turn of the loop", async () => {
  let inTurn = 0;
  let mostInTurn = 0;
  await using front = await open((asked, response) => {
    if (inTurn++ === 0) {
      setImmediate(() => {
        inTurn = 0;
      });
    }
    mostInTurn = Math.max(mostInTurn, inTurn);
    response.end(`[${asked.url}]`);
  });
  let text = "";
  front.socket.on("data", (data) => {
    text += String(data);
  });
  front.socket.write(requests(100));
  while (!text.includes("[/99]")) await once(front.socket, "data");
  assert.deepEqual(
    [...text.matchAll(/\[\/(\d+)\]/g)].map(([, at]) => Number(at)),
    Array.from({ length: 100 }, (_, at) => at),
  );
  assert.ok(mostInTurn <= 2, `${mostInTurn} requests in one turn`);
});

test("39.2: who sends hundreds of requests before the first is answered loses the connection, and they never begin", async () => {
  let begun = 0;
  await using front = await open(() => begun++);
  front.socket.on("error", () => {});
  front.socket.write(requests(1_000));
  const { stackTraceLimit } = Error;
  await once(front.socket.resume(), "close");
  assert.equal(begun, 1);
  // Each of the requests has an error, and none of them a stack, which costs more than all else.
  assert.ok(front.stacks.length > 100);
  assert.deepEqual(
    front.stacks.filter((stack) => stack.includes("\n    at")),
    [],
  );
  assert.equal(Error.stackTraceLimit, stackTraceLimit);
});

test("what waits when its connection ends never begins", async () => {
  const begun: ServerResponse[] = [];
  await using front = await open((_, response) => begun.push(response));
  front.socket.write(requests(4));
  while (begun.length === 0) await new Promise((resolve) => setImmediate(resolve));
  begun[0]?.end("the first");
  await once(front.socket, "data");
  while (begun.length === 1) await new Promise((resolve) => setImmediate(resolve));
  const closed = once(begun[1] as ServerResponse, "close");
  front.socket.destroy();
  await closed;
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(begun.length, 2);
});
