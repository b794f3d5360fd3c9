/** The command line of `keelson explain-admission`. Nothing is opened here. */
import {
  flagLines,
  oneOf,
  parseFlags,
  SERVER_FLAGS,
  type ServerFlags,
  serverOf,
} from "./command-flags.js";

export interface ExplainOptions extends ServerFlags {
  /** "-" = standard input. */
  readonly file: string;
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
  ...SERVER_FLAGS,
  output: "table or json",
} as const;

const SHORT = { "-f": "filename", "-n": "namespace", "-o": "output" } as const;

export const EXPLAIN_HELP = `keelson explain-admission: what the rules of a cluster say to one write

Usage:
  keelson explain-admission -f object.yaml [--as user] [flags]

The write is a dry run and changes nothing. Every webhook and policy that was considered is shown: whether
it matched, what it said or changed, and how long it took. Exit status 0: the write would be taken;
1: it would be refused; 2: nobody could be asked. The configuration's user must be in system:masters.

Flags:
${flagLines(FLAGS)}
`;

/** @throws {RangeError} with one line */
export function parseExplainOptions(args: readonly string[]): ExplainOptions {
  const given = parseFlags(args, FLAGS, SHORT);
  const { last } = given;
  const file = last("filename");
  if (file === undefined || file === "") throw new RangeError("--filename must be given");
  const as = { user: last("as"), uid: last("as-uid"), groups: given.all("as-group") };
  if (as.user === undefined && (as.uid !== undefined || as.groups.length > 0)) {
    throw new RangeError("--as-group and --as-uid need --as");
  }
  return {
    file,
    ...serverOf(given),
    namespace: last("namespace"),
    operation: oneOf("operation", OPERATIONS, last("operation")?.toUpperCase()),
    as,
    output: oneOf("output", ["table", "json"], last("output")) ?? "table",
  };
}
