/**
 * runKeyedLoop: the form of all loops of the simulation. Changes of watched objects name keys; each key is looked at
 * with what is stored by then, again when its time has come, and again after a failure.
 */
import type { Clock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import type { Naming } from "../api/naming.js";
import { isLostRace } from "../controllers/lost-race.js";
import type { ControlledResource, ObjectKey, ObjectsApi } from "../controllers/objects-api.js";
import { WorkQueue } from "../controllers/work-queue.js";
import type { PodWrites } from "./pod-writes.js";
import type { SimulationSettings } from "./settings.js";

/** What all loops of the simulation share. */
export interface Simulation {
  readonly objects: ObjectsApi;
  readonly podWrites: PodWrites;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly settings: SimulationSettings;
  /** Tells whoever waits for rest that something is under way. @returns its end */
  readonly begin: (what: string) => () => void;
}

export interface KeyedLoop {
  /** For logs. */
  readonly name: string;
  /** One after the other, where one decides by what the one before did. Default false. */
  readonly isSerial?: boolean;
  readonly watches: readonly {
    readonly resource: ControlledResource;
    /** The keys to look at after a change of this object, or after its end. */
    readonly keysOf: (key: ObjectKey) => Iterable<string>;
  }[];
  /**
   * Makes one thing right. What it reads has every write that was acknowledged before the call.
   * @returns when to look again at the latest, in milliseconds; undefined = at the next change
   */
  readonly sync: (key: ObjectKey, signal: AbortSignal) => Promise<number | undefined>;
}

/** Keys at the same time: each waits for the store most of the time. */
const CONCURRENCY = 4;
/** Timers that end early must not spin. */
const AGAIN_MS_MIN = 1;

/** Runs until the signal aborts. */
export async function runKeyedLoop(
  simulation: Simulation,
  { name, isSerial = false, watches, sync }: KeyedLoop,
  signal: AbortSignal,
): Promise<void> {
  const { objects, clock, logger } = simulation;
  const queue = new WorkQueue(clock);
  const underWay = new UnderWay(simulation, name);
  const watching = watches.map(({ resource, keysOf }) =>
    objects.watch(
      resource,
      (key) => {
        for (const found of keysOf(key)) {
          underWay.changed(found);
          queue.add(found);
        }
      },
      signal,
    ),
  );
  const working = queue.run(
    async (key) => {
      const changes = underWay.changesOf(key);
      try {
        await objects.refresh();
        const againMs = await sync(keyFrom(key), signal);
        queue.forget(key);
        underWay.looked(key, changes);
        if (againMs !== undefined) queue.add(key, Math.max(AGAIN_MS_MIN, againMs));
      } catch (error) {
        if (signal.aborted) return;
        if (!isLostRace(error)) {
          logger.info({ loop: name, key, err: error }, "the simulation tries again");
        }
        queue.retry(key);
        underWay.failed(key);
      }
    },
    signal,
    isSerial ? 1 : CONCURRENCY,
  );
  await Promise.all([...watching, working]);
  underWay.endAll();
}

/** What is tried again soon is under way: an account or a class that comes a little later than what needs it. */
const TRIES_UNDER_WAY = 5;

/** The keys that are to be looked at now, and those whose look failed lately. */
class UnderWay {
  readonly #begin: Simulation["begin"];
  readonly #loop: string;
  readonly #known = new Map<string, { changes: number; failures: number; end: () => void }>();

  constructor({ begin }: Simulation, loop: string) {
    this.#begin = begin;
    this.#loop = loop;
  }

  changed(key: string): void {
    const known = this.#known.get(key);
    if (known !== undefined) known.changes++;
    else {
      const end = once(this.#begin(`the simulation of ${this.#loop}: ${key}`));
      this.#known.set(key, { changes: 1, failures: 0, end });
    }
  }

  /** What `looked` is to be told after it. */
  changesOf(key: string): number {
    return this.#known.get(key)?.changes ?? 0;
  }

  /** It was looked at as it was after so many changes. */
  looked(key: string, changes: number): void {
    const known = this.#known.get(key);
    if (known === undefined || known.changes !== changes) return;
    this.#known.delete(key);
    known.end();
  }

  failed(key: string): void {
    if (!this.#known.has(key)) this.changed(key);
    const known = this.#known.get(key);
    if (known !== undefined && ++known.failures > TRIES_UNDER_WAY) known.end();
  }

  endAll(): void {
    for (const { end } of this.#known.values()) end();
    this.#known.clear();
  }
}

function once(run: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) run();
    isDone = true;
  };
}

export function textOf({ namespace, name }: ObjectKey): string {
  return `${namespace}/${name}`;
}

export function keyFrom(text: string): ObjectKey {
  const slash = text.indexOf("/");
  return { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}
