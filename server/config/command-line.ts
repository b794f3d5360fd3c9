/**
 * The command line: subcommand and flags in the forms that Go programs take (`--f=v`, `--f v`,
 * `--bool`, `--bool=false`, `-v=4`, lists by repetition or commas). Nothing is opened and nothing
 * is printed here: the result says what main should do.
 */
import { oneOf } from "./command-flags.js";
import { COMPLETION_HELP, flagsIn, renderCompletion, SHELLS } from "./completion.js";
import { type Config, createConfig, type FlagSettings } from "./config.js";
import { CONSOLE_HELP, type ConsoleOptions, parseConsoleOptions } from "./console-options.js";
import { EXPLAIN_HELP, type ExplainOptions, parseExplainOptions } from "./explain-options.js";
import { FAULT_HELP, FAULT_WORDS, type FaultOptions, parseFaultOptions } from "./fault-options.js";
import type { Command, FlagDefinition } from "./flag-definition.js";
import { toFlagValue } from "./flag-values.js";
import { FLAGS, type FlagKey } from "./flags.js";
import { renderHelp, renderUpHelp } from "./help.js";
import {
  DIFF_HELP,
  HISTORY_HELP,
  type HistoryOptions,
  parseDiffOptions,
  parseHistoryOptions,
} from "./history-options.js";
import { parseSnapshotOptions, SNAPSHOT_HELP, type SnapshotOptions } from "./snapshot-options.js";
import { parseStatusOptions, STATUS_HELP, type StatusOptions } from "./status-options.js";
import { parseValidateOptions, VALIDATE_HELP, type ValidateOptions } from "./validate-options.js";
import {
  BLAME_HELP,
  type BlameOptions,
  parseBlameOptions,
  parseWhyOptions,
  WHY_HELP,
  type WhyOptions,
} from "./why-options.js";

export type CommandLine =
  | { readonly action: "run"; readonly config: Config }
  | { readonly action: "explain"; readonly options: ExplainOptions }
  | { readonly action: "fault"; readonly options: FaultOptions }
  | { readonly action: "validate"; readonly options: ValidateOptions }
  | { readonly action: "console"; readonly options: ConsoleOptions }
  | { readonly action: "snapshot"; readonly options: SnapshotOptions }
  | { readonly action: "history" | "diff"; readonly options: HistoryOptions }
  | { readonly action: "why"; readonly options: WhyOptions }
  | { readonly action: "blame"; readonly options: BlameOptions }
  | { readonly action: "status"; readonly options: StatusOptions }
  /** Run `command` with a fresh API that has the flags `args`. */
  | { readonly action: "up"; readonly args: readonly string[]; readonly command: readonly string[] }
  /** Print to stdout, exit 0. */
  | { readonly action: "help"; readonly text: string }
  | { readonly action: "version" }
  /** Print to stderr. One line. */
  | { readonly action: "refuse"; readonly message: string; readonly exitCode: number };

interface Tool {
  readonly help: string;
  /** What it begins with. */
  readonly words?: readonly string[];
  /** @throws {RangeError} with one line */
  readonly parse: (args: readonly string[]) => CommandLine;
}

const COMMANDS: readonly Command[] = ["serve", "controllers"];
/** Not servers: they have flags of their own. */
const TOOLS: Readonly<Record<string, Tool>> = {
  "explain-admission": {
    help: EXPLAIN_HELP,
    parse: (args) => ({ action: "explain", options: parseExplainOptions(args) }),
  },
  completion: { help: COMPLETION_HELP, words: SHELLS, parse: parseCompletion },
  console: {
    help: CONSOLE_HELP,
    parse: (args) => ({ action: "console", options: parseConsoleOptions(args) }),
  },
  fault: {
    help: FAULT_HELP,
    words: FAULT_WORDS,
    parse: (args) => ({ action: "fault", options: parseFaultOptions(args) }),
  },
  history: {
    help: HISTORY_HELP,
    parse: (args) => ({ action: "history", options: parseHistoryOptions(args) }),
  },
  diff: {
    help: DIFF_HELP,
    parse: (args) => ({ action: "diff", options: parseDiffOptions(args) }),
  },
  why: {
    help: WHY_HELP,
    parse: (args) => ({ action: "why", options: parseWhyOptions(args) }),
  },
  blame: {
    help: BLAME_HELP,
    parse: (args) => ({ action: "blame", options: parseBlameOptions(args) }),
  },
  snapshot: {
    help: SNAPSHOT_HELP,
    words: ["save", "load"],
    parse: (args) => ({ action: "snapshot", options: parseSnapshotOptions(args) }),
  },
  status: {
    help: STATUS_HELP,
    parse: (args) => ({ action: "status", options: parseStatusOptions(args) }),
  },
  validate: {
    help: VALIDATE_HELP,
    parse: (args) => ({ action: "validate", options: parseValidateOptions(args) }),
  },
};
/** A server for as long as another command runs. */
const UP = "up";
const DEFAULT_COMMAND: Command = "serve";
/** Of tools, whose 1 is an answer: "not ready", "there are findings". */
const TOOL_MISUSED = 2;
const HELP_FLAGS = ["--help", "-h"];

