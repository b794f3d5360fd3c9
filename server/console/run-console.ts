/** `keelson console`: connects to the API server, serves the page, and says where, until it is interrupted. */
import type { Writable } from "node:stream";
import type { ConsoleOptions } from "../config/console-options.js";
import { connect } from "../explain/connect.js";
import { ConsoleServer } from "./console-server.js";
import { readPageFiles } from "./page-files.js";

export interface Console extends AsyncDisposable {
  /** An address that can be opened once. */
  offerAddress(): string;
}

/** @returns nothing to print, at the end. @throws {Error} with one line */
export async function runConsole(
  options: ConsoleOptions,
  output: Writable,
  signal: AbortSignal,
): Promise<string> {
  await using console = await openConsole(options, () => {
    output.write(`  for another page, or behind a reload:  ${console.offerAddress()}\n`);
  });
  output.write(`keelson console, until you press Ctrl-C\n`);
  output.write(`  open, once:  ${console.offerAddress()}\n`);
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  return "";
}

/** @param opened told when a page has been opened. @throws {Error} with one line */
export async function openConsole(options: ConsoleOptions, opened: () => void): Promise<Console> {
  const files = await readPageFiles();
  const client = await connect(options, "keelson-console");
  const server = new ConsoleServer({ client, files, opened });
  await server.listen(options.port);
  return {
    offerAddress: () => server.offerAddress(),
    async [Symbol.asyncDispose]() {
      await server.close();
      client.close();
    },
  };
}
