/**
 * LeanConnection against servers of Node's HTTP/2 that each misbehave in one way, and against a peer of
 * raw bytes: the caller's error, above all whether the server can have seen the request, and that no
 * bytes make it hang, crash or accept a wrong answer.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { dialLean } from "./dial-lean.js";
import { GRPC_STATUS, RpcError } from "./errors.js";
import { encodeHeaders } from "./hpack.js";
import {
  CONNECTION_PREFACE,
  ERROR_CODE,
  encodeGoaway,
  encodeNumberFrame,
  encodePing,
  encodeSettings,
  encodeSettingsAck,
  FLAG,
  FRAME,
  FRAME_BYTES_MAX,
  FrameReader,
  SETTING,
  writeFrameHeader,
} from "./http2-frames.js";
import type { LeanCall } from "./lean-call.js";
import { LeanConnection } from "./lean-connection.js";
import { STREAM_WINDOW_BYTES } from "./lean-exchange.js";
import {
  answer,
  DENIED_TEXT,
  deny,
  failureOf,
  framed,
  OPEN_ENDS,
  refuse,
} from "./testing/grpc-server.js";
import { startLeanServer } from "./testing/lean-server.js";

const PATH = "/etcdserverpb.KV/Txn";

function call(connection: LeanConnection, message = Buffer.from("request")): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const begun = connection.begin({ path: PATH, message }, undefined, (failure, answer) => {
      if (answer === undefined) reject(failure);
      else resolve(answer);
    });
    if (begun === undefined) reject(new Error("not taken"));
  });
}

// ---- servers of Node's HTTP/2 -------------------------------------------------------------------

test("requests and answers come as they were sent, of any size that is taken", async () => {
  await using server = await startLeanServer((stream) => {
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    // Twice the request, so that the answer takes many frames.
    stream.on("end", () => {
      const message = Buffer.concat(chunks).subarray(5);
      answer(stream, [Buffer.concat([message, message])]);
    });
  });
  for (const size of [0, 1, 100, 16_379, 16_380, 32_768, 49_147]) {
    const message = Buffer.alloc(size, "x");
    assert.equal((await call(server.connection, message)).length, 2 * size, `${size}`);
  }
});

test("a request that is too large for us is left to others", async () => {
  await using server = await startLeanServer(() => {});
  await assert.rejects(call(server.connection, Buffer.alloc(49_148)), /not taken/);
});

test("an answer above the limit is refused, and the connection serves on", async () => {
  let isLarge = true;
  await using server = await startLeanServer((stream) => {
    answer(stream, [isLarge ? Buffer.alloc(9 * 1024 * 1024) : "small"]);
    isLarge = false;
  });
  const failure = await failureOf(call(server.connection));
  assert.equal(failure.status, GRPC_STATUS.resourceExhausted);
  assert.equal(failure.isTransient, false);
  assert.equal((await call(server.connection)).toString(), "small");
});

test("many large answers one after another do not use up the connection's window", async () => {
  await using server = await startLeanServer((stream) => answer(stream, [Buffer.alloc(1_048_576)]));
  for (let round = 0; round < 40; round++) await call(server.connection);
});

test("a refused stream was certainly not looked at", async () => {
  await using server = await startLeanServer(refuse);
  const failure = await failureOf(call(server.connection));
  assert.deepEqual([failure.isSent, failure.isHarmless, failure.isTransient], [false, true, true]);
});

test("whatever else ends a call leaves it open whether the request was done", async () => {
  const ends: typeof OPEN_ENDS = [
    ...OPEN_ENDS,
    (stream) => stream.respond({ "grpc-status": "wild" }, { endStream: true }),
    (stream) => stream.respond({}, { endStream: true }),
    (stream) => answer(stream, ["two", "messages"]),
    (stream) => {
      stream.respond({ ":status": 200 });
      stream.end(framed("no status"));
    },
  ];
  for (const [index, end] of ends.entries()) {
    await using server = await startLeanServer((stream) => stream.once("data", () => end(stream)));
    const failure = await failureOf(call(server.connection));
    const found = [failure.isSent, failure.isHarmless, failure.isTransient];
    assert.deepEqual(found, [true, false, true], `${index}: ${failure.message}`);
  }
});

test("a refusal comes with its text", async () => {
  await using server = await startLeanServer(deny);
  const failure = await failureOf(call(server.connection));
  assert.deepEqual([failure.status, failure.isTransient], [GRPC_STATUS.permissionDenied, false]);
  assert.equal(failure.message, DENIED_TEXT);
});

test("calls wait for their turn where the peer allows few streams", async () => {
  let underway = 0;
  let most = 0;
  const allow = { maxConcurrentStreams: 3 };
  await using server = await startLeanServer((stream) => {
    most = Math.max(most, ++underway);
    void setImmediate().then(() => {
      underway--;
      answer(stream, ["pong"]);
    });
  }, allow);
  const answers = await Promise.all(Array.from({ length: 50 }, () => call(server.connection)));
  assert.equal(answers.length, 50);
  assert.equal(most, 3);
});

test("nobody there, and nobody who speaks HTTP/2, is said soon", async () => {
  const silent = createTcpServer((socket) => socket.on("error", () => {}));
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const options = { tls: undefined, pingAfterTicks: 1, lostAfterTicks: 1, onClose() {} };
  const controller = new AbortController();
  const { signal } = controller;
  const dial = (url: string, timeoutMs: number) => dialLean({ ...options, url, timeoutMs, signal });
  await assert.rejects(dial("http://127.0.0.1:1", 5_000), /ECONNREFUSED/);
  await assert.rejects(dial(`http://127.0.0.1:${port}`, 50), /no HTTP\/2 within 50 ms/);
  const givenUp = assert.rejects(dial(`http://127.0.0.1:${port}`, 60_000), /given up/);
  controller.abort();
  await givenUp;
  silent.close();
});

// ---- a peer of bare bytes -----------------------------------------------------------------------

class FakeSocket extends Duplex {
  written: Buffer[] = [];
  setNoDelay() {}
  override _read() {}
  override _write(chunk: Buffer, _encoding: string, done: () => void) {
    this.written.push(chunk);
    done();
  }
  /** The bytes written since the last call. */
  taken(): Buffer {
    return Buffer.concat(this.written.splice(0));
  }
}

interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

function framesOf(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  const preface = bytes.toString("latin1").startsWith(CONNECTION_PREFACE);
  new FrameReader((type, flags, streamId, payload) =>
    frames.push({ type, flags, streamId, payload }),
  ).push(preface ? bytes.subarray(CONNECTION_PREFACE.length) : bytes);
  return frames;
}

function frame(type: number, flags: number, streamId: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  writeFrameHeader(head, 0, { type, flags, streamId }, payload.length);
  return Buffer.concat([head, payload]);
}

const HEADERS = encodeHeaders([
  [":status", "200"],
  ["content-type", "application/grpc"],
]);
const TRAILERS = encodeHeaders([["grpc-status", "0"]]);

/** A whole answer of one stream. */
function answerFrames(streamId: number, text: string): Buffer {
  return Buffer.concat([
    frame(FRAME.headers, FLAG.endHeaders, streamId, HEADERS),
    frame(FRAME.data, 0, streamId, framed(text)),
    frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, streamId, TRAILERS),
  ]);
}

/** @param settings announced by the peer */
function connectFake(settings: readonly (readonly [number, number])[] = []) {
  const socket = new FakeSocket();
  const closes: Error[] = [];
  const connection = new LeanConnection(socket as unknown as Socket, {
    authority: "localhost",
    isTls: false,
    pingAfterTicks: 2,
    lostAfterTicks: 2,
    onClose: (_connection, reason) => closes.push(reason),
  });
  const say = (...bytes: Buffer[]) => socket.emit("data", Buffer.concat(bytes));
  say(encodeSettings(settings), encodeSettingsAck());
  return { socket, connection, say, closes };
}

