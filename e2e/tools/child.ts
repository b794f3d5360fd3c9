/**
 * One real program that runs next to a test: started on ports of its own, paused, killed, restarted,
 * and never left behind. The program is tied to this process by a pipe: when the pipe closes, for
 * whatever reason (also SIGKILL of the test), a small shell beside the program kills it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { DEADLINE_MS } from "../harness/eventually.js";

/** How much of a program's last words is kept for error messages. */
const OUTPUT_CHARS_MAX = 16_384;

/** How long a program may take to end by itself before it is killed. */
const STOP_TIMEOUT_MS = 5_000;

/**
 * Becomes the program (exec keeps the pid) and leaves a watchdog reading our pipe. An orderly end
 * sends it a line; end of file means that the test has died: then program and data ($0) go. It comes
 * as well when the program has ended by itself, whose data a test may start it on again.
 */
const WATCHED =
  'exec 3<&0; (read -r line <&3 || { kill -9 $$ && [ -n "$0" ] && rm -rf "$0"; }) 2>/dev/null & ' +
  'exec "$@" 3<&- </dev/null';

export class Child {
  readonly #process: ChildProcess;
  #output = "";

  /** @param dataDir removed when the test process dies without ending the program; "" = none */
  constructor(
    path: string,
    args: readonly string[],
    dataDir = "",
    env: Readonly<Record<string, string>> = {},
  ) {
    this.#process = spawn("/bin/sh", ["-c", WATCHED, dataDir, path, ...args], {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, ...env },
    });
    const keep = (chunk: Buffer) => {
      this.#output = (this.#output + chunk.toString()).slice(-OUTPUT_CHARS_MAX);
    };
    this.#process.stdout?.on("data", keep);
    this.#process.stderr?.on("data", keep);
    this.#process.stdin?.on("error", () => {});
    // A test that forgets to stop its program still ends; the watchdog then ends the program.
    this.#process.unref();
    for (const stream of [this.#process.stdin, this.#process.stdout, this.#process.stderr]) {
      (stream as { unref?: () => void } | null)?.unref?.();
    }
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** Null while it runs, and after the end by a signal. */
  get exitCode(): number | null {
    return this.#process.exitCode;
  }

  /** The program's last words. */
  get output(): string {
    return this.#output;
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.hasEnded) this.#process.kill(signal);
  }

  /** Asks the program to end, waits, kills it when it does not. */
  async end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    if (this.hasEnded) return;
    this.#process.ref();
    const ended = once(this.#process, "exit");
    this.#process.stdin?.write("\n");
    this.#process.kill("SIGCONT");
    this.#process.kill(signal);
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(timer);
    this.#process.stdin?.destroy();
  }

  /** Waits until its output has these words, as " ready" of a server. @throws {Error} with its last words */
  async waitForWords(words: string): Promise<void> {
    await this.waitUntilReady(async () => this.#output.includes(words));
  }

  /** Calls `isReady` until it says yes. @throws {Error} with the program's last words */
  async waitUntilReady(isReady: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + DEADLINE_MS;
    while (!(await isReady().catch(() => false))) {
      if (this.hasEnded) throw new Error(`program ended at start: ${this.#output.slice(-2000)}`);
      if (performance.now() > deadline) throw new Error(`not ready: ${this.#output.slice(-2000)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
