/** Links of the documents lead somewhere: to a file that is there, and to a heading of it. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { repositoryRoot } from "./tools/find-tool.js";

const ROOT = repositoryRoot();
const FOLDERS = ["docs", "deploy", "helm"];

function documents(): string[] {
  const ofRoot = readdirSync(ROOT).filter((name) => name.endsWith(".md"));
  const others = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md"))
      .map((name) => join(folder, name)),
  );
  return [...ofRoot, ...others].map((name) => join(ROOT, name));
}

/** As pages are shown: in lower case, without punctuation, with hyphens for spaces. */
function anchorsOf(text: string): Set<string> {
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_ -]/gu, "")
        .trim()
        .replaceAll(" ", "-"),
    ),
  );
}

test("each link of a document leads to a file, and to a heading of it", () => {
  const broken: string[] = [];
  let links = 0;
  for (const document of documents()) {
    const text = readFileSync(document, "utf8");
    for (const [, target = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      links++;
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? document : join(dirname(document), path);
      const isThere = existsSync(file);
      if (isThere && (anchor === undefined || !file.endsWith(".md"))) continue;
      if (isThere && anchorsOf(readFileSync(file, "utf8")).has(anchor ?? "")) continue;
      broken.push(`${relative(ROOT, document)}: ${target}`);
    }
  }
  assert.ok(links > 150, `${links} links`);
  assert.deepEqual(broken, []);
});
