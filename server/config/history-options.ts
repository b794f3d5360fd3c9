/** The command lines of `keelson history` and `keelson diff`. Nothing is opened here. */
import {
  flagLines,
  parseFlags,
  SERVER_FLAGS,
  type ServerFlags,
  serverOf,
} from "./command-flags.js";
import { objectOf } from "./why-options.js";

export interface HistoryOptions extends ServerFlags {
  /** "configmaps", "cm", "ConfigMap", "widgets.example.com". */
  readonly type: string;
  readonly name: string;
  readonly namespace: string;
  /** Of history: how many versions at most. */
  readonly limit: number;
  /** Of diff: undefined = the version before `to`. */
  readonly from: string | undefined;
  /** Of diff: undefined = the current one. */
  readonly to: string | undefined;
}

const LIMIT = 50;
const LIMIT_MAX = 10_000;

const COMMON = { namespace: "of the object; default: default", ...SERVER_FLAGS } as const;
const HISTORY_FLAGS = { limit: `how many versions at most; default: ${LIMIT}`, ...COMMON } as const;
const DIFF_FLAGS = {
  from: "a resourceVersion; default: the version before",
  to: "a resourceVersion; default: the current one",
  ...COMMON,
} as const;

const KEPT = `It asks for exact versions, which kube-apiserver does not answer, and shows what the store still keeps:
--etcd-compaction-interval and as much again. A deleted object has no history here.`;

export const HISTORY_HELP = `keelson history: who changed which fields of an object, and when

Usage:
  keelson history TYPE NAME [-n NAMESPACE] [flags]

${KEPT}

Flags:
${flagLines(HISTORY_FLAGS)}
`;

export const DIFF_HELP = `keelson diff: what differs between two versions of an object

Usage:
  keelson diff TYPE NAME [-n NAMESPACE] [--from=VERSION] [--to=VERSION] [flags]

${KEPT}

Flags:
${flagLines(DIFF_FLAGS)}
`;

/** @throws {RangeError} with one line */
export function parseHistoryOptions(args: readonly string[]): HistoryOptions {
  const given = parseFlags(args, HISTORY_FLAGS, { "-n": "namespace" }, { takesWords: true });
  const text = given.last("limit") ?? String(LIMIT);
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > LIMIT_MAX) throw new RangeError(`--limit: not 1 to ${LIMIT_MAX}`);
  const versions = { from: undefined, to: undefined };
  return {
    ...objectOf(given.words, given.last("namespace")),
    ...serverOf(given),
    limit,
    ...versions,
  };
}

/** @throws {RangeError} with one line */
export function parseDiffOptions(args: readonly string[]): HistoryOptions {
  const given = parseFlags(args, DIFF_FLAGS, { "-n": "namespace" }, { takesWords: true });
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
    limit: 1,
    ...versions,
  };
}
