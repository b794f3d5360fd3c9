/**
 * What is set on fire: some replicas over one store, each behind a proxy of its own to every etcd
 * member, so that a replica can be parted from etcd while the others are not. Faults are done here
 * and undone by `heal`; nothing here knows when or why.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import { openEtcdStore } from "../../storage/etcd/etcd-store.js";
import { COMMAND_OF_MODULES } from "../harness/command.js";
import { eventually } from "../harness/eventually.js";
import { type Credentials, HttpsClient } from "../harness/https-client.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { Child } from "../tools/child.js";
import { type EtcdCluster, startEtcdCluster } from "../tools/etcd.js";
import { type EtcdAdmin, etcdAdmin } from "../tools/etcd-admin.js";
import { freePort } from "../tools/free-port.js";
import { whyNoLab } from "../tools/lab.js";
import { type LinkQuality, startTcpProxy, type TcpProxy } from "../tools/tcp-proxy.js";

export interface ClusterOptions {
  readonly store: "etcd" | "embedded";
  /** With the embedded store there is one. */
  readonly replicas: number;
  readonly etcdMembers: number;
  /** Further flags of the server. */
  readonly flags?: readonly string[];
  /** Each etcd member in a room of its own where this machine permits it, else beside the others. */
  readonly inRooms?: boolean;
  /**
   * Modules that a replica loads before the server, by its index: how a test breaks the server
   * without a hook in it.
   */
  readonly preloads?: ReadonlyMap<number, readonly string[]>;
}

export interface Cluster extends AsyncDisposable {
  readonly replicas: readonly Replica[];
  readonly etcd: EtcdCluster | undefined;
  readonly etcdAdmin: EtcdAdmin | undefined;
  /** Why members have no rooms although these were asked for. */
  readonly whyNoRooms: string | undefined;
  /** Forgets the store's history up to now; nothing on the embedded store. */
  compact(): Promise<void>;
}

/** The histories know all writes: no loop puts objects of its own among them. */
const FLAGS = ["--controllers=*,-root-ca-cert-publisher"];

const PREFIX = "/registry";
const COMPACT_DEADLINE_MS = 5_000;
const READY_DEADLINE_MS = 60_000;
const IDLE_DEADLINE_MS = 5_000;

export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const whyNoRooms = options.inRooms === true ? await whyNoLab() : undefined;
  const inRooms = options.inRooms === true && whyNoRooms === undefined;
  const etcd =
    options.store === "etcd" ? await startEtcdCluster(options.etcdMembers, { inRooms }) : undefined;
  const count = etcd === undefined ? 1 : options.replicas;
  const replicas = Array.from(
    { length: count },
    (_, index) => new Replica(index, options, etcd?.endpoints ?? []),
  );
  const close = async () => {
    await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()));
    await etcd?.stop();
  };
  try {
    // The first makes what all share; the others start side by side.
    const [first, ...others] = replicas;
    await first?.open();
    const opened = await Promise.allSettled(others.map((replica) => replica.open()));
    for (const result of opened) if (result.status === "rejected") throw result.reason;
  } catch (error) {
    await close();
    throw error;
  }
  return {
    replicas,
    etcd,
    etcdAdmin: etcd && etcdAdmin(etcd),
    whyNoRooms,
    compact: async () => {
      if (etcd !== undefined) await compactEtcd(etcd.endpoints);
    },
    [Symbol.asyncDispose]: close,
  };
}

async function compactEtcd(endpoints: readonly string[]): Promise<void> {
  const deadline = AbortSignal.timeout(COMPACT_DEADLINE_MS);
  const options = { endpoints, prefix: PREFIX, clock: systemClock, logger: silentLogger };
  await using store = await openEtcdStore(options, deadline);
  await store.compact(await store.currentRevision(deadline), deadline);
}

/** Of another release: how a replica is upgraded, or taken back. */
export interface Release {
  /** The main.js of its build; default: this one's. */
  readonly main?: string;
  readonly flags?: readonly string[];
}

/** One server that dies and comes back on the same port, with the same data and credentials. */
export class Replica implements AsyncDisposable {
  readonly index: number;
  readonly #options: ClusterOptions;
  readonly #etcdEndpoints: readonly string[];
  readonly #proxies: TcpProxy[] = [];
  #dataDir = "";
  #port = 0;
  #server: ServerProcess | undefined;
  #broken: Child | undefined;
  #client: HttpsClient | undefined;
  /** A start under way; never rejects. */
  #starting: Promise<void> = Promise.resolve();
  #isStarting = false;
  #isPaused = false;
  #lastLogs = "";
  #release: Release = {};

  constructor(index: number, options: ClusterOptions, etcdEndpoints: readonly string[]) {
    this.index = index;
    this.#options = options;
    this.#etcdEndpoints = etcdEndpoints;
  }

