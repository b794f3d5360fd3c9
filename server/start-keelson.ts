/**
 * What the package `keelson` exports: a fresh, empty API for tests of operators and clients, in this
 * process or in a child. Many may run side by side; each has a port, a data directory, certificates
 * and users of its own, and nothing is left when it is stopped. It is the same server as the command
 * starts, on the embedded store.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse, stringify } from "yaml";
import { readBuildInfo } from "./build-info.js";
import { parseCommandLine } from "./config/command-line.js";
import { createLog, createSilentLog } from "./create-logger.js";
import { openReplica } from "./wiring/replica.js";

export interface KeelsonUser {
  readonly name: string;
  /** "system:masters" may do everything; without a group or a role binding a user may do little. */
  readonly groups?: readonly string[];
}

export interface KeelsonOptions {
  /** Flags of `keelson serve` by name, without dashes: `{ "feature-gates": "WatchList=false" }`. */
  readonly flags?: Readonly<Record<string, string | number | boolean>>;
  /** Users with a token, besides the administrator. */
  readonly users?: readonly KeelsonUser[];
  /**
   * Where it runs. A child has a processor of its own and survives nothing of this process; in this
   * process it starts faster and can be debugged. Default "process".
   */
  readonly runsIn?: "process" | "child";
  /** Whether its log goes to standard output. Default false. */
  readonly logs?: boolean;
  /** How long the start may take, in milliseconds. Default 30,000. */
  readonly deadlineMs?: number;
}

/** How somebody reaches the API. */
export interface KeelsonAccess {
  readonly url: string;
  /** PEM: whom to trust. */
  readonly ca: string;
  /** A kubeconfig as text, with everything in it. */
  readonly kubeconfig: string;
}

export interface Keelson extends KeelsonAccess, AsyncDisposable {
  /** The administrator's certificate and key, PEM. */
  readonly cert: string;
  readonly key: string;
  /** Path of the administrator's kubeconfig, which goes with the API. */
  readonly kubeconfigPath: string;
  /** The same API for one of `users`. @throws {RangeError} nobody has that name */
  as(name: string): KeelsonAccess & { readonly token: string };
  /** Ends it and removes what it kept. */
  stop(): Promise<void>;
}

const DEADLINE_MS = 30_000;
const POLL_MS = 10;
/** The emitted main.js beside this file. */
const MAIN = fileURLToPath(new URL("./main.js", import.meta.url));

/** Starts an API; it is ready when the promise resolves. @throws {Error} with one line */
export async function startKeelson(options: KeelsonOptions = {}): Promise<Keelson> {
  const folder = await mkdtemp(join(tmpdir(), "keelson-api-"));
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 3 });
  try {
    const tokens = new Map(
      (options.users ?? []).map(({ name }) => [name, randomBytes(24).toString("hex")]),
    );
    const args = await toArguments(options, folder, tokens);
    const stop =
      options.runsIn === "child" ? await startChild(args, options) : await startHere(args, options);
    const end = async () => {
      await stop();
      await remove();
    };
    try {
      return toKeelson(join(folder, "admin.kubeconfig"), tokens, end, await readAccess(folder));
    } catch (error) {
      await stop();
      throw error;
    }
  } catch (error) {
    await remove();
    throw error;
  }
}

async function toArguments(
  { flags = {}, users = [], logs = false }: KeelsonOptions,
  folder: string,
  tokens: ReadonlyMap<string, string>,
): Promise<string[]> {
  const own: Record<string, string | number | boolean> = {
    "data-dir": folder,
    "secure-port": 0,
    "log-level": logs ? "info" : "error",
  };
  if (users.length > 0) {
    const file = join(folder, "tokens.csv");
    const lines = users.map(({ name, groups = [] }) => {
      return `${tokens.get(name)},${quoted(name)},${quoted(name)},${quoted(groups.join(","))}`;
    });
    await writeFile(file, `${lines.join("\n")}\n`, { mode: 0o600 });
    own["token-auth-file"] = file;
  }
  return [
    "serve",
    ...Object.entries({ ...own, ...flags }).map(([name, value]) => `--${name}=${value}`),
  ];
}

/** As CSV has it. */
function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

