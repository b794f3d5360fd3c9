import assert from "node:assert/strict";
import { test } from "node:test";
import { refusalOfOrigin } from "./same-origin.js";

test("only the console's own page, and who opens it, is answered", () => {
  const host = "127.0.0.1:4711";
  const origin = `http://${host}`;
  const taken: readonly (readonly [string, Record<string, string>])[] = [
    ["GET", { host }],
    ["GET", { host: "localhost:4711", "sec-fetch-site": "none" }],
    ["GET", { host, origin, "sec-fetch-site": "same-origin" }],
    ["POST", { host, origin }],
  ];
  for (const [method, headers] of taken) {
    assert.equal(refusalOfOrigin({ method, headers }, 4711), undefined);
  }
  const refused: readonly (readonly [string, Record<string, string>])[] = [
    ["GET", {}],
    ["GET", { host: "127.0.0.1" }],
    ["GET", { host: "127.0.0.1:80" }],
    ["GET", { host: "evil.example:4711", origin: "http://evil.example:4711" }],
    ["GET", { host: `${host}.evil.example` }],
    ["GET", { host, "sec-fetch-site": "cross-site" }],
    ["GET", { host, "sec-fetch-site": "same-site" }],
    ["GET", { host, origin: "null" }],
    ["GET", { host, origin: "http://127.0.0.1:4712" }],
    ["GET", { host, origin: "http://localhost:4711" }],
    ["GET", { host, origin: `https://${host}` }],
    ["POST", { host }],
    ["DELETE", { host, origin: "http://evil.example" }],
  ];
  for (const [method, headers] of refused) {
    assert.equal(
      typeof refusalOfOrigin({ method, headers }, 4711),
      "string",
      JSON.stringify(headers),
    );
  }
});
