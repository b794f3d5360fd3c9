/** HTTP/2 connections of those who misuse them, or are unknown, end; others go on (H5). */
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import {
  type ClientHttp2Session,
  connect,
  constants,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import { mock, test } from "node:test";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import { type Front, openFront } from "../chain/testing/test-front.js";
import type { OpenedStream } from "./http2-streams.js";
import { PeerConduct } from "./peer-conduct.js";
import { PeerConducts } from "./peer-conducts.js";
import { type ReadConnection, ReadingTurns } from "./reading-turns.js";
import { StreamTurns } from "./stream-turns.js";
import { http2Frame } from "./testing/http2-frame.js";

const PODS = "/api/v1/namespaces/default/pods";
const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } =
  constants;

function open({ certificates, port }: Front, isKnown = true): ClientHttp2Session {
  const session = connect(`https://127.0.0.1:${port}`, {
    ca: certificates.servingAuthority,
    ...(isKnown ? certificates.admin : {}),
  });
  session.on("error", () => {});
  return session;
}

async function ask(session: ClientHttp2Session, path = PODS): Promise<number | undefined> {
  const stream = session.request({ ":path": path });
  const [headers] = await once(stream.resume(), "response");
  await once(stream, "close");
  return (headers as { ":status"?: number })[":status"];
}

const FRAME = { headers: 1, priority: 2, reset: 3, settings: 4, ping: 6, goaway: 7 } as const;
const END_STREAM_AND_HEADERS = 5;

/** GET, https, and a path that is not indexed (RFC 7541, 6.1 and 6.2.2). */
const HEADER_BLOCK = Buffer.concat([
  Buffer.from([0x82, 0x87, 0x04, PODS.length]),
  Buffer.from(PODS),
  Buffer.from([0x01, 1, 0x78]),
]);

/** A request that is taken back at once. */
function takenBack(index: number): Buffer {
  const stream = 2 * index + 1;
  const cancel = Buffer.from([0, 0, 0, NGHTTP2_CANCEL]);
  return Buffer.concat([
    http2Frame(FRAME.headers, END_STREAM_AND_HEADERS, stream, HEADER_BLOCK),
    http2Frame(FRAME.reset, 0, stream, cancel),
  ]);
}

