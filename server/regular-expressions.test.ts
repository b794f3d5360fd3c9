/**
 * No regular expression of the server takes more time than its text is long (39.2): one that tries again from each character, or
 * each way to split a text, holds the thread for minutes over a few thousand characters, and a pattern such as "(\d+\.?\d*s)+" for ever
 * over forty. Runs over what was emitted, as only that can be parsed by a library.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "acorn";
import { analyse } from "scslre";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Patterns that the analysis doubts, by file, each with why its text is short or the doubt is wrong. */
const ALLOWED: Readonly<Record<string, string>> = {
  "server/authz/abac /\\*+$/": "a policy of the operator's file",
  "server/config/config /^\\/+|\\/+$/g": "the operator's --etcd-prefix",
  "storage/objects/keys /^\\/+|\\/+$/g": "the operator's --etcd-prefix",
  "server/cel/functions/format /\\B(?=(?:\\d{3})+$)/g": "the digits of a double",
  "server/cel/text /0+$/": "the nine digits of a fraction",
  "server/schema/time-text /\\.?0+$/": "the digits of a unit of time",
  "server/codec/protobuf-wire /(\\d+)(?:\\.(\\d+))?(h|ms|m|s|µs|ns)/g":
    "a canonical duration, of which each part matches",
  'server/console/model/metrics-text /(\\w+)="((?:[^"\\\\]|\\\\.)*)"/g':
    "read by the console, of the user's own server",
  "server/connect/rewrite /^((?:[a-z][a-z0-9+.-]*:)?\\/\\/([^/?#]*))?([^?#]*)(.*)$/is":
    "every text matches",
  "server/registry/admissionregistration/validate-webhooks /^(?:([a-z][a-z0-9+.-]*):)?(?:\\/\\/([^/?#]*))?([^?#]*)(?:\\?([^#]*))?(?:#(.*))?$/is":
    "every text matches",
  "storage/embedded/directory-lock /^\\s*(\\d+)\\s/gm": "the kernel's table of locks",
  "storage/etcd/errors /(\\d+) [A-Z_]+: (.*)/s": "a message of gRPC",
};

interface Pattern {
  readonly file: string;
  readonly source: string;
  readonly flags: string;
}

test("39.2: no pattern of the server takes more than one look at each character", () => {
  const doubted = new Set<string>();
  const found = patterns();
  assert.ok(found.length > 300, `${found.length} patterns`);
  for (const { file, source, flags } of found) {
    const { reports } = analyse({ source, flags });
    if (reports.length === 0) continue;
    const text = `${file} /${source}/${flags}`;
    doubted.add(text);
    const why = reports.map(({ type, character }) => `${type} ${character.literal.source}`);
    assert.ok(ALLOWED[text] !== undefined, `${text}: ${why.join(", ")}`);
  }
  const unused = Object.keys(ALLOWED).filter((text) => !doubted.has(text));
  assert.deepEqual(unused, [], "reasons without a pattern");
});

test("the analysis knows a pattern that is too slow", () => {
  for (const source of ["^(?:(?:\\d+\\.?\\d*)(?:s|m|h))+$", "(\\d+)x", "^0*(\\d*)$"]) {
    assert.ok(analyse({ source, flags: "" }).reports.length > 0, source);
  }
});

function patterns(): Pattern[] {
  return ["server", "storage"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".js") && !/\.(?:test|bench)\.js$/.test(name))
      .filter((name) => !/(?:^|\/)(?:testing|page)\//.test(name))
      .flatMap((name) => patternsOf(join(folder, name))),
  );
}

function patternsOf(file: string): Pattern[] {
  const found: Pattern[] = [];
  const options = { ecmaVersion: "latest", sourceType: "module" } as const;
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    if ("regex" in node) {
      const { pattern, flags } = node.regex as { pattern: string; flags: string };
      found.push({ file: file.replace(/\.js$/, ""), source: pattern, flags });
    }
    for (const child of Object.values(node)) visit(child);
  };
  visit(parse(readFileSync(join(ROOT, file), "utf8"), options));
  return found;
}