test("all requests of a turn leave in one write, each with its frames", async () => {
  const { socket, connection, say } = connectFake();
  await setImmediate();
  socket.taken();
  const calls = Array.from({ length: 16 }, () => call(connection));
  await setImmediate();
  assert.equal(socket.written.length, 1);
  const frames = framesOf(socket.taken());
  assert.deepEqual(
    frames.map(({ type, flags, streamId }) => [type, flags, streamId]),
    Array.from({ length: 16 }, (_, index) => [
      [FRAME.headers, FLAG.endHeaders, 2 * index + 1],
      [FRAME.data, FLAG.endStream, 2 * index + 1],
    ]).flat(),
  );
  for (let id = 31; id > 0; id -= 2) say(answerFrames(id, `answer ${id}`));
  const texts = (await Promise.all(calls)).map(String);
  assert.deepEqual(
    texts,
    texts.map((_, index) => `answer ${2 * index + 1}`),
  );
});

test("an answer is the same however its bytes were cut, padded and continued", async () => {
  const padded = (content: Buffer) =>
    Buffer.concat([Buffer.from([3]), content, Buffer.from([0, 0, 0])]);
  const bytes = Buffer.concat([
    frame(FRAME.headers, FLAG.endHeaders, 1, encodeHeaders([[":status", "103"]])),
    frame(FRAME.headers, 0, 1, HEADERS.subarray(0, 7)),
    frame(FRAME.continuation, 0, 1, HEADERS.subarray(7, 7)),
    frame(FRAME.continuation, FLAG.endHeaders, 1, HEADERS.subarray(7)),
    encodePing(Buffer.from("12345678"), false),
    frame(FRAME.data, FLAG.padded, 1, padded(framed("whole answer").subarray(0, 4))),
    frame(200, 0, 1, Buffer.from("of an extension")),
    frame(FRAME.data, 0, 1, framed("whole answer").subarray(4)),
    encodeNumberFrame(FRAME.windowUpdate, 1, 5),
    frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 1, TRAILERS),
  ]);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: bytes.length })), async (cuts) => {
      const { socket, connection, say } = connectFake();
      const pending = call(connection);
      await setImmediate();
      socket.taken();
      const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      for (let index = 1; index < at.length; index++) {
        say(bytes.subarray(at[index - 1], at[index]));
      }
      assert.equal(String(await pending), "whole answer");
      await setImmediate();
      const pong = framesOf(socket.taken()).find(({ type }) => type === FRAME.ping);
      assert.deepEqual([pong?.flags, String(pong?.payload)], [FLAG.ack, "12345678"]);
      connection.destroy(new Error("done"));
    }),
    { numRuns: 150 },
  );
});

test("what does not fit into the peer's window is not sent, until it opens or for good", async () => {
  const { socket, connection, say } = connectFake();
  const message = Buffer.alloc(10_000);
  const calls = Array.from({ length: 8 }, () => call(connection, message));
  await setImmediate();
  const sent = () =>
    framesOf(socket.taken()).filter(({ flags, type }) => type === FRAME.data && flags === 1).length;
  // 6 of 10,005 bytes fit into 65,535.
  assert.equal(sent(), 6);
  say(encodeNumberFrame(FRAME.windowUpdate, 0, 10_005));
  await setImmediate();
  assert.equal(sent(), 1);
  connection.destroy(new Error("the peer is gone"));
  const failures = await Promise.all(calls.map(failureOf));
  assert.deepEqual(
    failures.map((failure) => failure.isSent),
    [true, true, true, true, true, true, true, false],
  );
});

