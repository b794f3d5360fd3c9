/** The command lines of `keelson history` and `keelson diff`. Nothing is opened here. */
import { flagLines, oneOf, parseFlags, SERVER_FLAGS, serverOf } from "./command-flags.js";
import { type AskedObject, BLAME_FORMS, objectOf } from "./why-options.js";

export interface HistoryOptions extends AskedObject {
  readonly form: (typeof BLAME_FORMS)[number];
  /** Of history: how many versions at most. */
  readonly limit: number;
  /** Of diff: undefined = the version before `to`. */
  readonly from: string | undefined;
  /** Of diff: undefined = the current one. */
  readonly to: string | undefined;
}

const LIMIT = 50;
const LIMIT_MAX = 10_000;

const COMMON = {
  output: `${BLAME_FORMS.join(", ")}; default: text`,
  namespace: "of the object; default: default",
  ...SERVER_FLAGS,
} as const;
const SHORT = { "-n": "namespace", "-o": "output" } as const;
const HISTORY_FLAGS = { limit: `how many versions at most; default: ${LIMIT}`, ...COMMON } as const;
const DIFF_FLAGS = {
  from: "a resourceVersion; default: the version before",
  to: "a resourceVersion; default: the current one",
  ...COMMON,
} as const;

const KEPT = `It asks for exact versions, which kube-apiserver does not answer, and shows what the store still keeps:
--etcd-compaction-interval and as much again. Who wrote a version is what the recorder of a server with --record
knows; of others it is what metadata.managedFields tell. When a deleted object went the recorder alone knows.`;

export const HISTORY_HELP = `keelson history: who changed which fields of an object, and when

Usage:
  keelson history TYPE NAME|TYPE/NAME [-n NAMESPACE] [-o FORM] [flags]

${KEPT}

Flags:
${flagLines(HISTORY_FLAGS)}
`;

export const DIFF_HELP = `keelson diff: what differs between two versions of an object

Usage:
  keelson diff TYPE NAME|TYPE/NAME [-n NAMESPACE] [--from=VERSION] [--to=VERSION] [-o FORM] [flags]

${KEPT}

Flags:
${flagLines(DIFF_FLAGS)}
`;

/** @throws {RangeError} with one line */
export function parseHistoryOptions(args: readonly string[]): HistoryOptions {
  const given = parseFlags(args, HISTORY_FLAGS, SHORT, { takesWords: true });
  const text = given.last("limit") ?? String(LIMIT);
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > LIMIT_MAX) throw new RangeError(`--limit: not 1 to ${LIMIT_MAX}`);
  const versions = { from: undefined, to: undefined };
  return {
    ...objectOf(given.words, given.last("namespace")),
    ...serverOf(given),
    form: oneOf("output", BLAME_FORMS, given.last("output")) ?? "text",
    limit,
    ...versions,
  };
}

/** @throws {RangeError} with one line */
export function parseDiffOptions(args: readonly string[]): HistoryOptions {
  const given = parseFlags(args, DIFF_FLAGS, SHORT, { takesWords: true });
  for (const flag of ["from", "to"] as const) {
    const version = given.last(flag);
    if (version !== undefined && !/^[1-9]\d{0,15}$/.test(version)) {
      throw new RangeError(`--${flag}: ${JSON.stringify(version)} is no resourceVersion`);
    }
  }
  const versions = { from: given.last("from"), to: given.last("to") };
  return {
    ...objectOf(given.words, given.last("namespace")),
    ...serverOf(given),
    form: oneOf("output", BLAME_FORMS, given.last("output")) ?? "text",
    limit: 1,
    ...versions,
  };
}
