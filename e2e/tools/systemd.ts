/**
 * A real systemd as process 1 of namespaces of its own (systemd.sh): it sees the machine's programs, none of its services, and
 * no network but its own loopback. What is written in it is gone with it. It ends with the test, in whatever way that ends.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { DEADLINE_MS, eventually } from "../harness/eventually.js";
import { makeTempDir, type TempDir } from "../harness/temp-dir.js";
import { Child } from "./child.js";
import { repositoryRoot } from "./find-tool.js";

const run = promisify(execFile);
const SYSTEMD = "/lib/systemd/systemd";
const HIERARCHIES = ["systemd", "unified"].map((name) => `/sys/fs/cgroup/${name}`);
const NAMESPACES = ["--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup"];

/** Why none can be started here. */
export async function missingSystemd(): Promise<string | false> {
  if (process.getuid?.() !== 0) return "a systemd in namespaces of its own needs root";
  for (const path of [SYSTEMD, ...HIERARCHIES]) {
    if (!existsSync(path)) return `a systemd in namespaces of its own needs ${path}`;
  }
  return run("unshare", [...NAMESPACES, "true"]).then(
    () => false,
    () => "namespaces cannot be made here",
  );
}

export class Systemd implements AsyncDisposable {
  readonly #folder: TempDir;
  readonly #child: Child;
  readonly #groups: readonly string[];
  #pid = 0;

  private constructor(folder: TempDir, child: Child, groups: readonly string[]) {
    this.#folder = folder;
    this.#child = child;
    this.#groups = groups;
  }

  static async start(): Promise<Systemd> {
    const folder = await makeTempDir("systemd");
    const groups = HIERARCHIES.map((path) => join(path, `keelson-${process.pid}`));
    for (const group of groups) await mkdir(group, { recursive: true });
    const enter = groups.map((group) => `echo $$ > ${group}/cgroup.procs`).join("; ");
    const boot = join(repositoryRoot(), "e2e", "tools", "systemd.sh");
    const line = `${enter}; exec unshare ${NAMESPACES.join(" ")} --fork --kill-child sh ${boot} ${folder.path}`;
    const systemd = new Systemd(folder, new Child("sh", ["-ec", line]), groups);
    try {
      await systemd.#waitUntilRunning();
    } catch (error) {
      await systemd[Symbol.asyncDispose]();
      throw error;
    }
    return systemd;
  }

  /** Where its file system is for this process. */
  get root(): string {
    return `/proc/${this.#pid}/root`;
  }

  /** Runs a program inside; returns what it printed. @throws {Error} it failed */
  async run(program: string, ...args: readonly string[]): Promise<string> {
    const inside = ["-t", String(this.#pid), "-m", "-p", "-u", "-i", "-n", "-C", "-r", "-w"];
    const env = { PATH: "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" };
    const all = [...inside, program, ...args];
    const { stdout } = await run("nsenter", all, { env, timeout: DEADLINE_MS });
    return stdout.trim();
  }

  /** Properties of a unit, by their names. */
  async show(unit: string, ...names: readonly string[]): Promise<Record<string, string>> {
    const text = await this.run("systemctl", "show", "-p", names.join(), unit);
    return Object.fromEntries(text.split("\n").map((line) => line.split(/=(.*)/s).slice(0, 2)));
  }

  async #waitUntilRunning(): Promise<void> {
    await eventually("systemd has started", async () => {
      const of = `/proc/${this.#child.pid}/task/${this.#child.pid}/children`;
      // The watchdog is the first.
      this.#pid = Number((await readFile(of, "utf8")).trim().split(" ").at(-1));
      const state = await this.run("systemctl", "is-system-running").catch(() => "");
      return state === "running" ? true : undefined;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.end("SIGKILL");
    await eventually("the control groups are empty", async () => {
      for (const group of this.#groups) await removeGroup(group);
      return true;
    });
    await this.#folder[Symbol.asyncDispose]();
  }
}

/** @throws {Error} somebody is in it */
async function removeGroup(path: string): Promise<void> {
  if (!existsSync(path)) return;
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (entry.isDirectory()) await removeGroup(join(path, entry.name));
  }
  await rmdir(path);
}

/** Writes a file inside, with the folders above it. */
export async function writeInside(systemd: Systemd, path: string, text: string, mode = 0o644) {
  const whole = join(systemd.root, path);
  await mkdir(join(whole, ".."), { recursive: true });
  await writeFile(whole, text, { mode });
}
