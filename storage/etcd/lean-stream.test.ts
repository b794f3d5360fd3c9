/** Streams of a LeanConnection: messages both ways, a reader that rests, and every way to end. */
import assert from "node:assert/strict";
import { constants, type ServerHttp2Stream } from "node:http2";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { eventually } from "../../e2e/harness/eventually.js";
import { GRPC_STATUS, type RpcError } from "./errors.js";
import type { LeanConnection } from "./lean-connection.js";
import { STREAM_WINDOW_BYTES } from "./lean-exchange.js";
import type { LeanStream } from "./lean-stream.js";
import { MessageReader } from "./message-reader.js";
import { answer, deny, framed, OPEN_ENDS, refuse } from "./testing/grpc-server.js";
import { startLeanServer } from "./testing/lean-server.js";

const PATH = "/etcdserverpb.Watch/Watch";

/** A stream, what it has brought, and its end. */
class Client {
  readonly messages: Buffer[] = [];
  readonly ends: RpcError[] = [];
  readonly ended: Promise<RpcError>;
  readonly stream: LeanStream;
  onMessage: () => void = () => {};

  constructor(connection: LeanConnection) {
    let resolve: (end: RpcError) => void = () => {};
    this.ended = new Promise((done) => {
      resolve = done;
    });
    const stream = connection.beginStream(PATH, undefined, {
      onMessage: (message) => {
        this.messages.push(Buffer.from(message));
        this.onMessage();
      },
      onEnd: (end) => {
        this.ends.push(end);
        resolve(end);
      },
    });
    assert.ok(stream);
    this.stream = stream;
  }

  async until(isTrue: () => boolean): Promise<void> {
    await eventually(String(isTrue), isTrue);
  }
}

/** Answers each message with itself. */
function echo(stream: ServerHttp2Stream): void {
  stream.respond({ "content-type": "application/grpc" });
  const reader = new MessageReader(100_000, (message) => void stream.write(framed(message)));
  stream.on("data", (piece: Buffer) => reader.push(piece));
}

test("messages go and come in order, before and after the stream is open", async () => {
  await using server = await startLeanServer(echo);
  const client = new Client(server.connection);
  const sent = Array.from({ length: 200 }, (_, i) => Buffer.alloc(i * 7, `${i}`));
  for (const message of sent.slice(0, 100)) client.stream.send(message);
  await client.until(() => client.messages.length === 100);
  for (const message of sent.slice(100)) client.stream.send(message);
  await client.until(() => client.messages.length === 200);
  assert.deepEqual(client.messages, sent);
});

test("messages wait for the windows of a peer that takes few bytes at a time", async () => {
  await using server = await startLeanServer(echo, { initialWindowSize: 100 });
  const client = new Client(server.connection);
  const sent = Array.from({ length: 100 }, (_, i) => Buffer.from(`message ${i} of a small window`));
  for (const message of sent) client.stream.send(message);
  await client.until(() => client.messages.length === 100);
  assert.deepEqual(client.messages, sent);
});

test("a peer is one window ahead of a reader that rests, and goes on with it", async () => {
  const total = 5 * STREAM_WINDOW_BYTES;
  const piece = Buffer.alloc(100_000, "x");
  let written = 0;
  await using server = await startLeanServer((stream) => {
    stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    const write = () => {
      while (written < total) {
        written += piece.length;
        if (!stream.write(framed(piece))) return;
      }
      stream.end();
    };
    stream.on("drain", write);
    write();
  });
  const client = new Client(server.connection);
  client.onMessage = () => {
    if (client.messages.length === 3) client.stream.pause();
  };
  await client.until(() => written > STREAM_WINDOW_BYTES - 2 * piece.length);
  for (let turn = 0; turn < 100; turn++) await setImmediate();
  assert.equal(client.messages.length, 3);
  // Node buffers some of what it cannot send.
  assert.ok(written < STREAM_WINDOW_BYTES + 5 * piece.length, `${written}`);
  client.stream.resume();
  assert.equal((await client.ended).status, GRPC_STATUS.ok);
  assert.equal(client.messages.length, Math.ceil(total / piece.length));
});

