/**
 * Learns the rules of the built-in kinds from a server that may have the objects of the comparison, and writes them
 * to kind-rules.tsv:
 *
 *   node dist/e2e/compare/learn-rules.js --peer-kubeconfig=FILE [--out=e2e/compare/kind-rules.tsv]
 *
 * Below a template of pods only its direct fields are asked about: the rest are the rules of pods.
 */
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { seededRandom } from "../consistency/random.js";
import type { HttpsClient } from "../harness/https-client.js";
import { furnish } from "./ask.js";
import { causesIn, judgeChange, type KindRule, kindOf, ruleLine, type Verb } from "./kind-rules.js";
import type { Change } from "./one-change.js";
import { openPeerClient } from "./peer-client.js";
import { changes, hasStatus, isSpec, SUBJECTS, type Subject } from "./questions.js";

/** Definitions have a table of their own (refused-definitions.ts). */
const LEFT_OUT = /^apiextensions\//;
const IN_TEMPLATE = /emplate\.spec\.\w+[.[]/;
/**
 * Causes that are told by chance or of identities, and those of an empty list, which counts as none here
 * (known-differences.ts); changes of a Service's addresses, which the peer's allocator refuses before its rules; what a
 * compiler of expressions says, in words of its own; an operation that is none, which is told once here; a claim's
 * spec that may not change, which is told here with what it lacks.
 */
const NO_RULE =
  /compilation failed: |mutatingadmissionpolic\w+ \S+operations\S*: FieldValueNotSupported: |resourceclaims spec: |must be '|(?:claims|finalizers|managedFields|ownerReferences|Containers\[\]\.resources): FieldValueForbidden: | spec\.(?:clusterIPs|ipFamilies)\S* .*(?:must be a valid IP|first value must|expected an|supported values)/;
const HEADER = "# kind\tverbs\tcause\tbeside\tbreaks\tkeeps\n";

const { values } = parseArgs({
  options: {
    "peer-kubeconfig": { type: "string" },
    out: { type: "string", default: "e2e/compare/kind-rules.tsv" },
  },
});

interface Told {
  readonly change: Change;
  readonly isTaken: boolean;
  readonly causes: readonly string[];
}

/** A rule that a create and an update tell of the same change is one. */
function joined(rules: readonly KindRule[]): readonly KindRule[] {
  const found = new Map<string, KindRule>();
  for (const rule of rules) {
    const [, , cause, , breaks, keeps] = ruleLine(rule).split("\t");
    const key = [rule.kind, cause, breaks, keeps].join("\t");
    const known = found.get(key);
    found.set(
      key,
      known === undefined ? rule : { ...known, verbs: [...known.verbs, ...rule.verbs] },
    );
  }
  return [...found.values()];
}

async function learn(client: HttpsClient, subject: Subject, verb: Verb): Promise<KindRule[]> {
  const kind = kindOf(subject);
  const told: Told[] = [];
  for (const change of changesFor(subject, verb)) {
    const answer = await judgeChange(client, subject, verb, change);
    told.push({ change, isTaken: answer.status < 300, causes: causesIn(answer) });
  }
  const taken = new Map<string, Change>();
  for (const { change, isTaken } of told) {
    if (isTaken && change.value !== undefined && !taken.has(change.path))
      taken.set(change.path, change);
  }
  const best = new Map<string, Told>();
  for (const one of told) {
    for (const cause of one.causes) {
      if (NO_RULE.test(`${kind} ${cause}`)) continue;
      const known = best.get(cause);
      if (known === undefined || known.causes.length > one.causes.length) best.set(cause, one);
    }
  }
  return [...best].map(([cause, { change, causes }]) => ({
    kind,
    verbs: [verb],
    cause,
    beside: causes.filter((other) => other !== cause).length,
    breaks: change,
    keeps: taken.get(change.path),
  }));
}

function changesFor(subject: Subject, verb: Verb): readonly Change[] {
  const object =
    verb === "status" ? { ...subject.object, status: subject.status ?? {} } : subject.object;
  const within = verb === "status" ? (member: string) => member === "status" : isSpec;
  const found = changes({ ...subject, object }, seededRandom(1), 1, within);
  return found.filter(({ path }) => !IN_TEMPLATE.test(path));
}

function verbsOf(subject: Subject): readonly Verb[] {
  const { verbs } = subject.resource;
  return [
    ...(verbs.includes("create") ? (["create"] as const) : []),
    ...(verbs.includes("update") ? (["update"] as const) : []),
    ...(hasStatus(subject) ? (["status"] as const) : []),
  ];
}

async function main(file: string): Promise<void> {
  const client = await openPeerClient(file);
  const rules: KindRule[] = [];
  try {
    await furnish({ ours: client, theirs: client });
    for (const subject of SUBJECTS) {
      if (LEFT_OUT.test(kindOf(subject))) continue;
      for (const verb of verbsOf(subject)) rules.push(...(await learn(client, subject, verb)));
      process.stderr.write(`${kindOf(subject)}: ${rules.length} rules\n`);
    }
  } finally {
    client.close();
  }
  await writeFile(
    values.out,
    HEADER +
      joined(rules)
        .map((rule) => `${ruleLine(rule)}\n`)
        .join(""),
  );
}

if (values["peer-kubeconfig"] === undefined) {
  process.stderr.write("name the server to learn from: --peer-kubeconfig=FILE\n");
  process.exitCode = 2;
} else await main(values["peer-kubeconfig"]);
