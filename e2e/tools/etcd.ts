/**
 * Real etcd processes for tests: one member or a cluster, on free ports of the loopback interface,
 * with data in a temporary folder that goes away with them.
 */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { isFast } from "../harness/is-long.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { Child } from "./child.js";
import { findTool, type ToolName } from "./find-tool.js";
import { freePort } from "./free-port.js";
import { openLab, type Room } from "./lab.js";

/** "current" is 3.5 or newer; "oldest" is 3.4, the oldest that we support; "newest" is the newest to be had. */
export type EtcdBinary = "oldest" | "current" | "newest";

export interface EtcdOptions {
  /** Default "current". */
  readonly binary?: EtcdBinary;
  /** Further command line arguments of etcd. */
  readonly args?: readonly string[];
  /** Of its environment, besides our own. */
  readonly env?: Readonly<Record<string, string>>;
  /** Serve clients over TLS with these files; `caFile` makes a client certificate compulsory. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string; readonly caFile?: string };
  /** Each member in a room of its own (lab.ts), whose cable can be pulled and whose disk be full. */
  readonly inRooms?: boolean;
}

export interface EtcdProcess extends AsyncDisposable {
  /** "http://127.0.0.1:2379" or https. Stays the same over restarts. */
  readonly endpoint: string;
  /** Of the process that runs now; changes with a restart. */
  readonly pid: number;
  /** Where its data is; removed by `stop`. */
  readonly dataDir: string;
  /** Ends the process and removes its data. */
  stop(): Promise<void>;
  /** Ends the process at once (SIGKILL) and keeps its data for `restart`. */
  kill(): Promise<void>;
  /** Stops the process from running (SIGSTOP): its sockets stay open and nobody answers. */
  pause(): void;
  resume(): void;
  /** Starts it again on the same ports and data, ending it first if it runs, and waits for health. */
  restart(): Promise<void>;
  /** Starts it again without waiting until it is healthy (a cluster needs a majority for that). */
  start(): Promise<void>;
  /** Where it runs; undefined: beside everything else. */
  readonly room: Room | undefined;
  /** Forgets its data; it must not run. */
  wipe(): Promise<void>;
  /** From its next start on: as a member that was added to a cluster which runs. */
  joinExisting(): void;
  readonly peerUrl: string;
  /** Makes its data that of a snapshot, for a new cluster of all members; it must not run. */
  restore(
    snapshotFile: string,
    options: RestoreOptions & { readonly token: string },
  ): Promise<void>;
}

export interface EtcdCluster extends AsyncDisposable {
  readonly members: readonly EtcdProcess[];
  readonly endpoints: readonly string[];
  /** Where each member tells its metrics: "http://127.0.0.1:2381/metrics". */
  readonly metricsUrls: readonly string[];
  stop(): Promise<void>;
}

export interface RestoreOptions {
  /** Revisions go on above all that were ever given, and all before count as compacted. */
  readonly bumpRevision?: boolean;
}

const PAUSE_MS_MAX = 1_000;
/** As etcd's own documents advise: more than a cluster writes between two backups. */
const BUMP = 1_000_000_000;

/** Whether every thread of a process has stopped; where the system does not say, true. */
function isStopped(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).every((thread) => {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, "latin1");
      return /^[Tt]/.test(stat.slice(stat.lastIndexOf(")") + 2));
    });
  } catch {
    return true;
  }
}

export interface EtcdRelease {
  readonly binary: EtcdBinary;
  /** "etcd 3.5.16", for titles of tests. */
  readonly title: string;
  /** Why its tests are skipped; false where it can be had. */
  readonly skip: string | false;
}

const FAST: readonly EtcdBinary[] = ["current"];
const ALL: readonly EtcdBinary[] = ["oldest", "current", "newest"];