test("frames are as long as the peer takes, and a small window of streams is left to grpc-js", async () => {
  const small = connectFake([[SETTING.initialWindowSize, 1_000]]);
  await assert.rejects(call(small.connection, Buffer.alloc(996)), /not taken/);
  const large = connectFake([[SETTING.maxFrameSize, 40_000]]);
  void call(large.connection, Buffer.alloc(39_000));
  await setImmediate();
  assert.ok(
    large.socket.taken().includes(frame(FRAME.data, FLAG.endStream, 1, framed("")).subarray(3, 9)),
  );
  const none = connectFake([[SETTING.maxConcurrentStreams, 0]]);
  await assert.rejects(call(none.connection), /not taken/);
});

test("a peer with the largest windows may give back what a request took of its stream's", async () => {
  const { socket, connection, say } = connectFake([[SETTING.initialWindowSize, 2 ** 31 - 1]]);
  const pending = call(connection, Buffer.alloc(100));
  await setImmediate();
  socket.taken();
  say(encodeNumberFrame(FRAME.windowUpdate, 1, 105), answerFrames(1, "answer"));
  assert.equal(String(await pending), "answer");
});

test("a peer that changes its window changes it for the streams that are open", async () => {
  const { socket, connection, say } = connectFake([[SETTING.initialWindowSize, 20]]);
  const handlers = { onMessage() {}, onEnd() {} };
  const stream = connection.beginStream("/etcdserverpb.Watch/Watch", undefined, handlers);
  for (let index = 0; index < 3; index++) stream?.send(Buffer.alloc(10, String(index)));
  const sent = async () => {
    // A stream is opened in one turn and sends in the next one.
    for (let turn = 0; turn < 2; turn++) await setImmediate();
    const data = framesOf(socket.taken()).filter(({ type }) => type === FRAME.data);
    return data.map(({ payload }) => payload.toString("latin1", 5, 6)).join();
  };
  // Each takes 15 bytes: of 20 five are left, of 35 then 20, of 25 less than none.
  assert.equal(await sent(), "0");
  say(encodeSettings([[SETTING.initialWindowSize, 35]]));
  assert.equal(await sent(), "1");
  say(encodeSettings([[SETTING.initialWindowSize, 25]]));
  say(encodeNumberFrame(FRAME.windowUpdate, 1, 19));
  assert.equal(await sent(), "");
  say(encodeNumberFrame(FRAME.windowUpdate, 1, 1));
  assert.equal(await sent(), "2");
  connection.destroy(new Error("done"));
});

test("a call ends when its peer sends more than the stream's window, in however many messages", async () => {
  const { socket, connection, say } = connectFake();
  const pending = failureOf(call(connection));
  await setImmediate();
  socket.taken();
  say(frame(FRAME.headers, FLAG.endHeaders, 1, HEADERS));
  const message = frame(FRAME.data, 0, 1, framed(Buffer.alloc(16_000)));
  const isReset = () => framesOf(socket.taken()).some(({ type }) => type === FRAME.rstStream);
  for (let sent = 0; sent <= STREAM_WINDOW_BYTES - 16_005; sent += 16_005) say(message);
  await setImmediate();
  assert.equal(isReset(), false);
  say(message);
  assert.equal((await pending).isSent, true);
  await setImmediate();
  assert.equal(isReset(), true);
  connection.destroy(new Error("done"));
});

test("GOAWAY: streams up to the last are answered, those after it were not looked at", async () => {
  const { socket, connection, say, closes } = connectFake();
  const first = call(connection);
  const second = call(connection);
  await setImmediate();
  const goaway = encodeGoaway(ERROR_CODE.none);
  goaway.writeUInt32BE(1, 9);
  const third = call(connection);
  say(goaway);
  for (const unseen of [second, third]) assert.equal((await failureOf(unseen)).isSent, false);
  assert.equal(closes.length, 1);
  await assert.rejects(call(connection), /not taken/);
  say(answerFrames(1, "late"));
  assert.equal(String(await first), "late");
  assert.ok(socket.destroyed);
});

