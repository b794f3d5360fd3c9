/** Addresses to listen on, as flags write them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseHostPort } from "./host-port.js";

test("P8: an address to listen on is one of either family with a port, or a port alone", () => {
  const good: [string, unknown][] = [
    ["", undefined],
    ["127.0.0.1:10257", { host: "127.0.0.1", port: 10257 }],
    ["[::]:0", { host: "::", port: 0 }],
    [":10257", { host: "0.0.0.0", port: 10257 }],
  ];
  for (const [text, expected] of good) assert.deepEqual(parseHostPort("--a", text), expected, text);
  for (const text of [
    "10257",
    "::1:10257",
    "[127.0.0.1]:1",
    "a:1",
    "[::1]",
    "127.0.0.1:70000",
    "1.2.3.4:-1",
  ]) {
    const message = `--a: ${JSON.stringify(text)} is not address:port`;
    assert.throws(() => parseHostPort("--a", text), new RangeError(message));
  }
});
