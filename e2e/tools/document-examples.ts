/**
 * The examples of a document: blocks of code that begin with `<!-- example: FILE -->` are programs of their own, and other
 * blocks of JavaScript speak of an `api` that somebody has. They become tests of one program.
 */

export interface Example {
  /** Its file. */
  readonly name: string;
  readonly code: string;
}

/** The programs that a document has whole. */
export function examplesOf(document: string): readonly Example[] {
  const found = document.matchAll(/<!-- example: (\S+) -->\n```\w+\n([\s\S]*?)```/g);
  return [...found].map(([, name = "", code = ""]) => ({ name, code }));
}

/** What a snippet may speak of besides `api`. */
const PRELUDE = `import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, after, before, beforeEach, describe, test } from "node:test";
import { startKeelson } from "keelson";

const shared = await startKeelson({
  users: [{ name: "controller", groups: ["system:masters"] }],
  faults: true,
  controlPlanes: true,
  record: true,
});
after(() => shared.stop());

/** What the controller of the snippets does: three updates that meet their conflict. */
async function work() {
  const { url, ca, token } = shared.as("controller");
  for (let round = 0; round < 3; round++) {
    await new Promise((resolve, reject) => {
      const path = "/api/v1/namespaces/default/configmaps/none";
      const headers = { authorization: \`Bearer \${token}\`, "content-type": "application/json" };
      const sent = request(new URL(path, url), { method: "PUT", ca, headers }, (answer) =>
        answer.resume().on("end", resolve),
      );
      sent.on("error", reject).end('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"none"}}');
    });
  }
}
`;

/** @returns a program for node:test with a test for each snippet, and how many there are */
export function snippetsOf(document: string): { readonly code: string; readonly count: number } {
  const blocks = document.matchAll(/(<!-- example: \S+ -->\n)?```js\n([\s\S]*?)```/g);
  const snippets = [...blocks].filter(([, marker]) => marker === undefined);
  const tests = snippets.map(([, , code = ""], index) => asTest(code, index + 1));
  return { code: [PRELUDE, ...tests].join("\n"), count: snippets.length };
}

function asTest(snippet: string, number: number): string {
  const code = snippet.replace(/^\/\/ \.\.\. the controller works$/m, "await work();");
  const title = JSON.stringify(`snippet ${number}: ${snippet.split("\n", 1)[0]}`);
  // What says what happens before and after tests has one to stand around.
  if (/\b(?:before|after)(?:Each)?\(/.test(code)) {
    return `describe(${title}, () => {\nconst api = shared;\n${code}\ntest("in it", () => {});\n});\n`;
  }
  const declares = /^const api = /m.test(code);
  const [first, last] = declares ? ["", "await api.stop();"] : ["const api = shared;", ""];
  return `test(${title}, async () => {\n${first}\n${code}\n${last}\n});\n`;
}
