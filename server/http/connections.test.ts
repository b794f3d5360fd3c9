/** A replica that shuts down loses no request, on either protocol. */
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { Agent, request } from "node:https";
import type { Socket } from "node:net";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { DEADLINE_MS } from "../../e2e/harness/eventually.js";
import { withShutdownRefusal } from "../chain/shutdown-refusal.js";
import { type Front, openFront } from "../chain/testing/test-front.js";

const HTTP1 = "GET /version HTTP/1.1\r\nHost: x\r\n\r\n";
const PODS = "/api/v1/namespaces/default/pods";
const CLIENTS = 12;
const QUIET_MS = 150;
/** Many times what a client takes between two requests, on a slow machine. */
const LONG_QUIET_MS = 1_500;
const TURNS_MAX = 100;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

test("S2-HEALTH-12: a replica that ends leaves idle connections open, and answers on them once more", async () => {
  await using front = await openFront();
  const socket = await front.connect();
  socket.write(HTTP1);
  assert.match(String((await once(socket, "data"))[0]), /^connection: keep-alive\r$/im);
  front.listener.leave();
  socket.write(HTTP1);
  const [answer] = await once(socket, "data");
  assert.match(String(answer), /^HTTP\/1.1 200 /);
  assert.match(String(answer), /^connection: close\r$/im);
  await once(socket, "close");
});

test("S2-HEALTH-12: an HTTP/2 stream that crosses the GOAWAY is refused at once as not processed, older ones are answered", async () => {
  let asked = 0;
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const seen = new EventEmitter();
  await using front = await openFront({
    async handler(ctx) {
      asked++;
      seen.emit("asked");
      await held;
      ctx.body = "finished";
    },
  });
  const session = connectTo(front);
  const older = ask(session);
  await once(seen, "asked");
  // In this order in one turn, so that the two messages cross.
  const crossing = ask(session);
  front.listener.leave();
  await assert.rejects(crossing, /NGHTTP2_REFUSED_STREAM/);
  release();
  assert.equal(await older, 200);
  assert.equal(asked, 1);
  await once(session, "close");
});

test("S2-HEALTH-12: who opens an HTTP/2 connection meanwhile is served on it before it is sent away", async () => {
  await using front = await openFront();
  front.listener.leave();
  const session = connectTo(front);
  const away = once(session, "goaway");
  assert.equal(await ask(session), 200);
  await away;
  await once(session, "close");
});

test("S2-HEALTH-12: clients that ask again and again lose no request by the end of a replica", async () => {
  await using front = await openFront();
  const agents = Array.from({ length: CLIENTS }, () => new Agent({ keepAlive: true }));
  let answered = 0;
  const failures: string[] = [];
  const workers = agents.map(async (agent) => {
    for (;;) {
      await pause(Math.random() * 75);
      const outcome = await askHttp1(front, agent);
      if (outcome === "gone") return;
      if (outcome === "200") answered++;
      else failures.push(outcome);
    }
  });
  while (answered < 10 * CLIENTS) await pause(10);
  front.listener.leave();
  await pause(QUIET_MS);
  await front.listener.close(DEADLINE_MS, LONG_QUIET_MS);
  await Promise.all(workers);
  for (const agent of agents) agent.destroy();
  assert.deepEqual(failures, []);
});

test("S2-HEALTH-12: what was asked on a connection that is not read yet is answered before a replica ends", async () => {
  let served: Socket | undefined;
  await using front = await openFront({
    async handler(ctx) {
      const { socket } = ctx.req;
      if (served === undefined) ctx.res.once("close", () => socket.pause());
      served = socket;
      ctx.body = "finished";
    },
  });
  const socket = await front.connect({ ...front.certificates.admin });
  const get = `GET ${PODS} HTTP/1.1\r\nHost: x\r\n\r\n`;
  socket.write(get);
  await once(socket, "data");
  while (served?.isPaused() !== true) await pause(1);
  socket.write(get);
  const closed = front.listener.close(DEADLINE_MS, QUIET_MS);
  await pause(2 * QUIET_MS);
  served.resume();
  const [answer] = await once(socket, "data");
  assert.match(String(answer), /^HTTP\/1.1 200 /);
  await closed;
});

test("S2-HEALTH-12: a silent connection is closed by the end, with an end and not a reset", async () => {
  await using front = await openFront();
  const socket = await front.connect();
  socket.write(HTTP1);
  await once(socket, "data");
  const ended = once(socket.resume(), "end");
  const begunAtMs = performance.now();
  await front.listener.close(DEADLINE_MS, QUIET_MS);
  assert.ok(performance.now() - begunAtMs >= QUIET_MS);
  await ended;
});

test("a connection that waits for its next request keeps nothing of the last one", async () => {
  let answered: WeakRef<object> | undefined;
  await using front = await openFront({
    async handler(ctx) {
      answered = new WeakRef(ctx.res);
      ctx.body = "finished";
    },
  });
  const socket = await front.connect({ ...front.certificates.admin });
  socket.write(`GET ${PODS} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await once(socket, "data");
  assert.ok(answered);
  // A reference that was looked at lives until the end of the turn.
  for (let turn = 0; turn < TURNS_MAX && answered.deref() !== undefined; turn++) {
    await pause(1);
    collectGarbage();
  }
  assert.equal(answered.deref(), undefined);
});

test("S2-HEALTH-14: new requests are told to come again while those under way finish; probes are answered", async () => {
  const ending = { isRefusing: false };
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const seen = new EventEmitter();
  await using front = await openFront({
    shutdownRefusal: withShutdownRefusal(() => ending.isRefusing),
    async handler(ctx) {
      seen.emit("asked");
      await held;
      ctx.body = "finished";
    },
  });
  const asked = once(seen, "asked");
  const running = front.ask(PODS);
  await asked;
  ending.isRefusing = true;
  front.listener.leave();
  const refused = await front.ask(PODS);
  assert.equal(refused.status, 429);
  assert.equal(refused.headers["retry-after"], "5");
  assert.equal(refused.headers.connection, "close");
  assert.equal(JSON.parse(refused.text).reason, "TooManyRequests");
  assert.equal((await front.ask("/readyz")).status, 200);
  assert.equal((await front.ask(PODS, { identity: null })).status, 429);
  release();
  assert.equal((await running).text, "finished");
});

function connectTo(front: Front): ClientHttp2Session {
  return connect(`https://127.0.0.1:${front.port}`, {
    ca: front.certificates.servingAuthority,
    ...front.certificates.admin,
  });
}

async function ask(session: ClientHttp2Session): Promise<number> {
  const stream = session.request({ ":path": PODS });
  const [headers] = await once(stream, "response");
  stream.resume();
  await once(stream, "end");
  return (headers as { ":status": number })[":status"];
}

/**
 * The status, the error code of a broken kept-alive connection, or "gone": no listener any more.
 */
function askHttp1({ port, certificates }: Front, agent: Agent): Promise<string> {
  const tls = { ca: certificates.servingAuthority, ...certificates.admin };
  return new Promise((resolve) => {
    const outgoing = request({
      ...tls,
      port,
      host: "127.0.0.1",
      path: PODS,
      method: "POST",
      agent,
    });
    outgoing.once("error", (error: NodeJS.ErrnoException) => {
      resolve(outgoing.reusedSocket ? (error.code ?? "error") : "gone");
    });
    outgoing.once("response", (response) => {
      response.resume();
      response.once("end", () => resolve(String(response.statusCode)));
    });
    outgoing.end();
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