test("a silent peer is pinged while something is awaited, then given up", async () => {
  const { socket, connection, say } = connectFake();
  const pings = () => framesOf(socket.taken()).filter(({ type }) => type === FRAME.ping).length;
  for (let tick = 0; tick < 10; tick++) connection.tick();
  await setImmediate();
  assert.equal(pings(), 0, "nothing is awaited");
  const pending = call(connection);
  await setImmediate();
  for (let tick = 0; tick < 2; tick++) connection.tick();
  await setImmediate();
  assert.equal(pings(), 1);
  connection.tick();
  say(encodePing(Buffer.from("keelson\0"), true));
  for (let tick = 0; tick < 2; tick++) connection.tick();
  await setImmediate();
  assert.equal(pings(), 1, "it was alive meanwhile");
  for (let tick = 0; tick < 2; tick++) connection.tick();
  const failure = await failureOf(pending);
  assert.deepEqual([failure.isSent, failure.isTransient], [true, true]);
});

test("a call that is given up resets its stream or is never sent", async () => {
  const { socket, connection, say } = connectFake();
  const reason = new Error("the client has gone");
  const ends: unknown[] = [];
  const begin = () =>
    connection.begin({ path: PATH, message: Buffer.alloc(5) }, "token", (failure) =>
      ends.push(failure),
    ) as LeanCall;
  const [unsent, sent] = [begin(), begin()];
  unsent.abort(reason);
  await setImmediate();
  socket.taken();
  sent.abort(reason);
  sent.abort(reason);
  await setImmediate();
  const frames = framesOf(socket.taken());
  assert.deepEqual(
    frames.map(({ type, streamId, payload }) => [type, streamId, payload.readUInt32BE(0)]),
    [[FRAME.rstStream, 1, ERROR_CODE.cancel]],
  );
  assert.deepEqual(ends, [reason, reason]);
  // Its answer was on the way.
  say(answerFrames(1, "too late"));
  assert.equal(connection.isOpen, true);
});

test("a peer that breaks the protocol is told so, and its calls end", async () => {
  const number = (value: number) => {
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(value);
    return payload;
  };
  const nothing = Buffer.alloc(0);
  const setting = (id: number, value: number) => encodeSettings([[id, value]]);
  const breaches: readonly (readonly [code: number, bytes: Buffer])[] = [
    [ERROR_CODE.frameSize, frame(FRAME.data, 0, 1, Buffer.alloc(FRAME_BYTES_MAX + 1))],
    [ERROR_CODE.frameSize, frame(FRAME.ping, 0, 0, Buffer.alloc(7))],
    [ERROR_CODE.frameSize, frame(FRAME.rstStream, 0, 1, nothing)],
    [ERROR_CODE.frameSize, frame(FRAME.settings, 0, 0, Buffer.alloc(5))],
    [ERROR_CODE.frameSize, frame(FRAME.settings, FLAG.ack, 0, Buffer.alloc(6))],
    [ERROR_CODE.frameSize, frame(FRAME.windowUpdate, 0, 0, nothing)],
    [ERROR_CODE.frameSize, frame(FRAME.goaway, 0, 0, nothing)],
    [ERROR_CODE.protocol, frame(FRAME.data, 0, 2, nothing)],
    [ERROR_CODE.protocol, frame(FRAME.data, 0, 3, nothing)],
    [ERROR_CODE.protocol, frame(FRAME.headers, 4, 0, HEADERS)],
    [ERROR_CODE.protocol, frame(FRAME.data, FLAG.padded, 1, Buffer.from([9, 1]))],
    [ERROR_CODE.protocol, frame(FRAME.pushPromise, 4, 1, Buffer.alloc(4))],
    [ERROR_CODE.protocol, frame(FRAME.continuation, 4, 1, nothing)],
    [ERROR_CODE.protocol, frame(FRAME.settings, 0, 1, nothing)],
    [ERROR_CODE.protocol, frame(FRAME.ping, 0, 1, Buffer.alloc(8))],
    [ERROR_CODE.protocol, frame(FRAME.goaway, 0, 1, Buffer.alloc(8))],
    [ERROR_CODE.protocol, frame(FRAME.windowUpdate, 0, 0, number(0))],
    [ERROR_CODE.protocol, setting(SETTING.maxFrameSize, 100)],
    [ERROR_CODE.flowControl, frame(FRAME.windowUpdate, 0, 0, number(2 ** 31 - 1))],
    [ERROR_CODE.flowControl, frame(FRAME.windowUpdate, 0, 1, number(2 ** 31 - 1))],
    [ERROR_CODE.flowControl, setting(SETTING.initialWindowSize, 2 ** 31)],
    [ERROR_CODE.compression, frame(FRAME.headers, FLAG.endHeaders, 1, Buffer.from([0xbf]))],
    [
      ERROR_CODE.protocol,
      Buffer.concat([
        frame(FRAME.headers, 0, 1, HEADERS),
        frame(FRAME.ping, 0, 0, Buffer.alloc(8)),
      ]),
    ],
    [
      ERROR_CODE.protocol,
      Buffer.concat([
        frame(FRAME.headers, 0, 1, HEADERS),
        ...Array.from({ length: 100 }, () => frame(FRAME.continuation, 0, 1, nothing)),
      ]),
    ],
  ];
  for (const [index, [code, bytes]] of breaches.entries()) {
    const { socket, connection, say } = connectFake();
    const pending = call(connection);
    await setImmediate();
    socket.taken();
    say(bytes);
    const failure = await failureOf(pending);
    assert.deepEqual([failure.isSent, failure.isTransient], [true, true], `${index}`);
    const [last] = framesOf(socket.taken()).slice(-1);
    assert.deepEqual([last?.type, last?.payload.readUInt32BE(4)], [FRAME.goaway, code], `${index}`);
    assert.ok(socket.destroyed);
  }
});

