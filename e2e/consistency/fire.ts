/**
 * Consistency under fire: rounds of random work on a cluster with faults, each followed by calm in
 * which everybody catches up, and by the checks of what was written down. Rounds bound the memory of
 * long runs, and say early when something is wrong.
 */
import { eventually } from "../harness/eventually.js";
import { PatientClient } from "../harness/patient-client.js";
import {
  CONFIG_MAPS,
  keyOf,
  NAMESPACES,
  newWriteId,
  objectUrl,
  scopeUrl,
  toBody,
  toState,
} from "./api.js";
import { checkHistory, guaranteesOf, type Verdict } from "./check-history.js";
import { type ClientCounts, FireClient } from "./client.js";
import { type Cluster, type ClusterOptions, startCluster } from "./cluster.js";
import { Definer, FLAMES } from "./definer.js";
import { type Fault, runFaults } from "./faults.js";
import type { Guarantee, History, KeyedState, Violation } from "./history.js";
import { type Random, seededRandom } from "./random.js";
import { Recorder } from "./recorder.js";
import { FireWatcher, type WatcherCounts } from "./watcher.js";

export interface FireOptions extends ClusterOptions {
  readonly seed: number;
  /** Whose objects the work is on; the definition of the custom kind changes all the time. */
  readonly kind?: "built-in" | "custom";
  /** So many below the root, each with clients, watchers and a history of its own; absent = in the root. */
  readonly controlPlanes?: number;
  readonly durationMs: number;
  /** Work between two checks. */
  readonly roundMs: number;
  readonly faults: readonly Fault[];
  readonly clients: number;
  /** Besides one witness per replica. */
  readonly wanderers: number;
  readonly namesPerNamespace: number;
  /** Mean wait of a client between two operations. */
  readonly thinkMs: number;
  /** Ends after the first round with a violation, or with one of each of these guarantees. */
  readonly stopsAt: "any" | "none" | readonly Guarantee[];
  readonly log: (line: string) => void;
}

export interface FireReport {
  readonly seed: number;
  readonly rounds: number;
  readonly workMs: number;
  readonly checkMs: number;
  readonly client: ClientCounts;
  readonly watcher: WatcherCounts;
  readonly faults: ReadonlyMap<Fault, number>;
  /** How many definitions the kind has had; 0 of a built-in kind. */
  readonly definitions: number;
  readonly events: number;
  readonly revisionsKnown: number;
  readonly revisionsAll: number;
  readonly undecided: readonly string[];
  readonly surprises: readonly string[];
  readonly violations: readonly Violation[];
}

export async function runFire(options: FireOptions): Promise<FireReport> {
  const { controlPlanes = 0, flags = [] } = options;
  const more = controlPlanes > 0 ? ["--enable-control-planes"] : [];
  await using cluster = await startCluster({ ...options, flags: [...flags, ...more] });
  if (cluster.whyNoRooms !== undefined) options.log(`no rooms: ${cluster.whyNoRooms}`);
  if (controlPlanes === 0) return await new Fire(options, cluster).run();
  return sumOf(await runInControlPlanes(options, cluster, controlPlanes));
}

/** All work at the same time, and the faults meet them all. */
async function runInControlPlanes(options: FireOptions, cluster: Cluster, count: number) {
  const fires: Fire[] = [];
  const trouble = new SharedTrouble(count);
  for (let index = 0; index < count; index++) {
    const name = `fire-${index}`;
    const made = await cluster.replicas[0]?.client.post(CONTROL_PLANES, {
      ...{ apiVersion: "tenancy.k8s.io/v1alpha1", kind: "ControlPlane", metadata: { name } },
    });
    made?.expect(201);
    const log = (line: string) => options.log(`${name}: ${line}`);
    const own = { ...options, seed: options.seed + index, roundMs: options.durationMs, log };
    fires.push(new Fire(own, cluster, { base: `/clusters/${name}`, trouble }));
  }
  const end = (error: unknown) => {
    trouble.end(error);
    throw error;
  };
  return await Promise.all(fires.map((fire) => fire.run().catch(end)));
}

const CONTROL_PLANES = "/apis/tenancy.k8s.io/v1alpha1/controlplanes";

/** Faults of one cluster that many work on: they begin when all do. */
class SharedTrouble {
  readonly #begins = Promise.withResolvers<void>();
  #missing: number;

  constructor(count: number) {
    this.#missing = count;
    this.#begins.promise.catch(() => {});
  }

  /** One of them has failed: the others do not wait for it. */
  end(error: unknown): void {
    this.#begins.reject(error);
  }

