/** What clients get of an aggregated server's redirects. */
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { withoutRedirect } from "./refusals.js";

test("CVE-2022-3172: no client is led elsewhere by the server behind an APIService (A6)", async () => {
  const answer = (status: number, location?: string) => ({
    status,
    headers: location === undefined ? [] : [["Location", location] as const],
    body: Readable.from(["own"]),
  });
  for (const status of [300, 301, 302, 303, 304, 307, 308]) {
    const { headers, body, ...passed } = withoutRedirect(answer(status, "https://evil.example/"));
    assert.equal(passed.status, 502);
    assert.deepEqual(
      headers.map(([name]) => name),
      ["Content-Type", "X-Content-Type-Options", "Cache-Control"],
    );
    assert.match(await text(body), /^the backend attempted to redirect this request/);
  }
  for (const one of [answer(201, "/created"), answer(304), answer(302, ""), answer(200)]) {
    assert.equal(withoutRedirect(one), one);
  }
});