/** A valid conversation in which any bytes may be changed, removed or inserted. */
const wildConversation = fc
  .tuple(
    fc.array(
      fc.oneof(
        fc.constantFrom(answerFrames(1, "first"), answerFrames(3, "second"), answerFrames(5, "a")),
        fc.constant(encodePing(Buffer.alloc(8), false)),
        fc
          .tuple(fc.nat(12), fc.nat(255), fc.nat(5), fc.uint8Array({ maxLength: 40 }))
          .map(([type, flags, id, bytes]) => frame(type, flags, id, Buffer.from(bytes))),
        fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
      ),
      { maxLength: 8 },
    ),
    fc.array(fc.tuple(fc.nat(2_000), fc.nat(255)), { maxLength: 6 }),
  )
  .map(([parts, changes]) => {
    const bytes = Buffer.concat(parts);
    for (const [position, value] of changes) {
      if (position < bytes.length) bytes[position] = value;
    }
    return bytes;
  });

test("wild bytes end calls with an answer or a failure, and never more than that", async () => {
  await fc.assert(
    fc.asyncProperty(wildConversation, fc.integer({ min: 1, max: 50 }), async (bytes, step) => {
      const { socket, connection } = connectFake();
      const calls = [call(connection), call(connection)];
      const ends: RpcError[] = [];
      const onMessage = () => assert.equal(ends.length, 0, "no message follows the end");
      connection.beginStream(PATH, undefined, { onMessage, onEnd: (end) => ends.push(end) });
      const settled = Promise.allSettled(calls);
      await setImmediate();
      for (let start = 0; start < bytes.length; start += step) {
        socket.emit("data", bytes.subarray(start, start + step));
      }
      socket.emit("close");
      for (const end of await settled) {
        if (end.status === "rejected")
          assert.ok(end.reason instanceof RpcError, String(end.reason));
      }
      assert.equal(ends.length, 1, "a stream ends once");
      assert.equal(connection.isOpen, false);
      await assert.rejects(call(connection), /not taken/);
    }),
    { numRuns: 1_500 },
  );
});
