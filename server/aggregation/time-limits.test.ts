/** Servers behind APIServices that do not answer hold nobody up for more than five seconds. */
import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { type TestContext, test } from "node:test";
import { parseRequestInfo } from "../request/request-info.js";
import type { RequestContext } from "../request/request-state.js";
import { createUser } from "../request/user-info.js";
import type { RemoteService } from "./api-services.js";
import { passOn } from "./proxy.js";
import { RemoteDocuments } from "./remote-documents.js";
import type { RemoteServer } from "./remote-server.js";

const SERVICE = { name: "v1.shop.example.com", group: "shop.example.com", version: "v1" };

test("A12: the check of a service ends after five seconds without an answer", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { server, requests } = silentServer();
  let failure: unknown;
  const ended = new RemoteDocuments().refresh(server).catch((error: unknown) => {
    failure = error;
  });
  await turns();
  assert.equal(requests.length, 1);
  t.mock.timers.tick(4_999);
  await turns();
  assert.equal(failure, undefined);
  t.mock.timers.tick(1);
  await ended;
  assert.match(String(failure), /^Error: \/apis\/shop\.example\.com\/v1: no answer$/);
});

test("A12: discovery of a service's group-version is passed on for five seconds, and its objects for as long as it takes", async (t) => {
  const limits = limitsOf(t);
  const discovery = asking("/apis/shop.example.com/v1");
  const ended = passOn(discovery.ctx, silentServer().server);
  await turns();
  assert.deepEqual([limits.length, limits[0]?.ms], [1, 5_000]);
  assert.equal(discovery.answer.status, 0);
  limits[0]?.end();
  await ended;
  await turns();
  assert.deepEqual(discovery.answer, {
    status: 503,
    text: "error trying to reach service: context deadline exceeded\n",
  });

  const objects = asking("/apis/shop.example.com/v1/namespaces/default/carts");
  const { server, requests } = silentServer();
  const passed = passOn(objects.ctx, server);
  await turns();
  assert.equal(limits.length, 1);
  assert.equal(requests[0], objects.ctx.state.signal);
  objects.leave();
  await assert.rejects(passed, /the client left/);
});

/** Replaces the time limits of the process by ones that end on demand. */
function limitsOf(t: TestContext) {
  const limits: { readonly ms: number; readonly end: () => void }[] = [];
  t.mock.method(AbortSignal, "timeout", (ms: number) => {
    const ended = new AbortController();
    limits.push({ ms, end: () => ended.abort(new DOMException("too late", "TimeoutError")) });
    return ended.signal;
  });
  return limits;
}

/** Takes requests, and answers none. */
function silentServer() {
  const requests: AbortSignal[] = [];
  const request = ({ signal }: { readonly signal: AbortSignal }) =>
    new Promise((_resolve, reject) => {
      requests.push(signal);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  const server = {
    service: SERVICE as RemoteService,
    url: "https://10.0.0.1:443",
    pool: () => ({ request }),
  };
  return { server: server as unknown as RemoteServer, requests };
}

function asking(url: string) {
  const left = new AbortController();
  const answer = { status: 0, text: "" };
  const res = new Writable({
    write(chunk, _encoding, done) {
      answer.text += String(chunk);
      done();
    },
  });
  Object.assign(res, { setHeader() {}, flushHeaders: () => (answer.status = status()) });
  const status = () => (res as unknown as { statusCode: number }).statusCode;
  const ctx = {
    method: "GET",
    host: "front",
    headerSent: false,
    req: { url, headers: {}, httpVersionMajor: 1 },
    res,
    state: {
      info: parseRequestInfo("GET", url),
      user: createUser({ name: "jane" }),
      auditId: "1",
      signal: left.signal,
      bytesSent: 0,
    },
  } as unknown as RequestContext;
  return { ctx, answer, leave: () => left.abort(new Error("the client left")) };
}

async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
}
