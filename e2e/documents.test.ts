/** Links of the documents lead somewhere, and tables that name tests name those that there are, for all that they are about. */
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

interface Row {
  readonly subject: string;
  readonly tests: readonly string[];
}

/** Rows of which the last cell names files of tests. */
function rowsOf(document: string): Row[] {
  const lines = readFileSync(join(ROOT, document), "utf8").split("\n");
  return lines
    .map((line) => line.split("|").map((cell) => cell.trim()))
    .map((cells) => ({
      subject: cells[1] ?? "",
      tests: [...(cells.at(-2) ?? "").matchAll(/`([^`]+\.test\.ts)`/g)].map(
        ([, file = ""]) => file,
      ),
    }))
    .filter(({ tests }) => tests.length > 0);
}

test("each thing that is shipped has a test that is there", () => {
  const rows = rowsOf("docs/dev/shipped.md");
  const missing = rows
    .flatMap(({ tests }) => tests)
    .filter((file) => !existsSync(join(ROOT, file)));
  assert.deepEqual(missing, []);
  const subjects = rows.flatMap(({ subject }) =>
    [...subject.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name),
  );
  const shipped = ["deploy", "helm"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(ROOT, join(entry.parentPath, entry.name))),
  );
  assert.ok(shipped.length > 40);
  const without = shipped.filter(
    (file) => !subjects.some((name) => file === name || file.startsWith(`${name}/`)),
  );
  assert.deepEqual(without, []);
});

test("each flag that names a file says when a changed one is in force, and a test changes it", () => {
  const flags = readFileSync(join(ROOT, "docs", "run", "flags.md"), "utf8");
  const files = [...flags.matchAll(/^\| `(--[a-z-]+)` \| file/gm)].map(([, name = ""]) => name);
  assert.ok(files.length > 25);
  const page = readFileSync(join(ROOT, "docs", "run", "operations.md"), "utf8");
  const [, section = ""] = page.split("### Files that are read again\n");
  const [table = ""] = section.split("\n## ");
  const missing = files.filter((name) => !table.includes(`\`${name}\``));
  assert.deepEqual(missing, []);
  const tests = [...table.matchAll(/`([^`]+\.test\.ts)`/g)].map(([, file = ""]) => file);
  assert.ok(tests.length > 10);
  assert.deepEqual(
    tests.filter((file) => !existsSync(join(ROOT, file))),
    [],
  );
});
