/** The flags of commands that are no servers: names with a value each, and what stands alone. Nothing is opened here. */

/** By name: what it is for. */
export type FlagTable = Readonly<Record<string, string>>;

export interface GivenFlags<Name extends string> {
  last(name: Name): string | undefined;
  all(name: Name): readonly string[];
  /** What is no flag, in its order. */
  readonly words: readonly string[];
}

/** @param short such as `{ "-f": "filename" }`; `alone`: flags without a value. @throws {RangeError} with one line */
export function parseFlags<Table extends FlagTable>(
  args: readonly string[],
  table: Table,
  short: Readonly<Record<string, keyof Table & string>>,
  {
    takesWords = false,
    alone = [],
  }: { readonly takesWords?: boolean; readonly alone?: readonly string[] } = {},
): GivenFlags<keyof Table & string> {
  type Name = keyof Table & string;
  const given = new Map<Name, string[]>();
  const words: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string;
    // One dash alone stands for standard input.
    if (!arg.startsWith("-") || arg === "-") {
      if (!takesWords) throw new RangeError(`unexpected argument ${JSON.stringify(arg)}`);
      words.push(arg);
      continue;
    }
    const equals = arg.indexOf("=");
    const written = equals === -1 ? arg : arg.slice(0, equals);
    const name = short[written] ?? (written.startsWith("--") ? written.slice(2) : "");
    if (!Object.hasOwn(table, name)) throw new RangeError(`unknown flag: ${written}`);
    const isAlone = equals === -1 && alone.includes(name);
    const value = isAlone ? "true" : equals === -1 ? args[++i] : arg.slice(equals + 1);
    if (value === undefined) throw new RangeError(`flag needs an argument: ${written}`);
    given.set(name as Name, [...(given.get(name as Name) ?? []), value]);
  }
  return {
    last: (name) => given.get(name)?.at(-1),
    all: (name) => given.get(name) ?? [],
    words,
  };
}

/** @throws {RangeError} with one line */
export function oneOf<T extends string>(
  flag: string,
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

/** For `--help`. */
export function flagLines(table: FlagTable): string {
  const width = Math.max(...Object.keys(table).map((name) => name.length));
  return Object.entries(table)
    .map(([name, help]) => `  --${name.padEnd(width)} ${help}`)
    .join("\n");
}

/** Where the server is that a command asks. */
export interface ServerFlags {
  /** undefined = what the environment names, or the usual place. */
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  /** In place of the configuration's server. */
  readonly server: string | undefined;
}

export const SERVER_FLAGS = {
  kubeconfig: "the client configuration; default: $KUBECONFIG, or ~/.kube/config",
  context: "the context of the configuration; default: its current one",
  server: "https://host:port, in place of the configuration's",
} as const satisfies FlagTable;

export function serverOf({ last }: GivenFlags<keyof typeof SERVER_FLAGS>): ServerFlags {
  return { kubeconfig: last("kubeconfig"), context: last("context"), server: last("server") };
}