  /** Resolves with the end of the faults. @param run runs them; the last one's counts */
  join(run: () => Promise<void>): Promise<void> {
    this.#missing--;
    if (this.#missing === 0) this.#begins.resolve(run());
    return this.#begins.promise;
  }
}

interface FirePlace {
  /** Before all paths. */
  readonly base: string;
  readonly trouble: SharedTrouble;
}

function sumOf(reports: readonly FireReport[]): FireReport {
  return reports.reduce(plus);
}

function plus(one: FireReport, other: FireReport): FireReport {
  const watcher = { ...one.watcher };
  for (const name of Object.keys(watcher) as (keyof WatcherCounts)[]) {
    watcher[name] += other.watcher[name];
  }
  return {
    ...one,
    rounds: one.rounds + other.rounds,
    checkMs: one.checkMs + other.checkMs,
    client: {
      operations: sumOfCounts(one.client.operations, other.client.operations),
      unknown: one.client.unknown + other.client.unknown,
      expiredLists: one.client.expiredLists + other.client.expiredLists,
    },
    watcher,
    faults: sumOfCounts(one.faults, other.faults),
    events: one.events + other.events,
    revisionsKnown: one.revisionsKnown + other.revisionsKnown,
    revisionsAll: one.revisionsAll + other.revisionsAll,
    undecided: [...one.undecided, ...other.undecided],
    surprises: [...new Set([...one.surprises, ...other.surprises])],
    violations: [...one.violations, ...other.violations],
  };
}

function sumOfCounts<K>(
  one: ReadonlyMap<K, number>,
  other: ReadonlyMap<K, number>,
): Map<K, number> {
  const sums = new Map(one);
  for (const [key, count] of other) sums.set(key, (sums.get(key) ?? 0) + count);
  return sums;
}

class Fire {
  readonly #place: FirePlace | undefined;
  readonly #options: FireOptions;
  readonly #cluster: Cluster;
  readonly #random: Random;
  readonly #definer: Definer | undefined;
  readonly #faults = new Map<Fault, number>();
  readonly #client: ClientCounts = { operations: new Map(), unknown: 0, expiredLists: 0 };
  readonly #watcher: WatcherCounts = {
    sessions: 0,
    resumes: 0,
    moves: 0,
    events: 0,
    bookmarks: 0,
    expired: 0,
    relists: 0,
  };

  constructor(options: FireOptions, cluster: Cluster, place?: FirePlace) {
    this.#options = options;
    this.#place = place;
    this.#cluster = cluster;
    this.#random = seededRandom(options.seed);
    if (options.kind === "custom") this.#definer = new Definer(cluster.replicas);
  }

