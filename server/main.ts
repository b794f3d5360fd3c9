#!/usr/bin/env -S node --min-semi-space-size=4 --max-semi-space-size=8 --heap-growing-percent=30 --v8-pool-size=0 --no-allocation-site-pretenuring
/**
 * The command `keelson`: reads the command line, starts a replica or the control loops, says where
 * they are, and ends them on SIGTERM or SIGINT; or asks a server (`explain-admission`). Whatever is
 * wrong with flags or start is one line on stderr and exit status 1, with what asks a server 2.
 */
import type { Logger } from "../storage/base/logger.js";
import { oneLine } from "../storage/base/one-line.js";
import { orderFault } from "./commands/fault.js";
import { showDiff, showHistory } from "./commands/history.js";
import { loadSnapshot } from "./commands/load-snapshot.js";
import { saveSnapshot } from "./commands/save-snapshot.js";
import { showStatus } from "./commands/status.js";
import { validate } from "./commands/validate.js";
import { blame, explainWhy } from "./commands/why.js";
import { parseCommandLine } from "./config/command-line.js";
import type { Config } from "./config/config.js";
import { explainAdmission } from "./explain/explain-admission.js";
import { readAccess } from "./fresh-api/access.js";
import { applyManifests, linesOf } from "./fresh-api/apply-manifests.js";
import { type PlacedObject, readManifests } from "./fresh-api/manifests.js";
import { runWithApi } from "./fresh-api/run-with-api.js";
import { signatureOf, watchManifests } from "./fresh-api/watch-manifests.js";
import { warningsAbout } from "./node-release.js";
import { printVersion } from "./print-version.js";
import { reportReady } from "./report-ready.js";
import { readBuildInfo } from "./wiring/build-info.js";
import { runControlLoops } from "./wiring/control-loops.js";
import { createLog } from "./wiring/create-logger.js";
import { openReplica, type Replica } from "./wiring/replica.js";
import { startWatchdog } from "./wiring/watchdog.js";

const HEARTBEAT_MS = 60_000;
/** How long what is missing may take to come. */
const MANIFESTS_MS = 30_000;
/** Exit status of commands whose 1 is an answer. */
const COULD_NOT_BE_ASKED = 2;
/** Until the process ends. */
const NEVER = new AbortController().signal;

async function main(): Promise<boolean> {
  // A full disk or a closed pipe behind them ends nothing.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  const startedAtMs = performance.now();
  const commandLine = parseCommandLine(process.argv.slice(2));
  switch (commandLine.action) {
    case "help":
      process.stdout.write(`${commandLine.text}\n`);
      return false;
    case "version":
      printVersion();
      return false;
    case "refuse":
      fail(commandLine.message, commandLine.exitCode);
      return false;
    case "up":
      return await up(commandLine.args, commandLine.command);
    case "explain":
      await ask((signal) => explainAdmission(commandLine.options, signal));
      return false;
    case "console": {
      const { runConsole } = await import("./console/run-console.js");
      await ask((signal) => runConsole(commandLine.options, process.stdout, signal));
      return false;
    }
    case "fault":
      await ask((signal) => orderFault(commandLine.options, signal));
      return false;
    case "validate":
      return await ask((signal) => validate(commandLine.options, signal));
    case "history":
      await ask((signal) => showHistory(commandLine.options, signal));
      return false;
    case "diff":
      await ask((signal) => showDiff(commandLine.options, signal));
      return false;
    case "why":
      await ask((signal) => explainWhy(commandLine.options, signal));
      return false;
    case "blame":
      await ask((signal) => blame(commandLine.options, signal));
      return false;
    case "status":
      await ask((signal) => showStatus(commandLine.options, signal));
      return false;
    case "snapshot": {
      const { options } = commandLine;
      const run = options.action === "save" ? saveSnapshot : loadSnapshot;
      await ask((signal) => run(options, signal));
      return false;
    }
    case "run":
      if (commandLine.config.command === "serve") return serve(commandLine.config, startedAtMs);
      await controllers(commandLine.config);
      return false;
  }
}

