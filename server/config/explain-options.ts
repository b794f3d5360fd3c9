/** The command line of `keelson explain-admission`. Nothing is opened here. */

export interface ExplainOptions {
  /** "-" = standard input. */
  readonly file: string;
  /** undefined = what the environment names, or the usual place. */
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  /** In place of the configuration's server. */
  readonly server: string | undefined;
  /** For objects that name none. */
  readonly namespace: string | undefined;
  /** undefined = CREATE, or UPDATE of what is there. */
  readonly operation: ExplainedOperation | undefined;
  readonly as: {
    readonly user: string | undefined;
    readonly uid: string | undefined;
    readonly groups: readonly string[];
  };
  readonly output: "table" | "json";
}

export type ExplainedOperation = "CREATE" | "UPDATE" | "DELETE";

const OPERATIONS: readonly ExplainedOperation[] = ["CREATE", "UPDATE", "DELETE"];

/** Flags with a value, and what they are for. */
const FLAGS = {
  filename: "the object to write, as YAML or JSON; - is standard input",
  as: "in whose name",
  "as-group": "a group of theirs; may be repeated",
  "as-uid": "their uid",
  operation: "CREATE, UPDATE or DELETE; default: CREATE, or UPDATE of what is there",
  namespace: "of objects that name none; default: default",
  kubeconfig: "the client configuration; default: $KUBECONFIG, or ~/.kube/config",
  context: "the context of the configuration; default: its current one",
  server: "https://host:port, in place of the configuration's",
  output: "table or json",
} as const satisfies Readonly<Record<string, string>>;

type Flag = keyof typeof FLAGS;

const SHORT: Readonly<Record<string, Flag>> = {
  "-f": "filename",
  "-n": "namespace",
  "-o": "output",
};

const FLAG_LINES = Object.entries(FLAGS).map(([name, help]) => `  --${name.padEnd(12)} ${help}`);

export const EXPLAIN_HELP = `keelson explain-admission: what the rules of a cluster say to one write

Usage:
  keelson explain-admission -f object.yaml [--as user] [flags]

The write is a dry run and changes nothing. Every webhook and policy that was considered is shown: whether
it matched, what it said or changed, and how long it took. Exit status 0: the write would be taken;
1: it would be refused; 2: nobody could be asked. The configuration's user must be in system:masters.

Flags:
${FLAG_LINES.join("\n")}
`;

/** @throws {RangeError} with one line */
export function parseExplainOptions(args: readonly string[]): ExplainOptions {
  const given = new Map<Flag, string[]>();
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string;
    const equals = arg.indexOf("=");
    const written = equals === -1 ? arg : arg.slice(0, equals);
    const flag = flagOf(written);
    const value = equals === -1 ? args[++i] : arg.slice(equals + 1);
    if (value === undefined) throw new RangeError(`flag needs an argument: ${written}`);
    given.set(flag, [...(given.get(flag) ?? []), value]);
  }
  const last = (flag: Flag) => given.get(flag)?.at(-1);
  const file = last("filename");
  if (file === undefined || file === "") throw new RangeError("--filename must be given");
  const as = { user: last("as"), uid: last("as-uid"), groups: given.get("as-group") ?? [] };
  if (as.user === undefined && (as.uid !== undefined || as.groups.length > 0)) {
    throw new RangeError("--as-group and --as-uid need --as");
  }
  return {
    file,
    kubeconfig: last("kubeconfig"),
    context: last("context"),
    server: last("server"),
    namespace: last("namespace"),
    operation: oneOf("operation", OPERATIONS, last("operation")?.toUpperCase()),
    as,
    output: oneOf("output", ["table", "json"], last("output")) ?? "table",
  };
}

function flagOf(written: string): Flag {
  const flag = SHORT[written] ?? (written.startsWith("--") ? written.slice(2) : "");
  if (flag in FLAGS) return flag as Flag;
  if (!written.startsWith("-")) {
    throw new RangeError(`unexpected argument ${JSON.stringify(written)}`);
  }
  throw new RangeError(`unknown flag: ${written}`);
}

function oneOf<T extends string>(
  flag: Flag,
  known: readonly T[],
  text: string | undefined,
): T | undefined {
  if (text === undefined) return undefined;
  const found = known.find((one) => one === text);
  if (found !== undefined) return found;
  throw new RangeError(
    `invalid value for --${flag}: must be one of ${known.join(", ")}, not ${JSON.stringify(text)}`,
  );
}
