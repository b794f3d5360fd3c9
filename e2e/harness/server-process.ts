/**
 * A real server process: `node dist/bundle/main.js serve` in a folder of its own, on a free port,
 * over the embedded store or a given etcd. It is tied to this process by a pipe: when the test ends
 * in whatever way, also by SIGKILL, a small shell beside the server kills it.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { COMMAND, COMMAND_OF_MODULES } from "./command.js";
import { DEADLINE_MS, eventually, HopelessError, within } from "./eventually.js";
import { type Credentials, HttpsClient } from "./https-client.js";
import { makeTempDir } from "./temp-dir.js";

export interface ServerOptions {
  /** Served from these; none = the embedded store. */
  readonly etcdEndpoints?: readonly string[];
  /** Kept after the server's end; none = a temporary one that goes with the server. */
  readonly dataDir?: string;
  /** 0 (default) = any; give one of `freePort()` when a restart must find it again. */
  readonly port?: number;
  /** Further flags, such as "--shutdown-delay-duration=1s". */
  readonly flags?: readonly string[];
  /** The main.js of another build, such as an older release's; default: this one's. */
  readonly main?: string;
  /** The Node.js that runs it; default: this one's. */
  readonly node?: string;
  /** Options of Node itself, such as "--cpu-prof". */
  readonly nodeFlags?: readonly string[];
}

export interface ServerProcess extends AsyncDisposable {
  /** "https://127.0.0.1:6443" */
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** The administrator's, as PEM. */
  readonly credentials: Credentials;
  /** Speaks to this server as the administrator. */
  readonly client: HttpsClient;
  readonly pid: number;
  /** From the start of the process to its first successful /readyz. */
  readonly readyAfterMs: number;
  /** Standard output and error so far. */
  readonly logs: string;
  readonly hasEnded: boolean;
  /** Sends SIGTERM and waits. @throws {AssertionError} the server did not exit with status 0 */
  stop(): Promise<void>;
  /** SIGKILL: what a power cut is to the process. */
  kill(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** The exit status, once it has ended. */
  waitForExit(): Promise<number | null>;
}

/** The tail of the logs that is kept. */
const LOG_CHARS_MAX = 4_000_000;

/** Becomes the program and leaves a watchdog that kills it when our end of the pipe closes. */
const WATCHED =
  'exec 3<&0; (read -r line <&3 || kill -9 $$) 2>/dev/null & exec "$@" 3<&- </dev/null';

/** What a module of a test replaces is replaced in modules, not in the bundle of them. */
function commandFor(nodeFlags: readonly string[]): string {
  return nodeFlags.some((flag) => flag.startsWith("--import=")) ? COMMAND_OF_MODULES : COMMAND;
}

/** Starts a server and waits until it is ready. @throws {Error} with its logs when it is not */
export async function startServer(options: ServerOptions = {}): Promise<ServerProcess> {
  const tempDir = options.dataDir === undefined ? await makeTempDir("server") : undefined;
  const dataDir = options.dataDir ?? tempDir?.path ?? "";
  const { nodeFlags = [] } = options;
  const args = [
    ...nodeFlags,
    options.main ?? commandFor(nodeFlags),
    "serve",
    `--data-dir=${dataDir}`,
    `--secure-port=${options.port ?? 0}`,
    ...(options.etcdEndpoints === undefined
      ? []
      : [`--etcd-servers=${options.etcdEndpoints.join(",")}`]),
    ...graceOf(options.flags ?? []),
    ...(options.flags ?? []),
  ];
  const started = performance.now();
  const running = new RunningProgram(options.node ?? process.execPath, args);
  try {
    return await waitUntilReady(running, dataDir, started, tempDir);
  } catch (error) {
    await running.end("SIGKILL");
    await tempDir?.[Symbol.asyncDispose]();
    throw new Error(`the server did not become ready:\n${running.output.slice(-4_000)}`, {
      cause: error,
    });
  }
}

/** Shorter than we wait for its end: what it waits for then is in its log, and not cut off with it. */
function graceOf(flags: readonly string[]): readonly string[] {
  const name = "--shutdown-grace-period";
  return flags.some((flag) => flag.startsWith(name)) ? [] : [`${name}=${DEADLINE_MS / 2_000}s`];
}

/** Runs the server with arguments that make it end, such as `--version` or a bad flag. */
export async function runServer(
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  const running = new RunningProgram(process.execPath, [COMMAND, ...args]);
  const code = await running.waitForExit();
  return { code, output: running.output };
}

async function waitUntilReady(
  running: RunningProgram,
  dataDir: string,
  started: number,
  tempDir: AsyncDisposable | undefined,
): Promise<ServerProcess> {
  const kubeconfig = join(dataDir, "admin.kubeconfig");
  // The file may be an older one: the port that the server prints decides.
  const port = await eventually("the server prints its address", () => {
    if (running.hasEnded) throw new HopelessError("the server ended at start");
    const found = /https:\/\/(?:127\.0\.0\.1|localhost|0\.0\.0\.0|\[::\]):(\d+)/.exec(
      running.output,
    );
    return found === null ? undefined : Number(found[1]);
  });
  const url = `https://127.0.0.1:${port}`;
  const credentials = await eventually("the kubeconfig is written", async () => {
    const read = await readKubeconfig(kubeconfig);
    return read.url.endsWith(`:${port}`) ? read.credentials : undefined;
  });
  const client = new HttpsClient(url, credentials);
  await eventually("/readyz says ok", async () => {
    if (running.hasEnded) throw new HopelessError("the server ended at start");
    return (await client.get("/readyz")).status === 200;
  });
  const readyAfterMs = performance.now() - started;

  const cleanUp = async () => {
    client.close();
    await tempDir?.[Symbol.asyncDispose]();
  };
  return {
    url,
    port,
    dataDir,
    kubeconfig,
    credentials,
    client,
    readyAfterMs,
    pid: running.pid,
    get logs() {
      return running.output;
    },
    get hasEnded() {
      return running.hasEnded;
    },
    async stop() {
      await running.end("SIGTERM");
      assert.equal(
        running.exitCode,
        0,
        `exit status after SIGTERM:\n${running.output.slice(-2000)}`,
      );
      client.close();
    },
    async kill() {
      await running.end("SIGKILL");
      client.close();
    },
    signal: (signal) => running.signal(signal),
    waitForExit: () => running.waitForExit(),
    async [Symbol.asyncDispose]() {
      // A test that failed half-way must not wait for watches that it left open.
      await running.end("SIGKILL");
      await cleanUp();
    },
  };
}

export async function readKubeconfig(
  path: string,
): Promise<{ readonly url: string; readonly credentials: Credentials }> {
  const config = parse(await readFile(path, "utf8")) as {
    clusters: { cluster: Record<string, string> }[];
    users: { user: Record<string, string> }[];
  };
  const cluster = config.clusters[0]?.cluster ?? {};
  const user = config.users[0]?.user ?? {};
  const decode = (text: string | undefined) => Buffer.from(text ?? "", "base64").toString();
  return {
    url: cluster.server ?? "",
    credentials: {
      ca: decode(cluster["certificate-authority-data"]),
      cert: decode(user["client-certificate-data"]),
      key: decode(user["client-key-data"]),
    },
  };
}

/** One process with its output and its end. */
class RunningProgram {
  readonly #process: ChildProcess;
  readonly #closed: Promise<unknown>;
  #output = "";

