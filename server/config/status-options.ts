/** The command line of `keelson status`. Nothing is opened here. */
import {
  flagLines,
  oneOf,
  parseFlags,
  SERVER_FLAGS,
  type ServerFlags,
  serverOf,
} from "./command-flags.js";

export interface StatusOptions extends ServerFlags {
  readonly output: "text" | "json";
}

const OUTPUTS = ["text", "json"] as const;
const FLAGS = { output: `${OUTPUTS.join(" or ")}; default: text`, ...SERVER_FLAGS } as const;

export const STATUS_HELP = `keelson status: whether a server is ready, who you are there, and its replicas

Usage:
  keelson status [-o json] [flags]

It works with any Kubernetes API server. What you may not read is left out, and named.

Exit status: 0 = ready, 1 = not ready, 2 = the server cannot be asked.

Flags:
${flagLines(FLAGS)}
`;

/** @throws {RangeError} with one line */
export function parseStatusOptions(args: readonly string[]): StatusOptions {
  const given = parseFlags(args, FLAGS, { "-o": "output" });
  return {
    output: oneOf("output", OUTPUTS, given.last("output")) ?? "text",
    ...serverOf(given),
  };
}
