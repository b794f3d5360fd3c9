/** A fresh API in this process: a replica on the embedded store, in a temporary folder. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openAll } from "../../storage/base/cleanup.js";
import { type Logger, silentLogger } from "../../storage/base/logger.js";
import { parseCommandLine } from "../config/command-line.js";
import type { RequestListener } from "../http/request-listener.js";
import { SIMULATED_PARTS } from "../simulation/run-simulation.js";
import { AlikeParts } from "../wiring/alike-parts.js";
import { readBuildInfo } from "../wiring/build-info.js";
import { createLog, createSilentLog } from "../wiring/create-logger.js";
import { openReplica } from "../wiring/replica.js";
import { type AdminAccess, readAccess } from "./access.js";
import { applyManifests } from "./apply-manifests.js";
import { isPath, readManifests } from "./manifests.js";
import { makeTemporaryFolder, removeStaleFolders } from "./temporary-folder.js";
import type { KeelsonOptions } from "./types.js";
import { signatureOf, watchManifests } from "./watch-manifests.js";
import { within } from "./within.js";

/** An API that runs, wherever. */
export interface RunningApi {
  readonly access: AdminAccess;
  /** Ends it and removes what it kept. */
  stop(): Promise<void>;
}

/** One of this process. */
export interface ApiHere extends RunningApi {
  /** Answers requests that need no connection. */
  readonly handle: RequestListener;
}

/** What is needed to start one; it can be sent to a child. */
export interface StartOrder {
  readonly options: KeelsonOptions;
  /** By the name of the user. */
  readonly tokens: readonly (readonly [name: string, token: string])[];
  /** Flags as they were written on a command line. */
  readonly args?: readonly string[];
  /** Whether it only answers a few questions of its administrator. */
  readonly isBrief?: boolean;
}

export const DEADLINE_MS = 60_000;
/** Whoever has files watched is told what is wrong with them, also without a log. */
const MISTAKES: Logger = {
  ...silentLogger,
  warn: (_fields, message) => void process.stderr.write(`keelson: ${message}\n`),
};
/** Of all APIs that this process starts: none knows of the others, and none changes it. */
const ALIKE = new AlikeParts();

/** @throws {Error} with one line, or one for each manifest that is not there */
export async function startHere(order: StartOrder): Promise<ApiHere> {
  const { options, tokens, args = [], isBrief = false } = order;
  const removed = removeStaleFolders();
  try {
    return await openAll(async (opened) => {
      const folder = opened.use(makeTemporaryFolder());
      const { logs = false, deadlineMs = DEADLINE_MS } = options;
      const own = await toArguments(options, folder.path, tokens);
      const commandLine = parseCommandLine([...own, ...args]);
      if (commandLine.action === "refuse") throw new RangeError(commandLine.message);
      if (commandLine.action !== "run") throw new RangeError("flags of a start are expected");
      // Nobody finds what is in the folder after the process: no write of it waits for the disk.
      const isTemporary = commandLine.config.dataDir === folder.path;
      const config = { ...commandLine.config, isTemporary, isBrief };
      const untilMs = performance.now() + deadlineMs;
      const files = [...config.manifests, ...(options.manifests ?? []).filter(isPath)];
      const signature = config.watchManifests ? await signatureOf(files) : "";
      const objects = await readManifests([...config.manifests, ...(options.manifests ?? [])]);
      const log = logs ? createLog(config) : createSilentLog();
      const replica = await openReplica(config, readBuildInfo(process.env), log, ALIKE.of(config));
      // It has a time for each of its parts.
      opened.defer(() => replica.shutDown(), "the server", Number.POSITIVE_INFINITY);
      await within("the API is not ready", replica.ready, deadlineMs);
      const access = await readAccess(replica.kubeconfigPath);
      await applyManifests(objects, access, untilMs - performance.now());
      if (config.watchManifests) {
        const ending = new AbortController();
        const watched = { paths: files, access, logger: logs ? log.logger : MISTAKES };
        const watching = watchManifests(watched, signature, ending.signal);
        opened.defer(() => {
          ending.abort();
          return watching;
        });
      }
      return { access, handle: replica.handle, stop: () => opened[Symbol.asyncDispose]() };
    });
  } finally {
    await removed;
  }
}

async function toArguments(
  {
    flags = {},
    users = [],
    logs = false,
    faults = false,
    record = false,
    simulate = false,
    controlPlanes = false,
  }: KeelsonOptions,
  folder: string,
  tokens: StartOrder["tokens"],
): Promise<string[]> {
  const own: Record<string, string | number | boolean> = {
    "data-dir": folder,
    "secure-port": 0,
    "log-level": logs ? "info" : "error",
    "enable-test-api": true,
    "enable-fault-injection": faults,
    "enable-control-planes": controlPlanes,
    record: record ? "memory" : "",
  };
  if (simulate !== false) {
    const { parts = SIMULATED_PARTS, ...settings } = simulate === true ? {} : simulate;
    const file = join(folder, "simulation.json");
    await writeFile(file, JSON.stringify(settings));
    own.simulate = parts.join(",");
    own["simulation-file"] = file;
  }
  if (users.length > 0) {
    const file = join(folder, "tokens.csv");
    const tokenOf = new Map(tokens);
    const lines = users.map(({ name, groups = [] }) => {
      return `${tokenOf.get(name)},${quoted(name)},${quoted(name)},${quoted(groups.join(","))}`;
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
