/**
 * The scene of the attacks: a server, an attacker with the role "edit" in one namespace, definitions and objects that
 * an administrator made beforehand, and the bystander. One attack after the other; what each did to the bystander and
 * to the server's memory is measured.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { shippedNodeFlags } from "../harness/command.js";
import { HttpsClient } from "../harness/https-client.js";
import { PatientClient } from "../harness/patient-client.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { openStore, type StoreForTest, type StoreName } from "../harness/stores.js";
import { type Attack, Attacker } from "./attack.js";
import type { BystanderMark, BystanderPlace } from "./bystander.js";
import { furnish, type Tokens } from "./furnish.js";

/** An attack that takes longer is broken off. */
const ATTACK_MS_MAX = 30_000;
/** How long the bystander goes on behind an attack: some work follows the answers. */
const SETTLE_MS = 400;
/** Memory may come back for so long. */
const CALM_MS = 4_000;
const SAMPLE_MS = 50;

export interface Outcome {
  readonly name: string;
  readonly longestMs: number;
  readonly longestWorkMs: number;
  readonly ownLatenessMs: number;
  readonly failed: number;
  readonly why: string;
  readonly statuses: readonly (readonly [status: number, count: number])[];
  readonly refusalBytes: number;
  readonly tookMs: number;
  /** Growth of resident memory at its highest, and some seconds later, in MiB. */
  readonly grownMiB: number;
  readonly keptMiB: number;
  readonly hasEnded: boolean;
  /** Bodies were to be read, and all were refused by their type of media. */
  readonly wasUnread: boolean;
}

export class Scene implements AsyncDisposable {
  readonly #store: StoreForTest;
  readonly #options: SceneOptions;
  #server: ServerProcess;
  #bystander: ChildProcess;
  #token: string;

  private constructor(store: StoreForTest, options: SceneOptions, stage: Stage) {
    this.#store = store;
    this.#options = options;
    this.#server = stage.server;
    this.#bystander = stage.bystander;
    this.#token = stage.token;
  }

  static async open(name: StoreName, options: SceneOptions = {}): Promise<Scene> {
    const store = await openStore(name);
    return new Scene(store, options, await setStage(store, options));
  }

  /** Speaks to the server as the administrator. */
  get admin(): HttpsClient {
    return this.#server.client;
  }