test("a reader that rests again while what was kept is given gets no more, and nothing after the end", async () => {
  let end = () => {};
  await using server = await startLeanServer((stream) => {
    stream.respond({ "content-type": "application/grpc" });
    for (const message of ["a", "b", "c", "d"]) stream.write(framed(message));
    end = () => stream.close();
  });
  const client = new Client(server.connection);
  client.onMessage = () => client.stream.pause();
  await client.until(() => client.messages.length === 1);
  for (let turn = 0; turn < 10; turn++) await setImmediate();
  for (const count of [1, 2, 3]) {
    assert.deepEqual(client.messages.map(String), ["a", "b", "c", "d"].slice(0, count));
    if (count < 3) client.stream.resume();
  }
  end();
  await client.ended;
  client.stream.resume();
  assert.equal(client.messages.length, 3);
});

test("every end that the peer or the network gives is told once, with its status", async () => {
  const ends: readonly (readonly [(stream: ServerHttp2Stream) => void, number, boolean])[] = [
    [(stream) => answer(stream, ["last"]), GRPC_STATUS.ok, true],
    [deny, GRPC_STATUS.permissionDenied, true],
    [refuse, GRPC_STATUS.unavailable, false],
    ...OPEN_ENDS.slice(0, -1).map((end) => [end, GRPC_STATUS.unavailable, true] as const),
    [(stream) => stream.session?.goaway(constants.NGHTTP2_NO_ERROR), GRPC_STATUS.unavailable, true],
    [
      (stream) => stream.respond({ ":status": 404 }, { endStream: true }),
      GRPC_STATUS.unknown,
      true,
    ],
    [
      (stream) => {
        stream.respond({ ":status": 200 });
        stream.end(framed("no status"));
      },
      GRPC_STATUS.internal,
      true,
    ],
    [
      (stream) => {
        stream.respond({}, { waitForTrailers: true });
        stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
        stream.end(framed("half of a message").subarray(0, 10));
      },
      GRPC_STATUS.internal,
      true,
    ],
    [
      (stream) => {
        stream.respond({ ":status": 200 });
        stream.write(Buffer.from([1, 0, 0, 0, 1, 0]));
      },
      GRPC_STATUS.internal,
      true,
    ],
  ];
  for (const [index, [end, status, isSent]] of ends.entries()) {
    await using server = await startLeanServer((stream) => stream.once("data", () => end(stream)));
    const client = new Client(server.connection);
    client.stream.send(Buffer.from("message"));
    const told = await client.ended;
    assert.deepEqual([told.status, told.isSent], [status, isSent], `${index}: ${told.message}`);
    server.connection.destroy(new Error("the test is over"));
    client.stream.send(Buffer.from("too late"));
    client.stream.close();
    for (let turn = 0; turn < 5; turn++) await setImmediate();
    assert.equal(client.ends.length, 1, `${index}`);
  }
});

test("a stream that its caller closes is reset, says nothing more, and the connection serves on", async () => {
  const codes: (number | undefined)[] = [];
  await using server = await startLeanServer((stream) => {
    stream.on("close", () => codes.push(stream.rstCode));
    echo(stream);
  });
  const [first, second] = [new Client(server.connection), new Client(server.connection)];
  first.stream.send(Buffer.from("one"));
  await first.until(() => first.messages.length === 1);
  first.onMessage = () => assert.fail("no message follows the close");
  first.stream.send(Buffer.from("two"));
  await setImmediate();
  first.stream.close();
  second.stream.send(Buffer.from("three"));
  await second.until(() => second.messages.length === 1 && codes.length === 1);
  assert.deepEqual([codes, first.ends], [[constants.NGHTTP2_CANCEL], []]);
  // One that was never opened is not known to the peer.
  const third = new Client(server.connection);
  third.stream.send(Buffer.from("four"));
  third.stream.close();
  second.stream.send(Buffer.from("five"));
  await second.until(() => second.messages.length === 2);
  assert.equal(codes.length, 1);
});

test("a stream that is given up tells its caller", async () => {
  await using server = await startLeanServer(echo);
  const client = new Client(server.connection);
  client.stream.abort(new Error("closed"));
  const end = await client.ended;
  assert.deepEqual([end.status, end.isTransient], [GRPC_STATUS.unavailable, true]);
  client.stream.abort(new Error("closed"));
  assert.equal(client.ends.length, 1);
});
