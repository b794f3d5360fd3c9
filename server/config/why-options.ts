/** The command lines of `keelson why` and `keelson blame`. Nothing is opened here. */
import {
  flagLines,
  oneOf,
  parseFlags,
  SERVER_FLAGS,
  type ServerFlags,
  serverOf,
} from "./command-flags.js";

export const WHY_FORMS = ["text", "json", "svg"] as const;
export const BLAME_FORMS = ["text", "json"] as const;

export interface AskedObject extends ServerFlags {
  /** "configmaps", "cm", "ConfigMap", "widgets.example.com". */
  readonly type: string;
  readonly name: string;
  readonly namespace: string;
}

export interface WhyOptions extends AskedObject {
  /** "" = the newest. */
  readonly revision: string;
  readonly form: (typeof WHY_FORMS)[number];
  /** Whether hot loops are asked for, and no object. */
  readonly isLoops: boolean;
}

export interface BlameOptions extends AskedObject {
  readonly form: (typeof BLAME_FORMS)[number];
}

const WHY_FLAGS = {
  revision: "the resourceVersion that a write made; default: the newest",
  output: `${WHY_FORMS.join(", ")}; default: text`,
  namespace: "of the object; default: default",
  loops: "hot loops instead: exit status 1 where there are some",
  ...SERVER_FLAGS,
} as const;
const BLAME_FLAGS = {
  output: `${BLAME_FORMS.join(", ")}; default: text`,
  namespace: "of the object; default: default",
  ...SERVER_FLAGS,
} as const;

export const WHY_HELP = `keelson why: what led to a write of an object, back to the first that nothing led to

Usage:
  keelson why TYPE NAME|TYPE/NAME [-n NAMESPACE] [--revision=VERSION] [-o FORM] [flags]
  keelson why --loops [-o text|json] [flags]

It asks the recorder of a server that runs with --record. Exact is what a write itself says it was made upon; everything
else is a candidate, with reasons.

Flags:
${flagLines(WHY_FLAGS)}
`;

export const BLAME_HELP = `keelson blame: an object with who wrote each field, when, and with which revision

Usage:
  keelson blame TYPE NAME|TYPE/NAME [-n NAMESPACE] [-o FORM] [flags]

Without a recorder (--record) it says what metadata.managedFields tell, of any server.

Flags:
${flagLines(BLAME_FLAGS)}
`;

const SHORT = { "-n": "namespace", "-o": "output" } as const;

/** @throws {RangeError} with one line */
export function parseWhyOptions(args: readonly string[]): WhyOptions {
  const given = parseFlags(args, WHY_FLAGS, SHORT, { takesWords: true, alone: ["loops"] });
  const form = oneOf("output", WHY_FORMS, given.last("output")) ?? "text";
  const isLoops = oneOf("loops", ["true", "false"], given.last("loops")) === "true";
  const revision = given.last("revision") ?? "";
  if (!/^(?:[1-9]\d{0,15})?$/.test(revision)) {
    throw new RangeError(`--revision: ${JSON.stringify(revision)} is no resourceVersion`);
  }
  if (isLoops && given.words.length > 0) {
    throw new RangeError(`--loops takes no object, not ${JSON.stringify(given.words[0])}`);
  }
  if (isLoops && form === "svg") throw new RangeError("--loops has no picture: text or json");
  const object = isLoops ? NOTHING : objectOf(given.words, given.last("namespace"));
  return { ...object, ...serverOf(given), revision, form, isLoops };
}

/** @throws {RangeError} with one line */
export function parseBlameOptions(args: readonly string[]): BlameOptions {
  const given = parseFlags(args, BLAME_FLAGS, SHORT, { takesWords: true });
  const form = oneOf("output", BLAME_FORMS, given.last("output")) ?? "text";
  return { ...objectOf(given.words, given.last("namespace")), ...serverOf(given), form };
}

const NOTHING = { type: "", name: "", namespace: "" };

/** "TYPE NAME", or "TYPE/NAME" as `kubectl get -o name` prints it. @throws {RangeError} with one line */
export function objectOf(words: readonly string[], namespace = "default") {
  const [first = ""] = words;
  const [ofOne, nameOfOne, ...rest] = first.split("/");
  if (rest.length > 0) throw new RangeError(`unexpected argument ${JSON.stringify(first)}`);
  const isOne = nameOfOne !== undefined;
  const [type, name, ...others] = isOne ? [ofOne, nameOfOne, ...words.slice(1)] : words;
  if (!type || !name) throw new RangeError("TYPE and NAME must be given");
  if (others.length > 0) throw new RangeError(`unexpected argument ${JSON.stringify(others[0])}`);
  return { type, name, namespace };
}