  /** Runs the attack. A server that ended by it is replaced by a new one. */
  async attack(attack: Attack): Promise<Outcome> {
    const { url, credentials, pid } = this.#server;
    const base = this.#options.isInControlPlane === true ? CONTROL_PLANES.attacker : "";
    const client = new HttpsClient(url + base, { ca: credentials.ca });
    const attacker = new Attacker(client, this.#token, AbortSignal.timeout(ATTACK_MS_MAX));
    await this.#mark();
    const before = residentMiB(pid);
    let highest = before;
    const sampling = setInterval(() => {
      highest = Math.max(highest, residentMiB(pid));
    }, SAMPLE_MS);
    const startedMs = performance.now();
    await attack.run(attacker);
    const tookMs = performance.now() - startedMs;
    client.close();
    await sleep(SETTLE_MS);
    const mark = await this.#mark();
    clearInterval(sampling);
    const hasEnded = this.#server.hasEnded;
    if (highest - before > 64) await sleep(CALM_MS);
    const keptMiB = hasEnded ? 0 : residentMiB(pid) - before;
    if (hasEnded) await this.#replace();
    const { statuses, refusalBytes } = attacker.received;
    const areUnread = statuses.size > 0 && [...statuses.keys()].every((status) => status === 415);
    return {
      ...mark,
      name: attack.name,
      statuses: [...statuses].sort(([a], [b]) => a - b),
      refusalBytes,
      tookMs,
      grownMiB: highest - before,
      keptMiB,
      hasEnded,
      wasUnread: areUnread && attack.isUnread !== true,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#bystander.kill();
    // Node writes a profile when the process ends by itself.
    if (this.#options.profileFolder !== undefined) await this.#server.stop();
    await this.#server[Symbol.asyncDispose]();
    await this.#store[Symbol.asyncDispose]();
  }

  async #replace(): Promise<void> {
    this.#bystander.kill();
    await this.#server[Symbol.asyncDispose]();
    const stage = await setStage(this.#store, this.#options);
    this.#server = stage.server;
    this.#bystander = stage.bystander;
    this.#token = stage.token;
  }

  async #mark(): Promise<BystanderMark> {
    const answer = once(this.#bystander, "message");
    this.#bystander.send("mark");
    const [mark] = (await answer) as [BystanderMark];
    return mark;
  }
}

export interface SceneOptions {
  /** The main.js of another build. */
  readonly main?: string;
  /** The attacker is in a control plane below the root, and the bystander in another one. */
  readonly isInControlPlane?: boolean;
  /** CPU profiles of the servers are written there. */
  readonly profileFolder?: string;
}

const CONTROL_PLANES = { attacker: "/clusters/red", bystander: "/clusters/blue" };

interface Stage {
  readonly server: ServerProcess;
  readonly bystander: ChildProcess;
  readonly token: string;
}

async function setStage(store: StoreForTest, options: SceneOptions): Promise<Stage> {
  const { isInControlPlane = false, profileFolder, ...ofServer } = options;
  // Bodies of every encoding are read, those in CBOR too.
  const flags = ["--feature-gates=CBORServingAndStorage=true"];
  if (isInControlPlane) flags.push("--enable-control-planes");
  const profile =
    profileFolder === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileFolder}`];
  const nodeFlags = [...shippedNodeFlags(options.main), ...profile];
  const server = await startServer({ ...store.etcd, ...ofServer, flags, nodeFlags });
  try {
    return await furnishStage(server, isInControlPlane);
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
}

async function furnishStage(server: ServerProcess, isInControlPlane: boolean): Promise<Stage> {
  const tokens = isInControlPlane
    ? await furnishControlPlanes(server)
    : await furnish(server.client);
  const place: BystanderPlace = {
    url: server.url + (isInControlPlane ? CONTROL_PLANES.bystander : ""),
    path: "/api/v1/namespaces/blue/configmaps/small",
    token: tokens.bystander,
    pid: server.pid,
    caFile: join(server.dataDir, "bystander-ca.crt"),
  };
  await writeFile(place.caFile, server.credentials.ca);
  const program = fileURLToPath(new URL("./bystander.js", import.meta.url));
  const bystander = fork(program, [JSON.stringify(place)]);
  await once(bystander, "message");
  // The first requests of a process pay for its connections and for what is compiled then.
  await sleep(1_000);
  return { server, bystander, token: tokens.attacker };
}

/** Both are furnished, as nobody knows the other's names. */
async function furnishControlPlanes({ url, client, credentials }: ServerProcess): Promise<Tokens> {
  const tokensIn = async (base: string): Promise<Tokens> => {
    const metadata = { name: base.slice(base.lastIndexOf("/") + 1) };
    const body = { apiVersion: "tenancy.k8s.io/v1alpha1", kind: "ControlPlane", metadata };
    const made = await client.post("/apis/tenancy.k8s.io/v1alpha1/controlplanes", body);
    if (made.status !== 409) made.expect(201);
    // The first one of a process is made object by object, which may take longer than a request waits.
    const inside = new PatientClient(url + base, credentials);
    const tokens = await furnish(inside);
    inside.close();
    return tokens;
  };
  const { attacker } = await tokensIn(CONTROL_PLANES.attacker);
  const { bystander } = await tokensIn(CONTROL_PLANES.bystander);
  return { attacker, bystander };
}

/** Resident memory of a process of Linux; 0 when it is gone. */
function residentMiB(pid: number): number {
  try {
    const found = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    return Math.round(Number(found?.[1] ?? 0) / 1024);
  } catch {
    return 0;
  }
}