  async open(): Promise<void> {
    this.#dataDir = (await makeTempDir(`fire-${this.index}`)).path;
    this.#port = await freePort();
    for (const endpoint of this.#etcdEndpoints) this.#proxies.push(await startTcpProxy(endpoint));
    await this.#startProper();
    if (this.#preloads.length > 0) {
      // The proper server made certificates and the kubeconfig; the broken one goes on with them.
      await this.kill();
      this.start();
    }
    await this.waitUntilReady();
  }

  /** Speaks to this replica, whatever process it is at the moment. */
  get client(): HttpsClient {
    if (this.#client === undefined) throw new Error("the replica was never started");
    return this.#client;
  }

  /** Of the process that runs now; 0: there is none. */
  get pid(): number {
    return this.#broken?.pid ?? this.#server?.pid ?? 0;
  }

  get logs(): string {
    return this.#broken?.output ?? this.#server?.logs ?? this.#lastLogs;
  }

  /** Whether there is no process, nor one being started: a start fails while etcd is away. */
  get #hasEnded(): boolean {
    if (this.#preloads.length > 0) return this.#broken?.hasEnded !== false;
    return !this.#isStarting && this.#server?.hasEnded !== false;
  }

  get #preloads(): readonly string[] {
    return this.#options.preloads?.get(this.index) ?? [];
  }

  /** Path of the administrator's kubeconfig, which names this replica. */
  get kubeconfig(): string {
    return join(this.#dataDir, "admin.kubeconfig");
  }

  /** Ends the process in good order, as an upgrade does. @throws {AssertionError} its exit status is not 0 */
  async stop(): Promise<void> {
    await this.#starting;
    await this.#server?.stop();
    this.#server = undefined;
  }

  /** What it is from its next start on. */
  become(release: Release): void {
    this.#release = release;
  }

  async kill(): Promise<void> {
    this.#isPaused = false;
    await this.#starting;
    this.#lastLogs = this.logs;
    await this.#server?.kill();
    await this.#broken?.end("SIGKILL");
    this.#server = undefined;
    this.#broken = undefined;
  }

  /** Starts the process again and does not wait: clients meet it while it loads. */
  start(): void {
    if (this.#preloads.length === 0) {
      this.#isStarting = true;
      this.#starting = this.#startProper().then(
        () => {
          this.#isStarting = false;
        },
        (error: unknown) => {
          this.#isStarting = false;
          this.#lastLogs = String(error);
        },
      );
      return;
    }
    const imports = this.#preloads.map((module) => `--import=${module}`);
    const args = [...imports, COMMAND_OF_MODULES, "serve", ...this.#flags];
    this.#broken = new Child(process.execPath, args);
  }

  pause(): void {
    this.#isPaused = true;
    this.#server?.signal("SIGSTOP");
    this.#broken?.signal("SIGSTOP");
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#server?.signal("SIGCONT");
    this.#broken?.signal("SIGCONT");
  }

  /** Cuts this replica off from all of etcd. */
  partition(): void {
    for (const proxy of this.#proxies) {
      proxy.refuse(true);
      proxy.cut();
    }
  }

  /** What this replica asks of etcd still arrives; what etcd answers does not. */
  loseAnswers(): void {
    for (const proxy of this.#proxies) proxy.loseAnswers();
  }

  /** Nothing passes between this replica and etcd, and nobody says so: as when packets are lost. */
  silence(): void {
    for (const proxy of this.#proxies) proxy.hold(true);
  }

  /** How good the way to etcd is from now on. */
  setLinkQuality(quality: LinkQuality): void {
    for (const proxy of this.#proxies) proxy.setQuality(quality);
  }

  /** Ends `silence`; what was held back arrives now. */
  unsilence(): void {
    for (const proxy of this.#proxies) proxy.hold(false);
  }

  /** Ends `partition` and `loseAnswers`. */
  reconnect(): void {
    for (const proxy of this.#proxies) {
      proxy.refuse(false);
      proxy.cut();
    }
  }

  /** Starts the process if there is none, and waits until it serves. @throws {Error} with its logs */
  async waitUntilReady(): Promise<void> {
    try {
      await eventually(
        `replica ${this.index} is ready`,
        async () => {
          if (this.#hasEnded) this.start();
          const signal = AbortSignal.timeout(2_000);
          return (await this.client.request("/readyz", { signal })).status === 200;
        },
        READY_DEADLINE_MS,
      );
    } catch (error) {
      throw new Error(`${String(error)}\n${this.logs.slice(-4_000)}`, { cause: error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    this.#client?.close();
    // A socket that is reset while it is being shut down is never closed, and node waits for it at
    // its exit, for ever: so the dead server's connections are let go in peace.
    const isIdle = () => this.#proxies.every(({ connections }) => connections === 0);
    await eventually("connections end", isIdle, IDLE_DEADLINE_MS).catch(() => {});
    for (const proxy of this.#proxies) await proxy[Symbol.asyncDispose]();
    if (this.#dataDir !== "") await rm(this.#dataDir, { recursive: true, force: true });
  }

  get #flags(): readonly string[] {
    const endpoints = this.#proxies.map((proxy) => proxy.endpoint).join(",");
    return [
      `--data-dir=${this.#dataDir}`,
      `--secure-port=${this.#port}`,
      ...(endpoints === "" ? [] : [`--etcd-servers=${endpoints}`]),
      ...FLAGS,
      ...(this.#options.flags ?? []),
    ];
  }

  async #startProper(): Promise<void> {
    const etcdEndpoints = this.#proxies.map((proxy) => proxy.endpoint);
    const server = await startServer({
      dataDir: this.#dataDir,
      port: this.#port,
      ...(etcdEndpoints.length === 0 ? {} : { etcdEndpoints }),
      flags: [...FLAGS, ...(this.#options.flags ?? []), ...(this.#release.flags ?? [])],
      ...(this.#release.main !== undefined && { main: this.#release.main }),
    });
    this.#server = server;
    this.#useCredentials(server.url, server.credentials);
  }

  #useCredentials(url: string, credentials: Credentials): void {
    if (this.#client?.credentials.cert === credentials.cert) return;
    this.#client?.close();
    this.#client = new HttpsClient(url, credentials);
  }
}