/** Every etcd that tests of the store take, the oldest first and each version once; one in the fast run. */
export async function etcdReleases(): Promise<readonly EtcdRelease[]> {
  const releases: EtcdRelease[] = [];
  for (const binary of isFast ? FAST : ALL) {
    const path = await findTool(TOOLS[binary]);
    const title = path === undefined ? `the ${binary} etcd` : `etcd ${await versionOf(path)}`;
    if (releases.some((known) => known.title === title)) continue;
    const skip = path === undefined && `${title} is not to be had on this machine`;
    releases.push({ binary, title, skip });
  }
  return releases;
}

async function versionOf(path: string): Promise<string> {
  const { stdout } = await promisify(execFile)(path, ["--version"]);
  return /etcd Version: (\S+)/.exec(stdout)?.[1] ?? "of no version";
}

/** Starts one etcd and waits until it is healthy. @throws {Error} no such etcd, or it does not start */
export async function startEtcd(options: EtcdOptions = {}): Promise<EtcdProcess> {
  const [member] = (await startEtcdCluster(1, options)).members;
  if (member === undefined) throw new Error("a cluster of one has one member");
  return member;
}

/** Starts an etcd cluster of `size` members and waits until all are healthy. */
export async function startEtcdCluster(
  size: number,
  options: EtcdOptions = {},
): Promise<EtcdCluster> {
  const path = await findTool(TOOLS[options.binary ?? "current"]);
  if (path === undefined) throw new Error("etcd is needed: see e2e/install-tools.sh");
  const dataDirs: string[] = [];
  while (dataDirs.length < size) dataDirs.push((await makeTempDir("etcd")).path);
  const lab = options.inRooms === true ? await openLab(dataDirs) : undefined;
  const plans: Plan[] = [];
  for (const [index, dataDir] of dataDirs.entries()) {
    const room = lab?.rooms[index];
    plans.push({
      path,
      name: `m${index}`,
      room,
      host: room?.address ?? "127.0.0.1",
      dataDir,
      scheme: options.tls === undefined ? "http" : "https",
      clientPort: await freePort(),
      peerPort: await freePort(),
      metricsPort: await freePort(),
      env: options.env ?? {},
    });
  }
  const cluster = plans.map((plan) => `${plan.name}=${peerUrlOf(plan)}`).join(",");
  const members = plans.map((plan) => {
    const args = toArguments(plan, cluster, options);
    // A member alone has nobody to wait for before it elects itself.
    if (size === 1) args.unshift("--heartbeat-interval=20", "--election-timeout=100");
    return new Member(plan, args, cluster);
  });
  const stop = async () => {
    await Promise.all(members.map((member) => member.stop()));
    await lab?.[Symbol.asyncDispose]();
  };
  for (const member of members) await member.start();
  try {
    for (const member of members) await member.waitUntilHealthy();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    members,
    endpoints: members.map((member) => member.endpoint),
    metricsUrls: plans.map(({ host, metricsPort }) => `http://${host}:${metricsPort}/metrics`),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

interface Plan {
  readonly path: string;
  readonly name: string;
  readonly room: Room | undefined;
  readonly host: string;
  readonly dataDir: string;
  readonly scheme: "http" | "https";
  readonly clientPort: number;
  readonly peerPort: number;
  readonly metricsPort: number;
  readonly env: Readonly<Record<string, string>>;
}

const TOOLS: Readonly<Record<EtcdBinary, ToolName>> = {
  oldest: "etcd-3.4",
  current: "etcd",
  newest: "etcd-newest",
};

function peerUrlOf({ host, peerPort }: Plan): string {
  return `http://${host}:${peerPort}`;
}

function toArguments(plan: Plan, cluster: string, options: EtcdOptions): string[] {
  const client = `${plan.scheme}://${plan.host}:${plan.clientPort}`;
  const peer = peerUrlOf(plan);
  const args = [
    `--name=${plan.name}`,
    `--data-dir=${plan.dataDir}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--listen-metrics-urls=http://${plan.host}:${plan.metricsPort}`,
    `--initial-cluster=${cluster}`,
    "--log-level=warn",
  ];
  // A killed process loses nothing that the kernel already has: no need to wait for the disk.
  if (options.binary !== "oldest") args.push("--unsafe-no-fsync");
  if (options.tls !== undefined) {
    args.push(`--cert-file=${options.tls.certFile}`, `--key-file=${options.tls.keyFile}`);
    if (options.tls.caFile !== undefined) {
      args.push(`--trusted-ca-file=${options.tls.caFile}`, "--client-cert-auth");
    }
  }
  return [...args, ...(options.args ?? [])];
}

/** The tool that restores, which packages put beside etcd. @throws {Error} it is not there */
function etcdutlBeside(etcd: string): string {
  const folder = dirname(etcd);
  const candidates = [join(folder, "etcdutl"), join(folder, "..", "etcd", "usr", "bin", "etcdutl")];
  const found = candidates.find((path) => existsSync(path));
  if (found === undefined) throw new Error(`there is no etcdutl beside ${etcd}`);
  return found;
}

class Member implements EtcdProcess {
  readonly endpoint: string;
  readonly dataDir: string;
  readonly room: Room | undefined;
  readonly peerUrl: string;
  readonly #plan: Plan;
  readonly #cluster: string;
  #args: readonly string[];
  #child: Child | undefined;

  constructor(plan: Plan, args: readonly string[], cluster: string) {
    this.#plan = plan;
    this.#cluster = cluster;
    this.#args = args;
    this.dataDir = plan.dataDir;
    this.room = plan.room;
    this.peerUrl = peerUrlOf(plan);
    this.endpoint = `${plan.scheme}://${plan.host}:${plan.clientPort}`;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  async start(): Promise<void> {
    await this.kill();
    const [program = "", ...args] = this.#inRoom([this.#plan.path, ...this.#args]);
    this.#child = new Child(program, args, this.#plan.dataDir, this.#plan.env);
  }

  joinExisting(): void {
    this.#args = [...this.#args, "--initial-cluster-state=existing"];
  }

  async wipe(): Promise<void> {
    await this.#run("sh", "-c", `rm -rf ${this.dataDir}/*`);
  }

  async restore(
    snapshotFile: string,
    { bumpRevision, token }: RestoreOptions & { readonly token: string },
  ): Promise<void> {
    await this.wipe();
    const { dataDir } = this;
    const fresh = join(dataDir, "restored");
    await this.#run(
      etcdutlBeside(this.#plan.path),
      ...["snapshot", "restore", snapshotFile, `--name=${this.#plan.name}`],
      ...[`--initial-cluster=${this.#cluster}`, `--initial-advertise-peer-urls=${this.peerUrl}`],
      ...[`--initial-cluster-token=${token}`, `--data-dir=${fresh}`],
      ...(bumpRevision === true ? [`--bump-revision=${BUMP}`, "--mark-compacted"] : []),
    );
    await this.#run("mv", join(fresh, "member"), join(dataDir, "member"));
  }

  async #run(...command: readonly string[]): Promise<void> {
    const [program = "", ...args] = this.#inRoom(command);
    await promisify(execFile)(program, args);
  }

  #inRoom(command: readonly string[]): readonly string[] {
    return [...(this.room?.enter ?? []), ...command];
  }

  async waitUntilHealthy(): Promise<void> {
    const url = `http://${this.#plan.host}:${this.#plan.metricsPort}/health`;
    await this.#child?.waitUntilReady(async () => {
      const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) });
      return ((await answer.json()) as { health?: unknown }).health === "true";
    });
  }

  async restart(): Promise<void> {
    await this.start();
    await this.waitUntilHealthy();
  }

  async kill(): Promise<void> {
    await this.#child?.end("SIGKILL");
  }

  pause(): void {
    const child = this.#child;
    if (child === undefined) return;
    child.signal("SIGSTOP");
    // The signal is on its way when this returns; another thread may still answer a request.
    const giveUpAtMs = performance.now() + PAUSE_MS_MAX;
    while (!isStopped(child.pid) && performance.now() < giveUpAtMs);
  }

  resume(): void {
    this.#child?.signal("SIGCONT");
  }

  async stop(): Promise<void> {
    await this.#child?.end("SIGTERM");
    await rm(this.#plan.dataDir, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
