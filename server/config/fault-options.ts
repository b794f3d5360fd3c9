/** The command line of `keelson fault`. Nothing is opened here. */
import {
  flagLines,
  oneOf,
  parseFlags,
  SERVER_FLAGS,
  type ServerFlags,
  serverOf,
} from "./command-flags.js";

export interface FaultOptions extends ServerFlags {
  readonly action: "order" | "list" | "remove";
  /** Of `order`: the body of the request. */
  readonly order: Readonly<Record<string, unknown>>;
  /** Of `remove`; undefined = all. */
  readonly id: string | undefined;
}

const TYPES = {
  status: "refused before anything is done: --code, --reason, --message, --retry-after",
  conflict: "409, as a write of an outdated object",
  delay: "held up before anything is done: --delay-ms",
  lostAnswer: "a write that is stored, whose connection ends before its answer",
  expired: "a watch is told 410",
  staleRead: "gets and lists show the state of now",
  cutWatch: "the connections of open watches end at once",
} as const;

const FLAGS = {
  verb: "get, list, watch, create, update, patch, delete or deletecollection",
  group: "of the resource; the empty text is the core group",
  resource: "in the plural: configmaps",
  subresource: "status, scale, ...",
  namespace: "of the object",
  name: "of the object",
  user: "who asks",
  times: "how many requests at most; default: all",
  probability: "of each request, between 0 and 1; default: 1",
  code: "of status: 400 to 599",
  reason: "of status: ServiceUnavailable, TooManyRequests, ...",
  message: "of status",
  "retry-after": "of status: seconds",
  "delay-ms": "of delay: milliseconds",
  ...SERVER_FLAGS,
} as const;

const MATCH = ["verb", "group", "resource", "subresource", "namespace", "name", "user"] as const;

export const FAULT_WORDS = ["list", "remove", ...Object.keys(TYPES)];

const TYPE_LINES = Object.entries(TYPES).map(([type, help]) => `  ${type.padEnd(11)} ${help}`);

export const FAULT_HELP = `keelson fault: orders a fault of a server of tests

Usage:
  keelson fault TYPE [flags]     for requests that match the flags; prints its id
  keelson fault list             what was ordered, and how often it has happened
  keelson fault remove [ID]      one, or all

The server runs with --enable-fault-injection, and the configuration's user is in system:masters. A request that met
a fault says so in the header Keelson-Fault of its answer.

Types:
${TYPE_LINES.join("\n")}

Flags:
${flagLines(FLAGS)}
`;

/** @throws {RangeError} with one line */
export function parseFaultOptions(args: readonly string[]): FaultOptions {
  const given = parseFlags(args, FLAGS, { "-n": "namespace" }, { takesWords: true });
  const [word, id, ...others] = given.words;
  const server = serverOf(given);
  if (word === undefined) throw new RangeError("a type of fault is expected; see --help");
  if (word === "list" || word === "remove") {
    if (others.length > 0 || (word === "list" && id !== undefined)) {
      throw new RangeError(`unexpected argument ${JSON.stringify(others[0] ?? id)}`);
    }
    return { ...server, action: word, order: {}, id };
  }
  if (id !== undefined) throw new RangeError(`unexpected argument ${JSON.stringify(id)}`);
  const type = oneOf("TYPE", Object.keys(TYPES), word);
  const number = (flag: "times" | "probability" | "code" | "retry-after" | "delay-ms") => {
    const text = given.last(flag);
    if (text === undefined) return undefined;
    if (text === "" || !(Number(text) >= 0)) throw new RangeError(`--${flag}: not a number`);
    return Number(text);
  };
  const what = defined({
    type,
    code: number("code"),
    reason: given.last("reason"),
    message: given.last("message"),
    retryAfterSeconds: number("retry-after"),
    delayMs: number("delay-ms"),
  });
  const match = defined(Object.fromEntries(MATCH.map((flag) => [flag, given.last(flag)])));
  const bounds = { times: number("times"), probability: number("probability") };
  return { ...server, action: "order", order: defined({ match, what, ...bounds }), id: undefined };
}

function defined(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
