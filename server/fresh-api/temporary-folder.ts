/**
 * Temporary folders, which hold keys and stores: removed when they are closed, when the process ends, and at the
 * next start of anybody where the process was killed. Each names its owner in a file:
 *
 *     4711                      the process
 *     8123456                   when it started, so that a later process of that number is not taken for it
 *     box 4026531836 f3a1...    where: another host, container or boot numbers other processes
 *
 * A folder whose owner is elsewhere is left alone.
 */
import { mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { readdir, readFile, rm, rmdir, stat } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { processEnds } from "./process-ends.js";

export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string;
}

const PREFIX = "keelson-api-";
const OWNER_FILE = "owner";
/** A process was killed between making a folder and naming its owner; that takes far less. */
const NAMELESS_MS_MAX = 60_000;
const REMOVAL = { recursive: true, force: true, maxRetries: 3 } as const;

/** @param parent default: where the system has temporary files */
export function makeTemporaryFolder(parent = tmpdir()): TemporaryFolder {
  const path = mkdtempSync(join(parent, PREFIX));
  const forget = processEnds.add(() => rmSync(path, REMOVAL));
  try {
    const owner = [process.pid, startOf("self"), placeOfProcesses()].join("\n");
    writeFileSync(join(path, OWNER_FILE), `${owner}\n`, { mode: 0o600 });
  } catch (error) {
    forget();
    rmSync(path, REMOVAL);
    throw error;
  }
  return {
    path,
    async [Symbol.asyncDispose]() {
      await rm(path, REMOVAL);
      forget();
    },
  };
}

/** Removes the folders of processes that are gone. Never rejects: what cannot be removed stays. */
export async function removeStaleFolders(parent = tmpdir()): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  const folders = names.filter((name) => name.startsWith(PREFIX)).map((name) => join(parent, name));
  for (const folder of folders) {
    try {
      await removeIfStale(folder);
    } catch {
      // It is somebody else's, or went meanwhile.
    }
  }
}

async function removeIfStale(folder: string): Promise<void> {
  const owner = await readFile(join(folder, OWNER_FILE), "utf8").catch(() => undefined);
  if (owner !== undefined) {
    if (isGone(owner)) await rm(folder, REMOVAL);
    return;
  }
  const { mtimeMs } = await stat(folder);
  // Only if it is empty.
  if (Date.now() - mtimeMs > NAMELESS_MS_MAX) await rmdir(folder);
}

function isGone(owner: string): boolean {
  const [pid = "", start = "", place] = owner.split("\n");
  if (place !== placeOfProcesses() || !/^\d+$/.test(pid)) return false;
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
  return startOf(pid) !== start;
}

/** In ticks since the boot; "" where the system does not tell. */
function startOf(pid: string): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // Behind the program's name, which may have spaces and brackets: the 22nd field.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  } catch {
    return "";
  }
}

/** What the number of a process refers to. */
function placeOfProcesses(): string {
  const told = [
    () => readlinkSync("/proc/self/ns/pid"),
    () => readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim(),
  ];
  const known = told.map((tell) => {
    try {
      return tell();
    } catch {
      return "";
    }
  });
  return [hostname(), ...known].join(" ");
}
