/**
 * `keelson up -- COMMAND`: runs a command with the KUBECONFIG of a fresh API, passes signals on, ends with its exit
 * status, and removes everything behind it.
 */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { startHere } from "./api-here.js";

/** As shells have it. */
const NOT_FOUND = 127;
const MAY_NOT_RUN = 126;
const BY_SIGNAL = 128;

/** Is told of the command, and then of its end, before every end of this process but those that cannot be handled. */
const GUARD = 'read -r pid && { read -r word || kill -TERM "$pid"; }';

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
  const pass = (signal: NodeJS.Signals) => {
    // Ctrl-C on a terminal reaches the command by itself.
    if (signal !== "SIGINT" || process.stdin.isTTY !== true) child.kill(signal);
  };
  const signals = ["SIGHUP", "SIGINT", "SIGTERM"] as const;
  // First, as the command may be at work before anything that comes later here.
  for (const signal of signals) process.on(signal, pass);
  const guard = startGuard();
  const child = spawn(program, args, {
    stdio: "inherit",
    env: { ...process.env, KUBECONFIG },
  });
  guard.tell(child.pid);
  return new Promise<number>((resolve) => {
    child.once("error", (error: NodeJS.ErrnoException) => {
      const isFound = error.code !== "ENOENT";
      const why = isFound ? `cannot be run (${error.code})` : "is not found";
      process.stderr.write(`keelson: the command ${JSON.stringify(program)} ${why}\n`);
      resolve(isFound ? MAY_NOT_RUN : NOT_FOUND);
    });
    child.once("exit", (code, signal) => {
      resolve(code ?? BY_SIGNAL + (signal === null ? 0 : constants.signals[signal]));
    });
  }).finally(() => {
    guard.end();
    for (const signal of signals) process.off(signal, pass);
  });
}

interface Guard {
  tell(pid: number | undefined): void;
  /** The command has ended. */
  end(): void;
}

/**
 * Ends the command when this process is killed: a shell sees the pipe between them close. It is out of reach for the
 * keys of a terminal, and holds up nobody's end. Where there is no such shell, the command ends by itself.
 */
function startGuard(): Guard {
  if (process.platform === "win32") return { tell() {}, end() {} };
  const shell = spawn("/bin/sh", ["-c", GUARD], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  shell.once("error", () => {});
  shell.stdin.on("error", () => {});
  shell.unref();
  let isTold = false;
  return {
    tell(pid) {
      if (pid === undefined) return;
      isTold = true;
      shell.stdin.write(`${pid}\n`);
    },
    end: () => void shell.stdin.end(isTold ? "ended\n" : ""),
  };
}