async function startHere(
  args: readonly string[],
  { logs = false, deadlineMs = DEADLINE_MS }: KeelsonOptions,
): Promise<() => Promise<void>> {
  const commandLine = parseCommandLine(args);
  if (commandLine.action === "refuse") throw new RangeError(commandLine.message);
  if (commandLine.action !== "run") throw new RangeError("flags of a start are expected");
  const { config } = commandLine;
  const replica = await openReplica(
    config,
    readBuildInfo(process.env),
    logs ? createLog(config) : createSilentLog(),
  );
  const stop = () => replica.shutDown();
  try {
    await within(replica.ready, deadlineMs);
  } catch (error) {
    await stop();
    throw error;
  }
  return stop;
}

async function startChild(
  args: readonly string[],
  { logs = false, deadlineMs = DEADLINE_MS }: KeelsonOptions,
): Promise<() => Promise<void>> {
  const output = logs ? "inherit" : "pipe";
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ["ignore", output, "pipe"] });
  let complaint = "";
  child.stderr?.on("data", (chunk) => {
    complaint = (complaint + String(chunk)).slice(-4_000);
  });
  child.stdout?.resume();
  const ended = once(child, "exit");
  // The child goes with this process, however that ends in good order.
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  const stop = async () => {
    process.off("exit", kill);
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    await ended;
  };
  const asking = new AbortController();
  try {
    const folder =
      args.find((arg) => arg.startsWith("--data-dir="))?.slice("--data-dir=".length) ?? "";
    const failed = ended.then(() => {
      throw new Error(complaint.trim() || "the API ended at its start");
    });
    await within(Promise.race([untilReady(folder, asking.signal), failed]), deadlineMs);
  } catch (error) {
    kill();
    await ended;
    throw error;
  } finally {
    asking.abort();
  }
  return stop;
}

/** @param signal ends the asking; without it a child that never gets ready would be asked forever */
async function untilReady(folder: string, signal: AbortSignal): Promise<void> {
  const { get } = await import("node:https");
  while (!signal.aborted) {
    try {
      const { url, ca, cert, key } = await readAccess(folder);
      const status = await new Promise((resolve, reject) => {
        const request = get(`${url}/readyz`, { ca, cert, key, signal }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        request.once("error", reject);
      });
      if (status === 200) return;
    } catch {
      // Not yet.
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function within<T>(promise: Promise<T>, deadlineMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`the API is not ready after ${deadlineMs} ms`)),
      deadlineMs,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

interface AdminAccess extends KeelsonAccess {
  readonly cert: string;
  readonly key: string;
}

async function readAccess(folder: string): Promise<AdminAccess> {
  const kubeconfig = await readFile(join(folder, "admin.kubeconfig"), "utf8");
  const config = parse(kubeconfig) as {
    readonly clusters: readonly { readonly cluster: Readonly<Record<string, string>> }[];
    readonly users: readonly { readonly user: Readonly<Record<string, string>> }[];
  };
  const cluster = config.clusters[0]?.cluster ?? {};
  const user = config.users[0]?.user ?? {};
  const decode = (text = "") => Buffer.from(text, "base64").toString();
  return {
    url: cluster.server ?? "",
    ca: decode(cluster["certificate-authority-data"]),
    cert: decode(user["client-certificate-data"]),
    key: decode(user["client-key-data"]),
    kubeconfig,
  };
}

function toKeelson(
  kubeconfigPath: string,
  tokens: ReadonlyMap<string, string>,
  end: () => Promise<void>,
  access: AdminAccess,
): Keelson {
  let ending: Promise<void> | undefined;
  const stop = () => {
    ending ??= end();
    return ending;
  };
  return {
    ...access,
    kubeconfigPath,
    as(name) {
      const token = tokens.get(name);
      if (token === undefined) throw new RangeError(`no user is called ${JSON.stringify(name)}`);
      const { url, ca } = access;
      return { url, ca, token, kubeconfig: tokenKubeconfig(access, name, token) };
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function tokenKubeconfig({ url, ca }: KeelsonAccess, name: string, token: string): string {
  const cluster = { server: url, "certificate-authority-data": Buffer.from(ca).toString("base64") };
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "keelson", cluster }],
    users: [{ name, user: { token } }],
    contexts: [{ name: "keelson", context: { cluster: "keelson", user: name } }],
    "current-context": "keelson",
  });
}