  get #kind() {
    const kind = this.#definer === undefined ? CONFIG_MAPS : FLAMES;
    return this.#place === undefined ? kind : { ...kind, root: this.#place.base + kind.root };
  }

  async run(): Promise<FireReport> {
    const { durationMs, roundMs, log, seed, stopsAt } = this.#options;
    await this.#createNamespaces();
    await this.#definer?.create();
    const verdicts: Verdict[] = [];
    const surprises = new Set<string>();
    let workMs = 0;
    let checkMs = 0;
    while (workMs < durationMs) {
      const startedAt = performance.now();
      const ms = Math.min(roundMs, durationMs - workMs);
      const history = await this.#runRound(verdicts.length, ms);
      workMs += ms;
      const checkedAt = performance.now();
      const verdict = checkHistory(history);
      checkMs += performance.now() - checkedAt;
      verdicts.push(verdict);
      for (const surprise of history.surprises) surprises.add(surprise);
      log(roundLine(verdicts.length, history, verdict, performance.now() - startedAt));
      const found = guaranteesOf(verdict.violations);
      if (stopsAt === "any" && found.size > 0) break;
      if (Array.isArray(stopsAt) && stopsAt.every((guarantee) => found.has(guarantee))) break;
    }
    return {
      seed,
      rounds: verdicts.length,
      workMs,
      checkMs,
      client: this.#client,
      watcher: this.#watcher,
      faults: this.#faults,
      definitions: this.#definer?.definitions.length ?? 0,
      events: sum(verdicts, (verdict) => verdict.events),
      revisionsKnown: sum(verdicts, (verdict) => verdict.revisionsKnown),
      revisionsAll: sum(verdicts, (verdict) => verdict.revisionsAll),
      undecided: verdicts.flatMap((verdict) => verdict.undecided),
      surprises: [...surprises],
      violations: verdicts.flatMap((verdict) => verdict.violations),
    };
  }

  async #createNamespaces(): Promise<void> {
    const [first] = this.#cluster.replicas;
    if (first === undefined) return;
    // The last of many control planes that are loaded at once is answered to come again.
    const client = new PatientClient(first.client.url, first.client.credentials);
    for (const name of NAMESPACES) {
      const body = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
      const path = `${this.#place?.base ?? ""}/api/v1/namespaces`;
      (await client.post(path, body)).expect(201);
    }
    client.close();
  }

  async #runRound(round: number, ms: number): Promise<History> {
    const { clients, wanderers, namesPerNamespace, thinkMs, faults, log } = this.#options;
    const { replicas } = this.#cluster;
    const random = this.#random.fork(`round ${round}`);
    const base = await this.#readBase();
    const recorder = new Recorder(base, this.#definer?.definitions);
    const common = { replicas, recorder, namesPerNamespace, kind: this.#kind };

    const working = new AbortController();
    const watching = new AbortController();
    const witnesses = replicas.map((home) => {
      const name = `witness-${home.index}`;
      const witness = { home, from: base.revision };
      const counts = this.#watcher;
      return new FireWatcher({ ...common, name, counts, random: random.fork(name), witness });
    });
    const wandering = Array.from({ length: wanderers }, (_, index) => {
      const name = `watcher-${index}`;
      return new FireWatcher({ ...common, name, counts: this.#watcher, random: random.fork(name) });
    });
    const workers = Array.from({ length: clients }, (_, index) => {
      const name = `client-${index}`;
      const counts = this.#client;
      return new FireClient({ ...common, name, counts, thinkMs, random: random.fork(name) });
    });

    const watches = [...witnesses, ...wandering].map((watcher) => watcher.run(watching.signal));
    const work = workers.map((worker) => worker.run(working.signal));
    const definitions = this.#definer?.run(recorder, random.fork("definer"), working.signal);
    const onFault = (text: string) => log(`    ${text}`);
    const counted = { counts: this.#faults, onFault };
    const run = () =>
      runFaults(this.#cluster, faults, random.fork("faults"), counted, working.signal);
    const trouble = this.#place === undefined ? run() : this.#place.trouble.join(run);
    const end = setTimeout(() => working.abort(), ms);
    try {
      await Promise.all([...work, trouble]);
      for (const replica of replicas) await replica.waitUntilReady();
      await definitions;
      await this.#settle(recorder, workers[0], witnesses);
    } finally {
      clearTimeout(end);
      working.abort();
      watching.abort();
    }
    await Promise.all(watches);
    return recorder.finish();
  }

  /** One more write, which everybody must come to see, and a last look at everything everywhere. */
  async #settle(
    recorder: Recorder,
    worker: FireClient | undefined,
    witnesses: readonly FireWatcher[],
  ): Promise<void> {
    const key = keyOf(NAMESPACES[0], `end-${newWriteId()}`);
    const w = newWriteId();
    const content = { w, v: w, p: "", color: "red" };
    await eventually("a write is possible again", async () => {
      const [replica] = this.#cluster.replicas;
      if (replica === undefined) return false;
      const [namespace = ""] = key.split("/");
      const invocation = recorder.invoke("settle", replica.index);
      const url = scopeUrl(this.#kind, { namespace }, {});
      const answer = await replica.client.post(url, toBody(this.#kind, key, content, undefined));
      if (answer.status !== 201) return false;
      const state = toState(this.#kind, answer.object);
      if (state === undefined) return false;
      const call = { kind: "create", content } as const;
      recorder.operation(invocation, { key, call, outcome: { type: "ok", state } });
      return true;
    });
    const target = recorder.newest;
    for (const [index, witness] of witnesses.entries()) {
      await eventually(
        `witness ${index} sees revision ${target}`,
        () => witness.position >= target,
      );
    }
    for (const replica of this.#cluster.replicas) {
      await worker?.list({}, { version: "", match: "", limit: 0 }, replica);
    }
    // Not part of the next round.
    await this.#cluster.replicas[0]?.client.delete(objectUrl(this.#kind, key));
  }

  async #readBase(): Promise<{ readonly revision: number; readonly states: KeyedState[] }> {
    const [replica] = this.#cluster.replicas;
    const answer = await replica?.client.get(scopeUrl(this.#kind, {}, {}));
    answer?.expect(200);
    return {
      revision: Number(answer?.object.metadata.resourceVersion),
      states: (answer?.items ?? []).flatMap((item) => toState(this.#kind, item) ?? []),
    };
  }
}

function roundLine(round: number, history: History, verdict: Verdict, ms: number): string {
  const { operations, lists, sessions } = history;
  return [
    `round ${round}: ${operations.length} operations, ${lists.length} lists,`,
    `${sessions.length} watches, ${verdict.events} events,`,
    `${verdict.violations.length} violations (${(ms / 1000).toFixed(1)} s)`,
  ].join(" ");
}

function sum<T>(things: readonly T[], of: (thing: T) => number): number {
  return things.reduce((total, thing) => total + of(thing), 0);
}
