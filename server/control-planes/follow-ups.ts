/**
 * FollowUps: which control planes the process that leads the control loops looks at next, and at what pace. It looks at one
 * that it does not have in memory when something was written there, through another replica, that loops follow; and at
 * those that were in use when it begins to lead, as nobody may have followed what was written before.
 *
 *     leader    lead begins: shop, then blog          web: a namespace was written ──► loaded, its loops begin
 *     another   has shop and web in memory, and serves them; its loops wait until it leads
 *
 * One comes after the other, behind all that wait, and the loads take a bounded share of the time: a thousand that are
 * written to at once do not hold the thread.
 */
import type { Clock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import type { Naming } from "../api/naming.js";
import { saysBegun } from "./beginning.js";
import type { ControlPlaneIndex, ControlPlaneObject } from "./control-plane-index.js";
import { type ControlPlanes, isNotServed } from "./control-planes.js";
import { fleetingOf } from "./copy-content.js";
import type { Lead } from "./lead.js";

export interface FollowUpsOptions {
  readonly index: Pick<ControlPlaneIndex, "nameOf">;
  readonly planes: Pick<ControlPlanes, "open" | "loaded">;
  readonly lead: Pick<Lead, "isLeading">;
  /** Whether it has what it begins with: another replica may be making it. @throws {StorageError} */
  readonly hasBegun: (uid: string, signal: AbortSignal) => Promise<boolean>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly naming: Naming;
}

/** Time between two loads, in times of what the last one took: a fifth of the thread at most. */
const PAUSE_SHARE = 4;
const LOOK_MS = 100;
/** Who makes a control plane writes what it begins with, and nothing of that is to be followed. */
const PATIENCE_MS = 1_000;
/** When one that could not be loaded is tried once more. */
const AGAIN_MS = 10_000;
/** What was used or made within it may have been left undone: a lead is taken over much sooner. */
const RECENT_MS = 300_000;

/** What loops follow when it is written. Of all other kinds they follow only what goes. */
function followedOf({ groupDomain }: Naming): ReadonlySet<string> {
  return new Set([
    ...["core/namespaces", "core/serviceaccounts", "core/secrets", "core/resourcequotas"],
    ...["batch/jobs", `rbac.authorization.${groupDomain}/clusterroles`],
    `apiextensions.${groupDomain}/customresourcedefinitions`,
    `storagemigration.${groupDomain}/storageversionmigrations`,
    `admissionregistration.${groupDomain}/validatingadmissionpolicies`,
  ]);
}

export class FollowUps {
  readonly #options: FollowUpsOptions;
  readonly #followed: ReadonlySet<string>;
  /** Many of them end by themselves, and nothing follows. */
  readonly #passing: ReadonlySet<string>;
  /** Since when uids wait, by the monotonic clock; the first one comes next. */
  readonly #waiting = new Map<string, number>();
  #wake: (() => void) | undefined;

  constructor(options: FollowUpsOptions) {
    this.#options = options;
    this.#followed = followedOf(options.naming);
    this.#passing = fleetingOf(options.naming);
  }

  /** Something of one that is not in memory was written, or has gone. Must be quick. @param key behind its prefix */
  saw(uid: string, key: string, isDeletion: boolean): void {
    if (!this.#options.lead.isLeading) return;
    if (saysBegun(key)) this.#waiting.delete(uid);
    const partition = key.split("/", 2).join("/");
    if (isDeletion ? !this.#passing.has(partition) : this.#followed.has(partition)) this.#add(uid);
  }

  /**
   * Looks until the signal aborts, at which the lead ends. @param all that there are
   * @param ledMs when somebody led last; what was used about then, or since, may have been left undone
   */
  async run(all: readonly ControlPlaneObject[], ledMs: number, signal: AbortSignal): Promise<void> {
    const { clock, planes } = this.#options;
    for (const { entry } of planes.loaded) this.#add(entry.uid);
    for (const one of all) if (isRecent(one, ledMs)) this.#add(one.metadata.uid ?? "");
    const end = () => this.#wake?.();
    signal.addEventListener("abort", end, { once: true });
    while (!signal.aborted) {
      // A timer would wake the thread ten times a second for nothing.
      if (this.#waiting.size === 0) await this.#something();
      const sinceMs = clock.monotonic();
      const [[uid = "", waitsSinceMs] = []] = this.#waiting;
      if (waitsSinceMs !== undefined && sinceMs - waitsSinceMs >= PATIENCE_MS) {
        this.#waiting.delete(uid);
        await this.#look(uid, signal);
      }
      const tookMs = clock.monotonic() - sinceMs;
      await clock.sleep(Math.max(LOOK_MS, tookMs * PAUSE_SHARE), signal).catch(() => {});
    }
    signal.removeEventListener("abort", end);
    this.#waiting.clear();
  }

  #something(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #add(uid: string): void {
    if (this.#waiting.has(uid)) return;
    this.#waiting.set(uid, this.#options.clock.monotonic());
    this.#wake?.();
  }

  async #look(uid: string, signal: AbortSignal): Promise<void> {
    const { index, planes, clock, logger, hasBegun } = this.#options;
    const name = index.nameOf(uid);
    if (name === undefined) return;
    try {
      if (!(await hasBegun(uid, signal))) return;
      (await planes.open(name)).lookAgain();
    } catch (error) {
      logger.debug({ controlPlane: name, err: error }, "it was not loaded for its loops");
      // Of one that is suspended or going nothing is owed. A full memory, or a store that is away, passes.
      if (isNotServed(error)) return;
      clock.sleep(AGAIN_MS, signal).then(
        () => this.#add(uid),
        () => {},
      );
    }
  }
}

function isRecent({ metadata, status }: ControlPlaneObject, ledMs: number): boolean {
  const last = Date.parse(status?.lastUsedTime ?? metadata.creationTimestamp ?? "");
  return last > ledMs - RECENT_MS;
}
