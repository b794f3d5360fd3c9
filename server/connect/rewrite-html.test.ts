/** Links in proxied pages, however the page is split into chunks. */
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import type { PassedAnswer } from "../client/pass-request.js";
import { rewriteAnswer, rewriteUrl } from "./rewrite.js";

const places = {
  base: "/api/v1/namespaces/shop/services/web/proxy",
  hosts: ["10.1.2.3:8080", "api.example.com"],
};
const { base } = places;

test("places of the answering side lead through the proxy, others stay", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["/login?next=/#top", `${base}/login?next=/#top`],
    ["/", `${base}/`],
    ["http://10.1.2.3:8080/a", `${base}/a`],
    ["https://api.example.com/a/", `${base}/a/`],
    ["//10.1.2.3:8080/a", `${base}/a`],
    [`${base}/a`, `${base}/a`],
    ["http://elsewhere.example/a", "http://elsewhere.example/a"],
    ["//elsewhere.example/a", "//elsewhere.example/a"],
    ["relative/a", "relative/a"],
    ["?page=2", "?page=2"],
    ["#top", "#top"],
    ["mailto:jane@example.com", "mailto:jane@example.com"],
    ["", ""],
  ];
  for (const [given, expected] of cases) assert.equal(rewriteUrl(given, places), expected, given);
});

const PAGE = `<!DOCTYPE html><html><head><link rel=x href='/s.css'><title>T\u00e9&mdash;</title></head>
<body><a href="/a?x=1&amp;y=2" title="&mdash; \u00fc">\u65e5\u672c</a><a href="b">c</a><img src=/i.png>
<script>if (a < b) { document.write('<a href="/raw">'); }</script><br/><p>open <!-- <a href="/c"> --></body></html>`;

test("links of a page are changed, and nothing else of it, wherever it is cut", async () => {
  const expected = PAGE.replace("href='/s.css'", `href="${base}/s.css"`)
    .replace("rel=x", 'rel="x"')
    .replace(
      '"/a?x=1&amp;y=2" title="&mdash; \u00fc"',
      `"${base}/a?x=1&amp;y=2" title="&#x2014; \u00fc"`,
    )
    .replace("src=/i.png", `src="${base}/i.png"`);
  const bytes = Buffer.from(PAGE);
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 80 }), async (size) => {
      const pieces: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
      const changed = rewriteAnswer(places)(
        answerOf(Readable.from(pieces), "text/html; charset=utf-8"),
      );
      assert.equal(String(await buffer(changed.body)), expected);
    }),
    { numRuns: 30 },
  );
});

test("compressed pages are read, what is no page stays the same stream", async () => {
  const body = Readable.from([gzipSync('<a href="/a">')]);
  const changed = rewriteAnswer(places)(answerOf(body, "text/html", ["Content-Encoding", "gzip"]));
  assert.equal(String(await buffer(changed.body)), `<a href="${base}/a">`);
  assert.deepEqual(changed.headers, [["Content-Type", "text/html"]]);

  const plain = answerOf(Readable.from(["x"]), "text/htmlx");
  assert.equal(rewriteAnswer(places)(plain).body, plain.body);
  const brotli = answerOf(Readable.from(["x"]), "text/html", ["content-encoding", "br"]);
  assert.equal(rewriteAnswer(places)(brotli).body, brotli.body);
});

test("a redirect leads through the proxy", () => {
  const answer = answerOf(Readable.from([]), "text/html", ["Location", "/next"]);
  assert.deepEqual(rewriteAnswer(places)({ ...answer, status: 302 }).headers, [
    ["Content-Type", "text/html"],
    ["Location", `${base}/next`],
  ]);
});

function answerOf(
  body: Readable,
  type: string,
  ...more: readonly (readonly [string, string])[]
): PassedAnswer {
  return { status: 200, headers: [["Content-Type", type], ...more], body };
}