/** Sends a hundred frames at a time until the server ends the connection. @returns the code of its GOAWAY */
async function misuse(front: Front, send: (index: number) => Buffer): Promise<number | undefined> {
  const socket = await front.connect({ ALPNProtocols: ["h2"] });
  const received: Buffer[] = [];
  let isOpen = true;
  socket.on("data", (data: Buffer) => void received.push(data));
  for (const event of ["end", "close"]) {
    socket.once(event, () => {
      isOpen = false;
    });
  }
  socket.write(Buffer.concat([PREFACE, SETTINGS]));
  for (let index = 0; isOpen && goawayOf(received) === undefined; index += 100) {
    const frames = Array.from({ length: 100 }, (_, at) => send(index + at));
    await new Promise((resolve) => socket.write(Buffer.concat(frames), resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (isOpen) await once(socket, "close");
  return goawayOf(received);
}

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const SETTINGS = http2Frame(FRAME.settings, 0, 0, Buffer.alloc(0));

function goawayOf(received: readonly Buffer[]): number | undefined {
  const bytes = Buffer.concat(received);
  for (let at = 0; at + 17 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    if (bytes[at + 3] === FRAME.goaway) return bytes.readUInt32BE(at + 13);
  }
  return undefined;
}

test("H5, CVE-2023-44487: who takes back one request after the other loses the connection, and is counted", async () => {
  let begun = 0;
  await using front = await openFront({
    handler(ctx) {
      begun++;
      ctx.body = "{}";
    },
  });
  const other = open(front);
  assert.equal(await ask(other), 200);
  // Whichever of the two sees it first: within one piece that is nghttp2.
  assert.ok(
    [NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_INTERNAL_ERROR].includes(
      (await misuse(front, takenBack)) ?? -1,
    ),
  );
  assert.ok(begun < 600, `${begun} requests were begun`);
  assert.equal(await ask(other), 200);
  other.destroy();
  const text = await front.metrics.registry.metrics();
  assert.match(text, /apiserver_http2_connections_ended_total\{reason="resets"\} 1/);
});

test("39.8, H5: what is read together with the misuse that ends a connection is refused unseen", async () => {
  const { streamBegun } = PeerConduct.prototype;
  const begun = mock.method(PeerConduct.prototype, "streamBegun", streamBegun).mock;
  try {
    await using front = await openFront({
      handler(ctx) {
        ctx.body = "{}";
      },
    });
    const client = await front.connect({ ALPNProtocols: ["h2"] });
    client.on("error", () => {});
    const received: Buffer[] = [];
    client.on("data", (data: Buffer) => void received.push(data));
    const piece = Array.from({ length: 900 }, (_, index) => takenBack(index));
    client.write(Buffer.concat([PREFACE, SETTINGS, ...piece]));
    await once(client, "close");
    assert.ok(begun.callCount() < 400, `${begun.callCount()} requests were seen`);
    assert.equal(goawayOf(received), NGHTTP2_ENHANCE_YOUR_CALM);
  } finally {
    mock.restoreAll();
  }
});

test("39.8, H5: who is ended for a flood is read no further, though answers are still written", async () => {
  let socket: Socket | undefined;
  const { take } = StreamTurns.prototype;
  mock.method(StreamTurns.prototype, "take", function (this: StreamTurns, opened: OpenedStream) {
    socket ??= opened.socket;
    take.call(this, opened);
  });
  try {
    await using front = await openFront({
      handler(ctx) {
        ctx.body = "x".repeat(1_000_000);
      },
    });
    const client = await front.connect({ ALPNProtocols: ["h2"] });
    const streams = Array.from({ length: 50 }, (_, at) => 2 * at + 1);
    // A window of a byte.
    const oneByte = http2Frame(FRAME.settings, 0, 0, Buffer.from([0, 4, 0, 0, 0, 1]));
    const requests = streams.map((stream) =>
      http2Frame(FRAME.headers, END_STREAM_AND_HEADERS, stream, HEADER_BLOCK),
    );
    const closed = once(client, "close");
    client.on("error", () => {});
    client.write(Buffer.concat([PREFACE, oneByte, ...requests]));
    await once(client.resume(), "data");
    const byteMore = (stream: number) => http2Frame(8, 0, stream, Buffer.from([0, 0, 0, 1]));
    const flood = Buffer.concat(Array(100).fill(Buffer.concat(streams.map(byteMore))));
    const ended = front.metrics.http2ConnectionsEnded.cell("control_frames");
    const bytesRead = () => socket?.bytesRead ?? 0;
    let readAtEnd: number | undefined;
    let readLater = 0;
    const other = open(front);
    while (!client.destroyed && socket?.destroyed !== true) {
      if (client.writableLength < 10_000_000) client.write(flood);
      if (ended.value === 0) await ask(other);
      else await new Promise((resolve) => setImmediate(resolve));
      if (ended.value > 0) readAtEnd ??= bytesRead();
      readLater = bytesRead();
    }
    await closed;
    other.destroy();
    assert.ok(readAtEnd !== undefined && readAtEnd > 0);
    assert.ok(readLater - readAtEnd < 500_000, `${readLater - readAtEnd} bytes more were read`);
  } finally {
    mock.restoreAll();
  }
});

test("39.8, H5: what many connections take back is made in many turns, and others are read between them", async () => {
  const { begun } = ReadingTurns.prototype;
  let inTurn = 0;
  let all = 0;
  let mostInTurn = 0;
  let reading: ReadingTurns | undefined;
  mock.method(ReadingTurns.prototype, "begun", function (this: ReadingTurns, weight?: number) {
    reading = this;
    if (inTurn++ === 0) {
      setImmediate(() => {
        inTurn = 0;
      });
    }
    all++;
    mostInTurn = Math.max(mostInTurn, inTurn);
    begun.call(this, weight);
  });
  try {
    await using front = await openFront({
      handler(ctx) {
        ctx.body = "{}";
      },
    });
    const other = open(front);
    assert.equal(await ask(other), 200);
    const sockets = await Promise.all(
      Array.from({ length: 12 }, () => front.connect({ ALPNProtocols: ["h2"] })),
    );
    const piece = Buffer.concat(Array.from({ length: 700 }, (_, index) => takenBack(index)));
    const closed = sockets.map((socket) => once(socket.resume(), "close"));
    // Nobody is read until all have written, so that all of it is there in one turn of the loop.
    for (let count = 0; count < 250; count++) begun.call(reading as ReadingTurns);
    const written = sockets.map(
      (socket) =>
        new Promise((resolve) => socket.write(Buffer.concat([PREFACE, SETTINGS, piece]), resolve)),
    );
    await Promise.all(written);
    assert.equal(all, 1);
    (reading as ReadingTurns | undefined)?.endTurn();
    assert.equal(await ask(other), 200);
    await Promise.all(closed);
    assert.ok(all >= 12 * 250, `${all} requests came in`);
    // What has been read of a connection is begun; all of them would be 8,400.
    assert.ok(mostInTurn <= 2 * 700, `${mostInTurn} requests were begun in one turn`);
    assert.equal(await ask(other), 200, "who was stopped with them is read again");
    other.destroy();
  } finally {
    mock.restoreAll();
  }
});

test("39.8: streams of HTTP/2 end the reading of a turn sooner than requests of HTTP/1.1", () => {
  const reading = new ReadingTurns();
  let stops = 0;
  reading.add({ stopReading: () => void stops++, startReading() {} });
  const turns = new StreamTurns(() => {}, reading);
  const opened = { stream: new EventEmitter() } as unknown as OpenedStream;
  for (let count = 0; count < 124; count++) turns.take(opened);
  assert.equal(stops, 0);
  turns.take(opened);
  assert.equal(stops, 1);
});

test("39.2: what many connections of HTTP/1.1 send without waiting is read in many turns, and all answered", async () => {
  let reading: ReadingTurns | undefined;
  const { add, begunAlone } = ReadingTurns.prototype;
  mock.method(ReadingTurns.prototype, "add", function (this: ReadingTurns, one: ReadConnection) {
    reading = this;
    add.call(this, one);
  });
  let inTurn = 0;
  let mostInTurn = 0;
  mock.method(ReadingTurns.prototype, "begunAlone", function (this: ReadingTurns) {
    if (inTurn++ === 0) {
      setImmediate(() => {
        inTurn = 0;
      });
    }
    mostInTurn = Math.max(mostInTurn, inTurn);
    begunAlone.call(this);
  });
  try {
    await using front = await openFront({
      handler(ctx) {
        ctx.body = "{}";
      },
    });
    const sockets = await Promise.all(Array.from({ length: 12 }, () => front.connect()));
    const piece = `GET ${PODS} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(90);
    const answered = sockets.map(async (socket) => {
      let answers = 0;
      for await (const data of socket) {
        answers += String(data).split("HTTP/1.1 200").length - 1;
        if (answers >= 90) return answers;
      }
      return answers;
    });
    for (let count = 0; count < 250; count++) reading?.begun();
    const written = sockets.map((socket) => new Promise((resolve) => socket.write(piece, resolve)));
    await Promise.all(written);
    assert.equal(mostInTurn, 0);
    reading?.endTurn();
    assert.deepEqual(await Promise.all(answered), Array(12).fill(90));
    assert.ok(mostInTurn <= 250 + 2 * 90, `${mostInTurn} requests were read in one turn`);
  } finally {
    mock.restoreAll();
  }
});

test("H5, CVE-2019-9512: who sends frames of control all the time loses the connection", async () => {
  await using front = await openFront();
  for (const one of [
    http2Frame(FRAME.ping, 0, 0, Buffer.alloc(8)),
    SETTINGS,
    http2Frame(FRAME.priority, 0, 1, Buffer.from([0, 0, 0, 0, 16])),
  ]) {
    assert.equal(await misuse(front, () => one), NGHTTP2_ENHANCE_YOUR_CALM);
  }
});

const WINDOW = 1_000_000;
/** What one request's headers may be. */
const HEADERS_MAX = 128 * 1024;

/** A connection whose bytes are told by hand. */
function countedConnection() {
  const session = Object.assign(new EventEmitter(), { destroyed: false });
  const ended: string[] = [];
  const bytes = { bytesRead: 0, bytesWritten: 0 };
  let stops = 0;
  const conduct = new PeerConduct({
    session: session as unknown as ServerHttp2Session,
    socket: bytes as Socket,
    stopReading: () => void stops++,
    streamWindowBytes: WINDOW,
    clock: { monotonic: () => 0 },
    onEnd(why) {
      // The session is none that could be ended.
      session.destroyed = true;
      ended.push(why);
    },
  });
  const stream = (endAfterHeaders: boolean) =>
    ({ endAfterHeaders, rstCode: NGHTTP2_NO_ERROR, headersSent: true }) as ServerHttp2Stream;
  const reads = (count: number): void => {
    bytes.bytesRead += count;
    conduct.look();
  };
  return { conduct, bytes, ended, stopped: () => stops, stream, reads };
}

const ENOUGH_TO_END = 1_000 * 13;

test("H5: bytes that no request has a use for count as frames, so that window updates end the connection", () => {
  const { conduct, bytes, ended, stream, reads } = countedConnection();
  // A client of watches says with each event that it has room again, some of it after the next look.
  bytes.bytesWritten += 10_000_000;
  reads(100_000);
  reads(100_000);
  // Requests have headers.
  for (let count = 0; count < 100; count++) conduct.streamBegun(stream(true));
  reads(100 * 1_000);
  assert.deepEqual(ended, []);
  reads(ENOUGH_TO_END);
  assert.deepEqual(ended, ["control_frames"]);
});

test("39.8: who reads an answer a byte at a time floods, and who tells of room for each frame of an event does not", () => {
  const calm = countedConnection();
  calm.conduct.streamBegun(calm.stream(true));
  for (let frames = 0; frames < 100_000; frames += 1_000) {
    calm.bytes.bytesWritten += 1_000 * (9 + 150);
    calm.reads(1_000 * 26);
  }
  assert.deepEqual(calm.ended, []);
  const greedy = countedConnection();
  const headers = [":method", "GET", ":path", "/api/v1/configmaps"];
  for (let lists = 0; lists < 100; lists++) {
    greedy.conduct.streamBegun(greedy.stream(true), headers);
  }
  for (let frames = 0; frames < 15_000; frames += 1_000) {
    greedy.bytes.bytesWritten += 1_000 * (9 + 1);
    greedy.reads(1_000 * 13);
  }
  assert.deepEqual(greedy.ended, ["control_frames"]);
});

test("39.8: a flood is seen when others ask for something, and who writes much or has bodies under way floods nobody", () => {
  const { conduct, bytes, ended, stream } = countedConnection();
  bytes.bytesRead += HEADERS_MAX;
  conduct.streamBegun(stream(true));
  conduct.glance();
  bytes.bytesWritten += 4 * HEADERS_MAX;
  bytes.bytesRead += HEADERS_MAX;
  conduct.glance();
  conduct.streamBegun(stream(false));
  bytes.bytesRead += WINDOW;
  conduct.glance();
  assert.deepEqual(ended, []);
  bytes.bytesRead += HEADERS_MAX + HEADERS_MAX;
  conduct.glance();
  assert.deepEqual(ended, ["control_frames"]);
});

test("39.8: a flood behind a request is seen when its turn ends, and is read no further", async () => {
  const conducts = new PeerConducts(new ManualClock());
  const { conduct, bytes, ended, stopped, stream } = countedConnection();
  conducts.add(conduct);
  conduct.streamBegun(stream(true));
  conducts.begun(conduct);
  bytes.bytesRead += HEADERS_MAX;
  await new Promise(setImmediate);
  assert.deepEqual(ended, []);
  // It has sent much, and nobody asks for anything.
  bytes.bytesRead += 1_000_000;
  await new Promise(setImmediate);
  assert.deepEqual([ended, stopped()], [["control_frames"], 1]);
  await new Promise(setImmediate);
  conducts.remove(conduct);
});

test("39.8: window updates without end lose the connection as soon as somebody else asks for something", async () => {
  const clock = new ManualClock();
  await using front = await openFront({ clock });
  const other = open(front);
  assert.equal(await ask(other), 200);
  const flooding = await front.connect({ ALPNProtocols: ["h2"] });
  const received: Buffer[] = [];
  flooding.on("data", (data: Buffer) => void received.push(data));
  /** The answer to a ping says that all before it has been read. */
  const ping = async (payload: string) => {
    flooding.write(http2Frame(FRAME.ping, 0, 0, Buffer.from(payload)));
    while (goawayOf(received) === undefined && !Buffer.concat(received).includes(payload)) {
      await once(flooding, "data");
    }
  };
  const update = http2Frame(8, 0, 0, Buffer.from([0, 0, 0, 1]));
  const flood = Array.from({ length: 20_000 }, () => update);
  flooding.write(Buffer.concat([PREFACE, SETTINGS, ...flood]));
  await ping("the last");
  // Less than the time between two looks.
  clock.advance(100);
  assert.equal(goawayOf(received), undefined);
  assert.equal(await ask(other), 200);
  await ping("and more");
  assert.equal(goawayOf(received), NGHTTP2_ENHANCE_YOUR_CALM);
  flooding.destroy();
  other.destroy();
});

test("39.8: without other requests a flood is seen at the next look", async () => {
  const clock = new ManualClock();
  const conducts = new PeerConducts(clock);
  const { conduct, bytes, ended } = countedConnection();
  conducts.add(conduct);
  const over = new AbortController();
  const looking = conducts.run(over.signal);
  bytes.bytesRead += ENOUGH_TO_END;
  await clock.advanceInSteps(4_500);
  assert.deepEqual(ended, []);
  await clock.advanceInSteps(500);
  assert.deepEqual(ended, ["control_frames"]);
  over.abort();
  await looking;
});

test("H5: bodies are of any length and take their time, whether a reader takes them or nobody does", () => {
  const { conduct, ended, stream, reads } = countedConnection();
  conduct.streamBegun(stream(false));
  for (let count = 0; count < 3; count++) {
    reads(WINDOW);
    conduct.bodyTaken(WINDOW);
  }
  reads(WINDOW);
  conduct.streamClosed(stream(false));
  conduct.streamBegun(stream(false));
  reads(WINDOW);
  assert.deepEqual(ended, []);
});

test("H5: a body under way hides no frames beside it, and no padding", () => {
  const { conduct, ended, stream, reads } = countedConnection();
  conduct.streamBegun(stream(false));
  reads(HEADERS_MAX + WINDOW);
  conduct.bodyTaken(WINDOW / 2);
  reads(0);
  assert.deepEqual(ended, []);
  reads(WINDOW / 2 + 2 * ENOUGH_TO_END);
  assert.deepEqual(ended, ["control_frames"]);
});

test("H5: a client that takes back a few requests, or watches, keeps its connection", async () => {
  await using front = await openFront({
    handler(ctx) {
      ctx.res.flushHeaders();
      ctx.respond = false;
    },
  });
  const session = open(front);
  for (let i = 0; i < 200; i++) {
    const stream = session.request({ ":path": `${PODS}?watch=1` });
    stream.on("error", () => {});
    await once(stream, "response");
    stream.close(NGHTTP2_CANCEL);
    await once(stream, "close");
  }
  assert.equal(session.closed, false);
  session.destroy();
});

test("H5: the HTTP/2 connection of an unknown client ends after its answer", async () => {
  for (const [anonymous, path, status] of [
    [true, "/version", 200],
    [true, PODS, 403],
    [false, PODS, 401],
  ] as const) {
    await using front = await openFront({ anonymous });
    const session = open(front, false);
    const away = once(session, "goaway");
    assert.equal(await ask(session, path), status);
    const [code] = await away;
    assert.equal(code, NGHTTP2_NO_ERROR);
    await once(session, "close");
  }
});

test("H5: requests that are read together are begun in their order, and all answered", async () => {
  const order: string[] = [];
  await using front = await openFront({
    handler(ctx) {
      order.push(String(ctx.req.url));
      ctx.body = "{}";
    },
  });
  const session = open(front);
  await once(session, "connect");
  const paths = Array.from({ length: 100 }, (_, index) => `${PODS}?n=${index}`);
  const statuses = await Promise.all(paths.map((path) => ask(session, path)));
  assert.deepEqual(new Set(statuses), new Set([200]));
  assert.deepEqual(order, paths);
  session.destroy();
});
