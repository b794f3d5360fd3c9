/** Runs the real kubectl against a server, with a home and a cache of its own. */
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { requireTool } from "../tools/find-tool.js";
import { DEADLINE_MS, eventually } from "./eventually.js";
import { makeTempDir } from "./temp-dir.js";

export interface KubectlResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A kubectl that goes on running, such as `get -w`. */
export interface RunningKubectl extends AsyncDisposable {
  readonly output: string;
  /** Waits until its output matches. @throws {Error} with the output, when it does not */
  waitFor(pattern: RegExp): Promise<void>;
}

/** One at a terminal. */
export interface KubectlAtTerminal extends RunningKubectl {
  type(text: string): void;
  /** Gives the terminal another size, of which its programs are told by a signal. */
  resize(columns: number, rows: number): Promise<void>;
}

/** For kubectl and Helm, which have deadlines of their own: long, and shorter than ours, so that they say what they waited for. */
export const PATIENTLY = `--timeout=${DEADLINE_MS / 2_000}s`;

/** Gives a program a terminal; of util-linux. */
const SCRIPT = "/usr/bin/script";

/** Whether programs can be given a terminal here. */
export function hasTerminals(): boolean {
  return process.platform === "linux" && existsSync(SCRIPT);
}

export class Kubectl implements AsyncDisposable {
  readonly #path: string;
  readonly #home: string;
  readonly #kubeconfig: string;
  readonly #dispose: () => PromiseLike<void>;
  /** Settings of kubectl's own; an undefined one is not there. */
  readonly env: Record<string, string | undefined> = {};
  readonly #running = new Set<ChildProcess>();

  private constructor(
    path: string,
    home: string,
    kubeconfig: string,
    dispose: () => PromiseLike<void>,
  ) {
    this.#path = path;
    this.#home = home;
    this.#kubeconfig = kubeconfig;
    this.#dispose = dispose;
  }

  static async open(
    server: { readonly kubeconfig: string },
    tool: "kubectl" | "kubectl-newest" = "kubectl",
  ): Promise<Kubectl> {
    const path = await requireTool(tool);
    const home = await makeTempDir("kubectl");
    return new Kubectl(path, home.path, server.kubeconfig, () => home[Symbol.asyncDispose]());
  }

  /** Runs to the end and hands out what came of it. */
  async run(args: readonly string[], input?: string): Promise<KubectlResult> {
    return await this.#finish(this.#spawn(args), input);
  }

  async #finish(child: ChildProcess, input?: string): Promise<KubectlResult> {
    const timer = setTimeout(() => child.kill("SIGKILL"), DEADLINE_MS);
    const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
    child.stdin?.on("error", () => {});
    child.stdin?.end(input ?? "");
    await once(child, "close");
    clearTimeout(timer);
    return { code: child.exitCode, stdout: stdout(), stderr: stderr() };
  }

  /** As run, at a terminal of its own; what it reads is typed there. */
  async atTerminal(args: readonly string[], typed: string): Promise<KubectlResult> {
    const command = quote([this.#path, ...args]);
    const child = this.#spawnProgram(SCRIPT, ["-qec", command, "/dev/null"]);
    return await this.#finish(child, typed);
  }

  /** As run, for what must succeed. @throws {AssertionError} with its words; gives its output */
  async ok(args: readonly string[], input?: string): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, input);
    assert.equal(
      code,
      0,
      `kubectl ${args.join(" ")}: exit ${code}\n${stderr}${stdout.slice(-2_000)}`,
    );
    return stdout;
  }

  /** `kubectl explain` of a kind of an API service, whose documents a server fetches beside its requests. */
  async explains(field: string, expected: RegExp): Promise<void> {
    await eventually(`kubectl explains ${field}`, async () =>
      expected.test(await this.ok(["explain", field])),
    );
  }

  /** As run, for what must fail: gives what it said on standard error. */
  async fails(args: readonly string[], input?: string): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, input);
    assert.notEqual(code, 0, `kubectl ${args.join(" ")} succeeded:\n${stdout}`);
    return stderr;
  }

  /** Starts a kubectl that is ended when the result leaves its scope. */
  start(args: readonly string[]): RunningKubectl {
    const child = this.#spawn(args);
    child.stdin?.end();
    return this.#follow(child, args);
  }

  /** As start, at a terminal of its own. */
  startAtTerminal(args: readonly string[]): KubectlAtTerminal {
    const name = join(this.#home, `terminal-${randomUUID()}`);
    const command = `tty >'${name}'; exec ${quote([this.#path, ...args])}`;
    const child = this.#spawnProgram(SCRIPT, ["-qec", command, "/dev/null"]);
    const running = this.#follow(child, args);
    return Object.assign(running, {
      type: (text: string) => void child.stdin?.write(text),
      async resize(columns: number, rows: number) {
        const terminal = (await readFile(name, "utf8")).trim();
        const size = ["cols", String(columns), "rows", String(rows)];
        await promisify(execFile)("stty", ["-F", terminal, ...size]);
      },
    });
  }

  #follow(child: ChildProcess, args: readonly string[]): RunningKubectl {
    const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
    return {
      get output() {
        return stdout() + stderr();
      },
      async waitFor(pattern) {
        try {
          await eventually(`kubectl ${args.join(" ")} prints ${pattern}`, () =>
            pattern.test(stdout()),
          );
        } catch (error) {
          throw new Error(`${error}; it printed:\n${stdout()}${stderr()}`);
        }
      },
      async [Symbol.asyncDispose]() {
        const closed = once(child, "close");
        if (child.exitCode !== null) return;
        child.kill("SIGTERM");
        await closed;
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#running) child.kill("SIGKILL");
    await this.#dispose();
  }

  #spawn(args: readonly string[]): ChildProcess {
    return this.#spawnProgram(this.#path, args);
  }

  #spawnProgram(program: string, args: readonly string[]): ChildProcess {
    const child = spawn(program, [...args], {
      stdio: ["pipe", "pipe", "pipe"],
      env: {
        // kubectl needs a PATH and nothing else of our environment.
        PATH: process.env.PATH ?? "",
        HOME: this.#home,
        KUBECONFIG: this.#kubeconfig,
        ...this.env,
      },
    });
    this.#running.add(child);
    child.once("exit", () => this.#running.delete(child));
    return child;
  }
}

/** For a shell. */
function quote(words: readonly string[]): string {
  return words.map((one) => `'${one}'`).join(" ");
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  let text = "";
  stream?.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  return () => text;
}
