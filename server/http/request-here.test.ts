import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import type { Http2Request } from "../request/http2-request.js";
import { readBody } from "../request/read-body.js";
import { requestHere } from "./request-here.js";
import type { RequestListener } from "./request-listener.js";

const waiting = { signal: new AbortController().signal };

test("a request of the process to itself has its body, headers and method, and gets the whole answer", async () => {
  const handle: RequestListener = async (request, response) => {
    const body = await readBody(request as unknown as Http2Request, { waiting });
    const { method, url, headers, socket } = request;
    response.statusCode = 201;
    response.setHeader("Warning", ["one", "two"]);
    response.write(`${method} ${url} ${headers.accept} `);
    response.end(`${body} ${socket}`);
  };
  const { status, headers, body } = await requestHere(handle, {
    method: "POST",
    path: "/a?b=c",
    headers: { accept: "text/plain" },
    body: Buffer.from("ü"),
  });
  assert.equal(status, 201);
  assert.deepEqual(headers.warning, ["one", "two"]);
  assert.equal(String(body), "POST /a?b=c text/plain ü undefined");
});

test("an answer of the process to itself is closed once it is whole, also when nobody read the request's body", async () => {
  let closed: Promise<unknown> | undefined;
  const handle: RequestListener = (_request, response) => {
    closed = once(response, "close");
    response.end();
  };
  const path = "/";
  const { status } = await requestHere(handle, {
    ...{ method: "PUT", path },
    headers: {},
    body: Buffer.from("left"),
  });
  assert.equal(status, 200);
  await closed;
});

test("an answer of the process to itself that is cut short is an error", async () => {
  const handle: RequestListener = (_request, response) => {
    response.write("half");
    response.destroy();
  };
  const asked = requestHere(handle, { method: "GET", path: "/", headers: {} });
  await assert.rejects(asked, /the answer was cut short/);
});
