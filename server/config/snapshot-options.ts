/** The command line of `keelson snapshot`. Nothing is opened here. */
import {
  flagLines,
  parseFlags,
  SERVER_FLAGS,
  type ServerFlags,
  serverOf,
} from "./command-flags.js";

export interface SnapshotOptions extends ServerFlags {
  readonly action: "save" | "load";
  readonly file: string;
}

export const SNAPSHOT_HELP = `keelson snapshot: the objects of a server in a file, and back

Usage:
  keelson snapshot save FILE [flags]   from any server, a cluster as well
  keelson snapshot load FILE [flags]   into any server, such as a fresh one

The file has an object a line, Secrets among them, and only its owner may read it. Events, Leases, tokens of service
accounts and what other servers serve are left out. What the configuration's user may not read is named. Loading
creates objects with new uids, which references to owners follow, and leaves alone what is there already; status is
written by itself. "-" as FILE is standard output or input. Exit status 1: something was not read, or not loaded;
2: the server could not be asked, or the file not written or read.

Flags:
${flagLines(SERVER_FLAGS)}
`;

/** @throws {RangeError} with one line */
export function parseSnapshotOptions(args: readonly string[]): SnapshotOptions {
  const given = parseFlags(args, SERVER_FLAGS, {}, { takesWords: true });
  const [action, file, ...others] = given.words;
  if (action !== "save" && action !== "load") throw new RangeError("save or load is expected");
  if (file === undefined) throw new RangeError("the name of a file is expected");
  if (others.length > 0) throw new RangeError(`unexpected argument ${JSON.stringify(others[0])}`);
  return { ...serverOf(given), action, file };
}
