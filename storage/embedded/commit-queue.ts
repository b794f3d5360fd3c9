/**
 * CommitQueue: the only writer of an embedded store. Writers queue tasks; while one group of tasks
 * is on its way to the disk the next ones gather, so many commits share one flush and each is
 * acknowledged only after it. Tasks are planned in the order of their arrival.
 *
 * A task is a transaction, or an exclusive one (compaction, leases) that is planned alone.
 */
import { nextTurn } from "../base/next-turn.js";
import { StorageError } from "../kv/errors.js";
import type { CommitResult } from "../kv/store.js";
import type { StoreDatabase } from "./database.js";
import { GroupPlan, type PreparedTransaction, type RevisionEvents } from "./group-plan.js";
import type { StoreSpace } from "./store-space.js";

/** Beyond it writers are told to retry: at 1 KiB each it is 64 MiB of values in memory. */
const QUEUED_TASKS_MAX = 65_536;
const QUEUED_BYTES_MAX = 256 * 1024 * 1024;
/** Bounds of one group, so that planning takes a few milliseconds at most. */
const GROUP_TASKS_MAX = 512;
const GROUP_BYTES_MAX = 8 * 1024 * 1024;

interface Task {
  readonly bytes: number;
  readonly isExclusive: boolean;
  /** It is let through where room is short. */
  readonly makesRoom: boolean;
  readonly signal: AbortSignal;
  /**
   * Adds to the plan; returns a function that acknowledges the task once the plan is on the disk.
   */
  readonly plan: (plan: GroupPlan) => () => void;
  readonly reject: (reason: unknown) => void;
}

export interface CommitQueueOptions {
  readonly database: StoreDatabase;
  readonly space: StoreSpace;
  readonly isLeaseAlive: (lease: number) => boolean;
  /** Called for every group that is on the disk, before it is acknowledged. */
  readonly publish: (revisions: readonly RevisionEvents[]) => void;
  /** Called when a group failed and the disk's state is unknown. */
  readonly publishUnknown: (reason: unknown) => void;
}

