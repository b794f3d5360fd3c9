/** What is special about requests over HTTP/2: their stream ends as it should, whoever ends it. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2, constants } from "node:http2";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { Pool } from "undici";
import { type Front, openFront } from "../chain/testing/test-front.js";
import { passRequest } from "../client/pass-request.js";
import type { RequestMiddleware } from "../request/request-state.js";
import { deferred } from "../request/testing/test-server.js";
import { sendBytes } from "../response/send-bytes.js";

const PODS = "/api/v1/namespaces/default/pods";
const BODY = Buffer.alloc(300_000, "b");

function connect({ certificates, port }: Front): ClientHttp2Session {
  const { key, cert } = certificates.admin;
  const ca = certificates.servingAuthority;
  return connectHttp2(`https://127.0.0.1:${port}`, { ca, key, cert });
}

async function statusOf(session: ClientHttp2Session, headers: object): Promise<number | undefined> {
  const stream = session.request({ ":path": PODS, ...headers });
  const [answer] = await once(stream.resume(), "response");
  await once(stream, "close");
  return (answer as { ":status"?: number })[":status"];
}

test("S1-ERR-07: two warnings are two headers", async () => {
  await using front = await openFront({
    handler: (ctx) => {
      for (const text of ["one", "two"]) ctx.state.addWarning(text);
      sendBytes(ctx, 200, [], Buffer.from("{}"));
    },
  });
  const { headers } = await front.askHttp2(PODS);
  assert.equal(headers.warning, '299 - "one", 299 - "two"');
});

test("S1-ERR-10: a body that nobody reads keeps no stream open", async () => {
  await using front = await openFront();
  const session = connect(front);
  const stream = session.request({ ":path": PODS, ":method": "POST" });
  stream.on("error", () => {});
  stream.write(BODY);
  await once(stream.resume(), "response");
  await once(stream, "close");
  assert.equal(stream.rstCode, constants.NGHTTP2_NO_ERROR);
  session.close();
  await once(session, "close");
});

test("a client is told to continue, a tunnel is a 405, and other expectations are a 417", async () => {
  await using front = await openFront();
  const session = connect(front);
  const patient = session.request({ ":path": PODS, ":method": "POST", expect: "100-continue" });
  await once(patient, "continue");
  patient.end("{}");
  await once(patient.resume(), "close");
  assert.equal(await statusOf(session, { expect: "miracles" }), 417);
  const tunnel = session.request({ ":method": "CONNECT", ":authority": "example.org:443" });
  const [answer] = await once(tunnel, "response");
  assert.equal((answer as { ":status"?: number })[":status"], 405);
  session.destroy();
});

test("S1-QP-15: a client that gives up ends what its request waits for", async () => {
  const begun = deferred<AbortSignal>();
  await using front = await openFront({
    handler: async ({ state: { signal } }) => {
      begun.resolve(signal);
      await once(signal, "abort");
      throw signal.reason;
    },
  });
  const session = connect(front);
  const stream = session.request({ ":path": PODS });
  stream.on("error", () => {});
  const signal = await begun.promise;
  stream.close(constants.NGHTTP2_CANCEL);
  if (!signal.aborted) await once(signal, "abort");
  assert.match(String(signal.reason), /the client closed the connection/);
  session.destroy();
});

test("a body that is passed on arrives, and is answered when the other server cuts it off", async () => {
  await using other = await openOther();
  await using front = await openFront({ handler: passOn(other.pool) });
  const send = (path: string) => front.askHttp2(path, { method: "POST", body: BODY });
  assert.equal((await send(`${PODS}/echo`)).text, BODY.toString());
  // The answer of the failure, and not the end of the stream.
  assert.equal((await send(`${PODS}/cut`)).status, 500);
});

test("A8: what another server answers is kept by nobody, unless it says otherwise", async () => {
  await using other = await openOther();
  await using front = await openFront({ handler: passOn(other.pool) });
  const keeping = async (path: string) => (await front.askHttp2(path)).headers["cache-control"];
  assert.equal(await keeping(`${PODS}/echo`), "no-cache, private");
  assert.equal(await keeping(`${PODS}/kept`), "max-age=9");
});

/** Sends back what it gets, or ends the connection in its midst. */
async function openOther(): Promise<{ pool: Pool } & AsyncDisposable> {
  const server: Server = createServer((request, response) => {
    if (request.url?.endsWith("cut")) request.once("data", () => request.destroy());
    else {
      if (request.url?.endsWith("kept")) response.setHeader("Cache-Control", "max-age=9");
      request.pipe(response);
    }
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const pool = new Pool(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return {
    pool,
    async [Symbol.asyncDispose]() {
      await pool.destroy();
      server.close();
    },
  };
}

function passOn(pool: Pool): RequestMiddleware {
  return async (ctx) => await passRequest(ctx, { pool, path: ctx.state.info.path, headers: [] });
}
