/**
 * `keelson snapshot save`: the objects of a server, one a line, page by page. Each resource is read as of one moment,
 * and not all of the same one.
 */
import { open, realpath, rename, rm, stat } from "node:fs/promises";
import type { JsonObject } from "../api/meta.js";
import type { HttpsClient } from "../client/https-client.js";
import { stringifyJson } from "../codec/json.js";
import type { SnapshotOptions } from "../config/snapshot-options.js";
import { connect } from "../explain/connect.js";
import {
  askServer,
  groupDomainOf,
  listResources,
  pathOf,
  reasonOf,
  type ServerResource,
} from "./server-resources.js";

/** The first line of a file. */
export interface SnapshotHead {
  readonly kind: "KeelsonSnapshot";
  readonly version: 1;
}

export const HEAD: SnapshotHead = { kind: "KeelsonSnapshot", version: 1 };

const PAGE = 500;
const OWNER_ONLY = 0o600;
const STANDARD_OUTPUT = "-";

interface Sink extends AsyncDisposable {
  write(text: string): Promise<unknown>;
  /** All is written. */
  finish(): Promise<void>;
}

/** @throws {Error} the server cannot be asked, or the file not written */
export async function saveSnapshot(
  options: SnapshotOptions,
  signal: AbortSignal,
): Promise<{ readonly output: string; readonly exitCode: number }> {
  const client = await connect(options, "keelson-snapshot");
  try {
    await using file = await openSink(options.file);
    await file.write(`${JSON.stringify(HEAD)}\n`);
    const lines: string[] = [];
    const failed = (what: string, why: string) => lines.push(`not read: ${what}: ${why}`);
    const resources = await listResources(client, signal, failed);
    let count = 0;
    for (const resource of keptOf(resources)) {
      const { name, group } = resource;
      const note = (why: string) => failed(group === "" ? name : `${name}.${group}`, why);
      count += await saveResource({ client, resource, file, note }, signal);
    }
    await file.finish();
    const exitCode = lines.length > 0 ? 1 : 0;
    const output = [...lines, `${count} objects`, ""].join("\n");
    if (options.file !== STANDARD_OUTPUT) return { output, exitCode };
    process.stderr.write(output);
    return { output: "", exitCode };
  } finally {
    client.close();
  }
}

/** @throws {Error} with one line */
async function openSink(path: string): Promise<Sink> {
  if (path === STANDARD_OUTPUT) return standardOutput();
  try {
    // Links stay, and so do devices and pipes, which are written to as they are.
    const place = await realpath(path).catch(() => path);
    const found = await stat(place).catch(() => undefined);
    if (found?.isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" });
    return await openFile(place, found === undefined || found.isFile());
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`cannot write ${JSON.stringify(path)} (${code})`, { cause: error });
  }
}

/** What breaks off leaves no file that looks whole, and none that was there spoilt. */
async function openFile(place: string, isReplaced: boolean): Promise<Sink> {
  const written = isReplaced ? `${place}.unfinished` : place;
  const file = await open(written, "w", OWNER_ONLY);
  return {
    write: (text) => file.write(text),
    async finish() {
      await file.close();
      if (isReplaced) await rename(written, place);
    },
    async [Symbol.asyncDispose]() {
      await file.close();
      if (isReplaced) await rm(written, { force: true });
    },
  };
}

function standardOutput(): Sink {
  return {
    write: (text) =>
      new Promise<void>((resolve, reject) => {
        process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
      }),
    finish: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
}

/** What can be created again, but for what speaks of what runs, or of what happened. */
export function keptOf(resources: readonly ServerResource[]): readonly ServerResource[] {
  const domain = groupDomainOf(resources);
  const leftOut = new Set(["events", `events.events.${domain}`, `leases.coordination.${domain}`]);
  const idOf = ({ name, group }: ServerResource) => (group === "" ? name : `${name}.${group}`);
  return resources.filter(
    (one) => one.verbs.includes("list") && one.verbs.includes("create") && !leftOut.has(idOf(one)),
  );
}

async function saveResource(
  {
    client,
    resource,
    file,
    note,
  }: {
    readonly client: HttpsClient;
    readonly resource: ServerResource;
    readonly file: Sink;
    note(why: string): void;
  },
  signal: AbortSignal,
): Promise<number> {
  const { group, version, kind } = resource;
  const apiVersion = group === "" ? version : `${group}/${version}`;
  let count = 0;
  let next = "";
  do {
    const more = next === "" ? "" : `&continue=${encodeURIComponent(next)}`;
    const path = `${pathOf(resource, "")}?limit=${PAGE}${more}`;
    const answer = await askServer(client, { path }, signal);
    if (answer.status !== 200) {
      note(reasonOf(answer));
      return count;
    }
    const { items = [], metadata = {} } = answer.value as {
      readonly items?: readonly JsonObject[];
      readonly metadata?: JsonObject;
    };
    const kept = items.filter((item) => !isTokenOfAccount(kind, item));
    const lines = kept.map((item) => `${stringifyJson({ ...item, apiVersion, kind })}\n`);
    await file.write(lines.join(""));
    count += kept.length;
    next = typeof metadata.continue === "string" ? metadata.continue : "";
  } while (next !== "");
  return count;
}

/** It names the uid of its account, and another server makes its own. */
function isTokenOfAccount(kind: string, { type }: JsonObject): boolean {
  return kind === "Secret" && typeof type === "string" && type.endsWith("/service-account-token");
}