/** @param args without node and script: `process.argv.slice(2)` */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const [first, ...others] = args;
  if (first === "help") return { action: "help", text: renderHelp() };
  if (first === "version") return { action: "version" };
  const tool = TOOLS[first ?? ""];
  if (tool !== undefined) return parseTool(tool, others);
  if (first === UP) return parseUp(others);
  const hasCommand = first !== undefined && !first.startsWith("-");
  const command = hasCommand ? COMMANDS.find((name) => name === first) : DEFAULT_COMMAND;
  if (command === undefined) {
    return refuse(
      `unknown command ${JSON.stringify(first)}, expected ${[...COMMANDS, ...Object.keys(TOOLS), UP].join(" or ")}`,
    );
  }
  const rest = hasCommand ? others : args;
  if (rest.some((arg) => HELP_FLAGS.includes(arg))) {
    return { action: "help", text: renderHelp(hasCommand ? command : undefined) };
  }
  if (rest.includes("--version")) return { action: "version" };
  try {
    const given = collect(rest, command);
    const config = createConfig(command, toSettings(given), new Set(given.keys()));
    return { action: "run", config };
  } catch (error) {
    if (error instanceof RangeError) return refuse(error.message);
    throw error;
  }
}

function parseCompletion([shell = "", ...others]: readonly string[]): CommandLine {
  if (others.length > 0) throw new RangeError(`unexpected argument ${JSON.stringify(others[0])}`);
  const known = oneOf("SHELL", SHELLS, shell) ?? "bash";
  const servers = ["serve", "controllers"] as const;
  const completions = new Map<string, readonly string[]>([
    ...servers.map((name) => [name, flagsIn(renderHelp(name))] as const),
    [UP, flagsIn(renderHelp("serve"))],
    ...Object.entries(TOOLS).map(([name, { help, words = [] }]) => {
      return [name, [...words, ...flagsIn(help)]] as const;
    }),
  ]);
  return { action: "help", text: renderCompletion(known, completions) };
}

function parseTool({ help, parse }: Tool, args: readonly string[]): CommandLine {
  if (args.some((arg) => HELP_FLAGS.includes(arg))) return { action: "help", text: help };
  try {
    return parse(args);
  } catch (error) {
    if (error instanceof RangeError) return refuse(error.message, TOOL_MISUSED);
    throw error;
  }
}

function parseUp(args: readonly string[]): CommandLine {
  const at = args.indexOf("--");
  const flags = at === -1 ? args : args.slice(0, at);
  if (flags.some((arg) => HELP_FLAGS.includes(arg))) {
    return { action: "help", text: renderUpHelp() };
  }
  const command = at === -1 ? [] : args.slice(at + 1);
  if (command.length === 0) return refuse('"up" needs a command: keelson up -- COMMAND');
  return { action: "up", args: flags, command };
}

function refuse(message: string, exitCode = 1): CommandLine {
  return { action: "refuse", message: `keelson: ${message.replace(/\s+/g, " ")}`, exitCode };
}

/** The texts given for each flag. @throws {RangeError} */
function collect(args: readonly string[], command: Command): Map<FlagKey, string[]> {
  const given = new Map<FlagKey, string[]>();
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string;
    if (!arg.startsWith("-") || arg === "-") {
      throw new RangeError(`unexpected argument ${JSON.stringify(arg)}`);
    }
    const equals = arg.indexOf("=");
    const written = equals === -1 ? arg : arg.slice(0, equals);
    const [key, flag] = findFlag(written, command);
    let text = equals === -1 ? undefined : arg.slice(equals + 1);
    if (text === undefined && flag.type === "boolean") text = "true";
    if (text === undefined) {
      i++;
      text = args[i];
      if (text === undefined) throw new RangeError(`flag needs an argument: ${written}`);
    }
    given.set(key, [...(given.get(key) ?? []), text]);
  }
  return given;
}

function findFlag(written: string, command: Command): [FlagKey, FlagDefinition] {
  const isLong = written.startsWith("--");
  // Underscores are taken for dashes, as the existing programs do.
  const name = written.replace(/^--?/, "").replaceAll("_", "-");
  const entries = Object.entries(FLAGS) as [FlagKey, FlagDefinition][];
  const found = entries.find(([, flag]) => (isLong ? flag.name : flag.shorthand) === name);
  if (found === undefined) throw new RangeError(`unknown flag: ${written}`);
  const [, { commands }] = found;
  if (commands !== undefined && !commands.includes(command)) {
    throw new RangeError(`${written} is not a flag of "${command}", only of "${commands.join()}"`);
  }
  return found;
}

function toSettings(given: ReadonlyMap<FlagKey, readonly string[]>): FlagSettings {
  const settings: Partial<Record<FlagKey, unknown>> = {};
  for (const [key, flag] of Object.entries(FLAGS) as [FlagKey, FlagDefinition][]) {
    const texts = given.get(key);
    try {
      settings[key] = toFlagValue(flag, texts ?? [flag.default]);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new RangeError(`invalid value for --${flag.name}: ${error.message}`);
    }
  }
  return settings as FlagSettings;
}