  constructor(program: string, args: readonly string[]) {
    this.#process = spawn("/bin/sh", ["-c", WATCHED, "sh", program, ...args], {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, NODE_OPTIONS: "" },
    });
    const keep = (chunk: Buffer) => {
      this.#output = (this.#output + chunk.toString()).slice(-LOG_CHARS_MAX);
    };
    this.#process.stdout?.on("data", keep);
    this.#process.stderr?.on("data", keep);
    this.#process.stdin?.on("error", () => {});
    // The line ends the watchdog, which holds our pipes open as long as it lives.
    this.#process.once("exit", () => this.#process.stdin?.end("\n"));
    this.#closed = once(this.#process, "close");
    // A test that forgets to stop it still ends; the watchdog then ends it.
    this.#process.unref();
    for (const stream of [this.#process.stdin, this.#process.stdout, this.#process.stderr]) {
      (stream as { unref?: () => void } | null)?.unref?.();
    }
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get output(): string {
    return this.#output;
  }

  get hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** Null while it runs and after the end by a signal. */
  get exitCode(): number | null {
    return this.#process.exitCode;
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.hasEnded) this.#process.kill(signal);
  }

  /** @throws {Error} when it does not end in time; then it is killed */
  async waitForExit(): Promise<number | null> {
    try {
      await within("the server ends", this.#closed);
    } catch (error) {
      const state = this.hasEnded ? "its process has ended" : "its process has not ended";
      throw new Error(`${String(error)}: ${state}\n${this.output.slice(-4_000)}`);
    } finally {
      this.signal("SIGKILL");
    }
    return this.exitCode;
  }

  async end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    if (this.hasEnded) return;
    this.signal(signal);
    await this.waitForExit();
  }
}