export class CommitQueue {
  readonly #options: CommitQueueOptions;
  #queued: Task[] = [];
  #queuedBytes = 0;
  /** One listener per signal, however many tasks share it. */
  readonly #tasksBySignal = new Map<AbortSignal, { tasks: Set<Task>; onAbort: () => void }>();
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: CommitQueueOptions) {
    this.#options = options;
  }

  /** Commits a transaction. @throws {StorageError} NoSpace, Unavailable, Refused, Closed */
  async commit(transaction: PreparedTransaction, signal: AbortSignal): Promise<CommitResult> {
    const { bytes, makesRoom } = transaction;
    const refusal = makesRoom ? undefined : this.#options.space.refusal(bytes);
    if (refusal !== undefined) throw refusal;
    const kind = { bytes, makesRoom, isExclusive: false };
    return await this.#submit(kind, signal, (plan) => plan.add(transaction));
  }

  /** Runs `run` with a plan of its own; its writes are on the disk when this resolves. */
  async exclusively<T>(run: (plan: GroupPlan) => T, signal: AbortSignal): Promise<T> {
    return await this.#submit({ bytes: 0, makesRoom: true, isExclusive: true }, signal, run);
  }

  #submit<T>(
    kind: Pick<Task, "bytes" | "makesRoom" | "isExclusive">,
    signal: AbortSignal,
    run: (plan: GroupPlan) => T,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#isClosed) return reject(closed());
      if (signal.aborted) return reject(signal.reason);
      if (this.#queued.length >= QUEUED_TASKS_MAX || this.#queuedBytes >= QUEUED_BYTES_MAX) {
        return reject(new StorageError("Unavailable", "too many writes are waiting for the disk"));
      }
      const task: Task = {
        ...kind,
        signal,
        plan: (plan) => {
          const result = run(plan);
          return () => resolve(result);
        },
        reject,
      };
      this.#queued.push(task);
      this.#queuedBytes += kind.bytes;
      this.#watchSignal(task);
      this.#running ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    // Requests that arrived in the same turn of the event loop join the first group.
    await nextTurn();
    while (this.#queued.length > 0) await this.#runGroup(this.#takeGroup());
    this.#running = undefined;
  }

  #takeGroup(): Task[] {
    let bytes = 0;
    let count = 0;
    for (const task of this.#queued) {
      if (count > 0 && (task.isExclusive || bytes >= GROUP_BYTES_MAX)) break;
      bytes += task.bytes;
      count++;
      if (task.isExclusive || count >= GROUP_TASKS_MAX) break;
    }
    const group = this.#queued.slice(0, count);
    this.#queued = this.#queued.slice(count);
    this.#queuedBytes -= bytes;
    return group;
  }

  async #runGroup(group: readonly Task[]): Promise<void> {
    const { space, publishUnknown } = this.#options;
    try {
      let failure = await this.#attempt(group);
      if (failure?.code !== "NoSpace") return;
      space.noteDiskFull();
      const rest = group.filter((task) => task.makesRoom);
      for (const task of group) if (!task.makesRoom) task.reject(failure);
      if (rest.length === 0) return;
      if (rest.length < group.length) failure = await this.#attempt(rest);
      if (failure?.code === "NoSpace" && space.giveUpReserve()) failure = await this.#attempt(rest);
      if (failure !== undefined) for (const task of rest) task.reject(failure);
    } catch (error) {
      publishUnknown(error);
      for (const task of group) task.reject(error);
    } finally {
      for (const task of group) this.#unwatchSignal(task);
    }
  }

  /**
   * Plans and writes a group. @returns that the disk is full, in which case nothing was written and nobody has
   * been told @throws {StorageError} what the disk or lmdb says otherwise
   */
  async #attempt(group: readonly Task[]): Promise<StorageError | undefined> {
    const { database, space, isLeaseAlive, publish } = this.#options;
    const planned: { task: Task; acknowledge: () => void }[] = [];
    const plan = new GroupPlan(database, isLeaseAlive);
    for (const task of group) {
      // Its promise has already been rejected, and nothing of it has been written.
      if (task.signal.aborted) continue;
      try {
        planned.push({ task, acknowledge: task.plan(plan) });
      } catch (error) {
        task.reject(error);
      }
    }
    try {
      if (!plan.isEmpty) await plan.apply(() => space.isDiskFull());
    } catch (error) {
      if (error instanceof StorageError && error.code === "NoSpace") return error;
      throw error;
    }
    if (!plan.isEmpty) noteWritten(space, group);
    publish(plan.revisions);
    for (const { acknowledge } of planned) acknowledge();
    return undefined;
  }

  /** An abort ends the wait at once; a task that is already in a group may still be committed. */
  #watchSignal(task: Task): void {
    let entry = this.#tasksBySignal.get(task.signal);
    if (entry === undefined) {
      const tasks = new Set<Task>();
      const onAbort = () => {
        for (const waiting of tasks) waiting.reject(waiting.signal.reason);
      };
      entry = { tasks, onAbort };
      this.#tasksBySignal.set(task.signal, entry);
      task.signal.addEventListener("abort", onAbort, { once: true });
    }
    entry.tasks.add(task);
  }

  #unwatchSignal(task: Task): void {
    const entry = this.#tasksBySignal.get(task.signal);
    if (entry === undefined) return;
    entry.tasks.delete(task);
    if (entry.tasks.size > 0) return;
    this.#tasksBySignal.delete(task.signal);
    task.signal.removeEventListener("abort", entry.onAbort);
  }

  /** Refuses tasks that have not begun, and waits for the group under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const task of this.#queued) {
      task.reject(closed());
      this.#unwatchSignal(task);
    }
    this.#queued = [];
    await this.#running;
  }
}

function noteWritten(space: StoreSpace, group: readonly Task[]): void {
  let bytes = 0;
  let makesRoom = true;
  for (const task of group) {
    bytes += task.bytes;
    makesRoom &&= task.makesRoom;
  }
  space.noteWritten(bytes, makesRoom);
}

export function closed(): StorageError {
  return new StorageError("Closed", "the embedded store is closed");
}
