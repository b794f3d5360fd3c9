/** The command line of `keelson console`. Nothing is opened here. */
import {
  flagLines,
  parseFlags,
  SERVER_FLAGS,
  type ServerFlags,
  serverOf,
} from "./command-flags.js";

export interface ConsoleOptions extends ServerFlags {
  /** On loopback; 0 = one that is free. */
  readonly port: number;
}

const FLAGS = { port: "on 127.0.0.1; default: one that is free", ...SERVER_FLAGS } as const;

export const CONSOLE_HELP = `keelson console: a page to look at an API and change it, in the browser of this machine

Usage:
  keelson console [flags]

It prints an address that can be opened once, and serves the page on loopback until it is interrupted. What the page asks
goes to the API with the credentials of the client configuration. It works with any Kubernetes API server.

Flags:
${flagLines(FLAGS)}
`;

/** @throws {RangeError} with one line */
export function parseConsoleOptions(args: readonly string[]): ConsoleOptions {
  const given = parseFlags(args, FLAGS, {});
  const text = given.last("port") ?? "0";
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) {
    throw new RangeError(`--port: ${JSON.stringify(text)} is no port`);
  }
  return { ...serverOf(given), port: Number(text) };
}
