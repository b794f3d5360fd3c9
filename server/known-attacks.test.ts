/** docs/run/access.md says what protects against published attacks: each row names a test that is called after the attack. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const root = new URL("../../", import.meta.url);

test("each attack in docs/run/access.md has a test that is called after it", () => {
  const page = readFileSync(new URL("docs/run/access.md", root), "utf8");
  const rows = [...page.matchAll(/^\| (CVE-[^|]*) \|.*\| `([^`]+)` \|$/gm)];
  assert.ok(rows.length > 10, `${rows.length} rows`);
  for (const [, numbers = "", path = ""] of rows) {
    const text = readFileSync(new URL(path, root), "utf8");
    for (const number of numbers.split(", ")) {
      const title = new RegExp(`^ *test\\((["'\`]).*${number}\\b.*\\1`, "m");
      assert.match(text, title, `${path} has no test of ${number}`);
    }
  }
});
