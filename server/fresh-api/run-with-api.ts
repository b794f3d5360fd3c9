/**
 * `keelson up -- COMMAND`: runs a command with the KUBECONFIG of a fresh API, passes signals on, ends with its exit
 * status, and removes everything behind it.
 */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { startHere } from "./api-here.js";

/** As shells have it. */
const NOT_FOUND = 127;
const BY_SIGNAL = 128;

/** @param args flags of `serve`. @returns the exit status. @throws {Error} the API does not start, in one line */
export async function runWithApi(
  args: readonly string[],
  command: readonly string[],
): Promise<number> {
  const api = await startHere({ options: { record: true }, tokens: [], args });
  try {
    return await run(command, api.access.kubeconfigPath);
  } finally {
    await api.stop();
  }
}

function run([program = "", ...args]: readonly string[], KUBECONFIG: string): Promise<number> {
  const child = spawn(program, args, {
    stdio: "inherit",
    env: { ...process.env, KUBECONFIG },
  });
  const pass = (signal: NodeJS.Signals) => {
    // Ctrl-C on a terminal reaches the command by itself.
    if (signal !== "SIGINT" || process.stdin.isTTY !== true) child.kill(signal);
  };
  const signals = ["SIGHUP", "SIGINT", "SIGTERM"] as const;
  for (const signal of signals) process.on(signal, pass);
  return new Promise<number>((resolve) => {
    child.once("error", (error) => {
      process.stderr.write(`keelson: ${error.message}\n`);
      resolve(NOT_FOUND);
    });
    child.once("exit", (code, signal) => {
      resolve(code ?? BY_SIGNAL + (signal === null ? 0 : constants.signals[signal]));
    });
  }).finally(() => {
    for (const signal of signals) process.off(signal, pass);
  });
}
