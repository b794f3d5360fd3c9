/**
 * The table of the rules of built-in kinds (`compare/kind-rules.tsv`): each rule is broken once and kept once, and the
 * server tells of the first what the table says and takes the second.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { furnish } from "./compare/ask.js";
import {
  causesIn,
  judgeChange,
  type KindRule,
  readRules,
  subjectOf,
  type Verb,
} from "./compare/kind-rules.js";
import type { Change } from "./compare/one-change.js";
import type { Subject } from "./compare/questions.js";
import { isLong } from "./harness/is-long.js";
import { startServer } from "./harness/server-process.js";
import { repositoryRoot } from "./tools/find-tool.js";

/** A share of the table in the tests, all of it in `npm run test:long`. */
const STEP = isLong ? 1 : 5;
const rules = readRules(repositoryRoot());
const asked = rules.filter((_rule, index) => index % STEP === 0);
const server = await startServer();
const { client } = server;

before(() => furnish({ ours: client, theirs: client }));
after(() => server[Symbol.asyncDispose]());

/** What is not as the table says: "" = nothing. */
async function problemOf(subject: Subject, rule: KindRule, verb: Verb): Promise<string> {
  const { kind, cause, beside, breaks } = rule;
  const told = causesIn(await judgeChange(client, subject, verb, breaks));
  const what = `${kind} ${verb} ${breaks.path}=${JSON.stringify(breaks.value)}`;
  if (!told.includes(cause)) return `${what}: ${cause} is not told, but ${told.join("; ")}`;
  const others = told.filter((other) => other !== cause);
  const isAlone = others.length === beside || verb !== rule.verbs[0];
  return isAlone ? "" : `${what}: beside ${cause}: ${others.join("; ")}`;
}

/** Why a change that keeps the rules is refused: "" = it is not. */
async function refusalOf(subject: Subject, verb: Verb, keeps: Change | undefined): Promise<string> {
  const { status, text } = await judgeChange(client, subject, verb, keeps);
  // Some kinds have names with a meaning, so that a second object is there already.
  if (status < 300 || status === 409) return "";
  return `${verb} ${keeps?.path}=${JSON.stringify(keeps?.value)}: ${text.slice(0, 300)}`;
}

test("issue 41: the table has rules of each kind that may be refused", () => {
  const kinds = new Set(rules.map(({ kind }) => kind));
  assert.deepEqual(
    [...kinds].filter((kind) => subjectOf(kind) === undefined),
    [],
  );
  assert.ok(rules.length > 1_500 && kinds.size > 40);
});

for (const kind of new Set(asked.map((rule) => rule.kind))) {
  test(`issue 41: ${kind} is refused what breaks one of its rules, and takes what keeps it`, async () => {
    const subject = subjectOf(kind);
    assert.ok(subject);
    const found: string[] = [];
    const kept = new Set<string>();
    for (const rule of asked) {
      if (rule.kind !== kind) continue;
      for (const verb of isLong ? rule.verbs : rule.verbs.slice(0, 1)) {
        found.push(await problemOf(subject, rule, verb));
        const pair = `${verb} ${JSON.stringify(rule.keeps)}`;
        if (kept.has(pair)) continue;
        kept.add(pair);
        found.push(await refusalOf(subject, verb, rule.keeps));
      }
    }
    assert.deepEqual(
      found.filter((problem) => problem !== ""),
      [],
    );
  });
}
