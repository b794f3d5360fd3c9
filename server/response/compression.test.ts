/** Answers are compressed for clients that accept it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import type { RequestContext } from "../request/request-state.js";
import { openTestServer } from "../request/testing/test-server.js";
import { acceptsGzip, sendCompressed } from "./compression.js";

const MIN = { minBytes: 100 };

/** The raw body: fetch would decompress it. */
async function rawGet(port: number, headers: Record<string, string>) {
  const { get } = await import("node:http");
  return new Promise<{ headers: Record<string, unknown>; body: Buffer }>((resolve, reject) => {
    get({ port, host: "127.0.0.1", headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve({ headers: response.headers, body: Buffer.concat(chunks) }));
      response.on("error", reject);
    }).on("error", reject);
  });
}

const HEADERS: readonly [header: string | undefined, isAccepted: boolean][] = [
  [undefined, false],
  ["gzip", true],
  ["deflate, gzip;q=0.5", true],
  ["gzip;q=0", false],
  ["gzip; q=0.000", false],
  ["br", false],
];

for (const [header, isAccepted] of HEADERS) {
  test(`S1-NEG-19: Accept-Encoding ${header} ${isAccepted ? "takes" : "does not take"} gzip`, () => {
    const req = { headers: header === undefined ? {} : { "accept-encoding": header } };
    assert.equal(acceptsGzip({ req } as unknown as RequestContext), isAccepted);
  });
}

test("S1-NEG-19, C-05: a body is compressed from the threshold on", async () => {
  const large = Buffer.alloc(5_000, "a");
  await using server = await openTestServer((ctx) =>
    sendCompressed(ctx, 200, [], ctx.path === "/small" ? large.subarray(0, 99) : large, MIN),
  );
  const compressed = await rawGet(server.port, { "accept-encoding": "gzip" });
  assert.equal(compressed.headers["content-encoding"], "gzip");
  assert.equal(compressed.headers.vary, "Accept-Encoding");
  assert.equal(compressed.headers["content-length"], String(compressed.body.length));
  assert.deepEqual(gunzipSync(compressed.body), large);
  const plain = await rawGet(server.port, {});
  assert.equal(plain.headers["content-encoding"], undefined);
  assert.deepEqual(plain.body, large);
});

test("S1-NEG-18: without compression nothing is compressed", async () => {
  await using server = await openTestServer((ctx) =>
    sendCompressed(ctx, 200, [], Buffer.alloc(5_000), undefined),
  );
  const { headers } = await rawGet(server.port, { "accept-encoding": "gzip" });
  assert.equal(headers["content-encoding"], undefined);
});