async function serve(config: Config, startedAtMs: number): Promise<boolean> {
  const build = readBuildInfo(process.env);
  const log = createLog(config);
  const { logger } = log;
  warn(config, logger);
  startWatchdog({ env: process.env, isWell: () => true, logger });
  let replica: Replica;
  let objects: readonly PlacedObject[];
  let signature: string;
  try {
    signature = config.watchManifests ? await signatureOf(config.manifests) : "";
    objects = await readManifests(config.manifests);
    replica = await openReplica(config, build, log);
  } catch (error) {
    fail(`keelson: ${oneLine(error)}`);
    return false;
  }
  greet(replica, build.version);
  const isEnding = endOnSignal(replica, logger);
  void replica.failure.then((error) => {
    fail(`keelson: ${oneLine(error)}`);
    process.exit();
  });
  try {
    await replica.ready;
  } catch (error) {
    // A signal came first: what it began ends the process.
    if (isEnding()) return false;
    fail(`keelson: the registry cannot be read: ${oneLine(error)}`);
    // At once: requests that wait for the registry would hold up an orderly end.
    process.exit();
  }
  if (!(await putManifests(objects, replica))) {
    if (!isEnding()) await replica.shutDown().finally(() => process.exit());
    return false;
  }
  if (config.watchManifests) {
    const access = await readAccess(replica.kubeconfigPath);
    const watched = { paths: config.manifests, access, logger };
    void watchManifests(watched, signature, NEVER);
  }
  logger.info({ afterMs: Math.round(performance.now() - startedAtMs) }, "ready");
  if (config.readyFd >= 0) sayReady(config.readyFd, replica, logger);
  return true;
}

/** @returns whether they are there; otherwise it is said why */
async function putManifests(objects: readonly PlacedObject[], replica: Replica): Promise<boolean> {
  if (objects.length === 0) return true;
  try {
    await applyManifests(objects, await readAccess(replica.kubeconfigPath), MANIFESTS_MS);
    return true;
  } catch (error) {
    for (const line of linesOf(error)) fail(`keelson: ${line}`);
    return false;
  }
}

function sayReady(fd: number, { url, kubeconfigPath }: Replica, logger: Logger): void {
  try {
    reportReady(fd, { url, kubeconfig: kubeconfigPath, pid: process.pid });
  } catch (error) {
    logger.warn({ err: error }, "nobody reads --ready-fd");
  }
}

async function controllers(config: Config): Promise<void> {
  const { logger } = createLog(config);
  warn(config, logger);
  const ending = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => ending.abort());
  // Waiting alone does not keep a process alive.
  const heartbeat = setInterval(() => {}, HEARTBEAT_MS);
  try {
    await runControlLoops(config, logger, process.env, ending.signal);
  } catch (error) {
    if (!ending.signal.aborted) fail(`keelson: ${oneLine(error)}`);
  } finally {
    clearInterval(heartbeat);
  }
}

/** @returns whether an API was ready */
async function up(args: readonly string[], command: readonly string[]): Promise<boolean> {
  try {
    process.exitCode = await runWithApi(args, command);
    return true;
  } catch (error) {
    for (const line of linesOf(error)) fail(line.replace(/^(?:keelson: )?/, "keelson: "));
    return false;
  }
}

/** Runs a command that asks a server. Exit status 2 where nobody could be asked. @returns whether there is an answer */
async function ask(
  run: (signal: AbortSignal) => Promise<string | { output: string; exitCode: number }>,
): Promise<boolean> {
  const ending = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => ending.abort());
  try {
    const answer = await run(ending.signal);
    process.stdout.write(typeof answer === "string" ? answer : answer.output);
    if (typeof answer !== "string") process.exitCode = answer.exitCode;
    return true;
  } catch (error) {
    // What starts a server inside says so itself.
    fail(`keelson: ${oneLine(error).replace(/^keelson: /, "")}`, COULD_NOT_BE_ASKED);
    return false;
  }
}

/** Tells the person who just typed the command where the API is. */
function greet({ url, storeDescription, kubeconfigPath }: Replica, version: string): void {
  process.stdout.write(
    [
      `Keelson ${version}, a Kubernetes-compatible resource API server`,
      `  serving  ${url}`,
      `  data     ${storeDescription}`,
      "",
      `  export KUBECONFIG=${kubeconfigPath}`,
      "",
      "",
    ].join("\n"),
  );
}

/**
 * The first signal ends in good order; a second one ends at once.
 * @returns whether a signal has come
 */
function endOnSignal(replica: Replica, logger: Logger): () => boolean {
  let isEnding = false;
  const end = (signal: NodeJS.Signals) => {
    if (isEnding) process.exit(1);
    isEnding = true;
    logger.info({ signal }, "shutting down");
    setTimeout(() => {
      logger.error({ waitsFor: replica.waitsFor() }, "the end took too long, and is given up");
      process.exit(1);
    }, replica.endMsMax).unref();
    replica.shutDown().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ err: error }, "shutting down failed");
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", end);
  process.on("SIGINT", end);
  return () => isEnding;
}

function warn(config: Config, logger: Logger): void {
  const warnings = [...warningsAbout(process.version), ...config.warnings];
  for (const warning of warnings) logger.warn({}, warning);
}

function fail(message: string, exitCode = 1): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = exitCode;
}

/** Whether a replica is ready: then what was compiled is what a start needs (bundled-scripts.ts). */
export const started = main();
