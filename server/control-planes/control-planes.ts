/**
 * ControlPlanes: which control planes are loaded in this process, and the way of requests to them.
 *
 *     /clusters/shop/api/v1/pods ──► "shop": the index says its uid ──► loaded? ──► its own chain, as /api/v1/pods
 *                                                                      └─ no: loaded now, from its prefix of the store
 *
 * One is loaded by its first request and let go when it was idle for a while, when it is suspended, and when it is
 * deleted. The name is taken off once, here; nothing behind it asks which control plane a request is for.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../storage/base/clock.js";
import { isOverWithin } from "../../storage/base/is-over-within.js";
import type { Logger } from "../../storage/base/logger.js";
import type { GroupResource } from "../api/names.js";
import {
  forbidden,
  internalError,
  notFound,
  StatusError,
  serviceUnavailable,
} from "../api/status.js";
import { storageFailure } from "../api/storage-failure.js";
import type { TokenIssuer } from "../authn/service-account/token-issuer.js";
import { isUnreachable } from "../chain/status-response.js";
import type { RequestListener } from "../http/request-listener.js";
import type { Registry } from "../registry/registry.js";
import type { ControlPlaneEntry, ControlPlaneIndex } from "./control-plane-index.js";
import type { ControlPlaneSize } from "./limit-guard.js";
import { LoadQueue } from "./load-queue.js";
import { nameIn } from "./names-in-requests.js";
import { refuseRequest } from "./refuse-request.js";
import type { Usage } from "./usage.js";

/** One that is loaded. */
export interface LoadedControlPlane {
  readonly entry: ControlPlaneEntry;
  readonly handle: RequestListener;
  readonly usage: Usage;
  readonly registry: Registry;
  /** Of tokens of its service accounts. */
  readonly issuer: TokenIssuer;
  size(): ControlPlaneSize;
  /** Whether it has work that waits for a time to come: then it stays. */
  owesWork(): boolean;
  /** Its loops look at everything once more, when it is this process's turn. */
  lookAgain(): void;
  /** Whether its loops rest. */
  isResting(): boolean;
  /** For its watches, several times a second. */
  tick(): void;
  /** Ends its watches, and each one that is opened later. */
  endAll(): void;
  /** Ends its watches, waits for its requests, and frees what it has. */
  close(): Promise<void>;
}

export interface ControlPlanesOptions {
  readonly index: ControlPlaneIndex;
  /** The kind, for refusals. */
  readonly resource: GroupResource;
  /** Answers requests to those that are not served. */
  readonly refuse: RequestListener;
  /** Whether a request has anything that says who sends it. */
  readonly hasCredential: (request: IncomingMessage) => boolean;
  /** Whether a request has a token of one that is suspended. @throws {Error} its key cannot be read */
  readonly hasTokenOf: (entry: ControlPlaneEntry, request: IncomingMessage) => Promise<boolean>;
  /** Loads one. @throws {Error} it cannot be loaded now */
  readonly load: (entry: ControlPlaneEntry, signal: AbortSignal) => Promise<LoadedControlPlane>;
  /** Resolves when the root's view has everything that was acknowledged before the call. @throws {StorageError} */
  readonly fresh: () => Promise<unknown>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long one stays without requests. */
  readonly idleMs: number;
  /** How many are in memory at a time. */
  readonly loadedMax: number;
}

/** Counted here, read by the metrics endpoint. */
export interface ControlPlaneCounts {
  loads: number;
  failedLoads: number;
  unloads: number;
  /** Requests with credentials to names that are not served. */
  misses: number;
}

interface Slot {
  readonly uid: string;
  readonly loading: Promise<LoadedControlPlane>;
  loaded: LoadedControlPlane | undefined;
}

/** How often the idle are looked for, as a share of what idle means. */
const LOOK_SHARE = 4;
const LOOK_MS_MIN = 100;
/** A load that takes longer is given up; the next request begins another one. */
const LOAD_MS_MAX = 20_000;
/** A request that waits longer for a load, and for the loads before it, is refused; the load goes on. */
const WAIT_MS_MAX = 20_000;
/** Errors with this code or a higher one may pass. */
const HTTP_PASSING_MIN = 409;

export class ControlPlanes {
  readonly counts: ControlPlaneCounts = { loads: 0, failedLoads: 0, unloads: 0, misses: 0 };
  readonly #options: ControlPlanesOptions;
  readonly #slots = new Map<string, Slot>();
  readonly #queue = new LoadQueue();
  #isEnding = false;
  readonly #refusals = new WeakMap<IncomingMessage, StatusError>();
  /** Of users of the control plane itself, by the headers of their requests. */
  readonly #refusalsOfUsers = new WeakMap<IncomingHttpHeaders, StatusError>();
  /** Those that are on their way out; a name is loaded again only behind it. */
  readonly #closing = new Map<string, Promise<void>>();

  constructor(options: ControlPlanesOptions) {
    this.#options = options;
    options.index.subscribe((name) => this.#changed(name));
  }

  /** Those that are loaded now. */
  get loaded(): readonly LoadedControlPlane[] {
    return [...this.#slots.values()].flatMap(({ loaded }) =>
      loaded === undefined ? [] : [loaded],
    );
  }

  /** How many are being loaded, or wait for that. */
  get loading(): number {
    return this.#slots.size - this.loaded.length;
  }

  /** Requests that are not long-running, and loads. */
  requestsUnderWay(): number {
    let count = 0;
    for (const { loaded } of this.#slots.values()) count += loaded?.usage.requests ?? 1;
    return count;
  }

  /**
   * A name that is not served is answered like one that is served and refuses the client: whether it exists is told to
   * whoever may ask the root. @param request its path begins with CONTROL_PLANES_PATH
   */
  answer(request: IncomingMessage, response: ServerResponse): void {
    const name = nameIn(request.url ?? "");
    const slot = this.#slots.get(name);
    if (slot?.loaded !== undefined) {
      slot.loaded.handle(request, response);
      return;
    }
    this.#open(name, request).then(
      (found) => (found?.handle ?? this.#options.refuse)(request, response),
      (error: unknown) => refuseRequest(response, this.#toStatusError(name, error)),
    );
  }

  /** Why a request that `refuse` answers is refused, for those who may know; undefined = nobody was asked. */
  refusalOf(request: IncomingMessage): StatusError | undefined {
    return this.#refusals.get(request);
  }

  /** Why a request is refused whose token is one of the control plane's; undefined = it has none. */
  refusalOfUser(headers: IncomingHttpHeaders): StatusError | undefined {
    return this.#refusalsOfUsers.get(headers);
  }

  /** Undefined = it is not served, or not to this client. @throws {Error} it cannot be loaded now */
  async #open(name: string, request: IncomingMessage): Promise<LoadedControlPlane | undefined> {
    // Nobody is anonymous below the root: nothing is loaded for such a request, and the store is not asked.
    if (!this.#options.hasCredential(request)) return undefined;
    try {
      return await this.open(name);
    } catch (error) {
      if (!isNotServed(error)) throw error;
      this.counts.misses++;
      this.#refusals.set(request, error);
      const entry = this.#options.index.find(name);
      const isSuspended = entry?.isSuspended === true && !entry.isEnding;
      if (isSuspended && (await this.#options.hasTokenOf(entry, request))) {
        this.#refusalsOfUsers.set(request.headers, error);
      }
      return undefined;
    }
  }

  /** Loads it if it is not loaded. @throws {StatusError} 403, 404, 503; {Error} it cannot be loaded */
  async open(name: string): Promise<LoadedControlPlane> {
    const { index, fresh } = this.#options;
    // One that was made, or let go on, through another replica a moment ago. Who asks meanwhile shares the question.
    if (refusalOf(index.find(name)) !== undefined) await fresh();
    for (;;) {
      // While it closes it may be suspended, or deleted and made again.
      const entry = this.#find(name);
      const slot = this.#slots.get(name);
      const closing = this.#closing.get(name);
      if (slot !== undefined || closing === undefined) {
        return await this.#loaded(name, slot ?? this.#load(entry));
      }
      await closing;
    }
  }

  /** Opens it, and holds it in memory while `work` goes on. @throws {StatusError} it cannot be opened; as `work` */
  async use<T>(name: string, work: (plane: LoadedControlPlane) => Promise<T>): Promise<T> {
    const plane = await this.open(name).catch((error: unknown) => {
      throw this.#toStatusError(name, error);
    });
    return await plane.usage.during(() => work(plane));
  }

  /**
   * Opens a control plane that the load of another one needs. Clients of that one learn nothing of it: why it can never be
   * opened is told in the root alone. @throws {StatusError} 403, 404, 503; {Error} it cannot be loaded
   */
  async openForLoad(name: string): Promise<LoadedControlPlane> {
    try {
      return await this.#queue.aside(() => this.open(name));
    } catch (error) {
      if (!(error instanceof StatusError) || isNotServed(error)) throw error;
      throw serviceUnavailable("what the control plane is a copy of takes long to load");
    }
  }

  /** @throws {StatusError} 503: it takes too long; 403, 404: it is not served any more */
  async #loaded(name: string, slot: Slot): Promise<LoadedControlPlane> {
    if (slot.loaded !== undefined) return slot.loaded;
    if (await isOverWithin(slot.loading, WAIT_MS_MAX, this.#options.clock)) {
      const loaded = await slot.loading;
      if (this.#slots.get(name) === slot) return loaded;
      // It was let go meanwhile.
      this.#find(name);
    }
    throw takesLong(name);
  }

  /** Lets the idle go, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, idleMs } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(Math.max(idleMs / LOOK_SHARE, LOOK_MS_MIN), signal);
      const before = clock.now() - idleMs;
      for (const { entry, usage, owesWork } of this.loaded) {
        if (!usage.isIdle || usage.lastUsedMs > before || owesWork()) continue;
        void this.unload(entry.name);
      }
    }
  }

  /** Lets it go, if it is loaded. Resolves when nothing of it is left in memory. */
  async unload(name: string): Promise<void> {
    const slot = this.#slots.get(name);
    if (slot === undefined) return await this.#closing.get(name);
    this.#slots.delete(name);
    this.counts.unloads++;
    const closing = slot.loading
      // `#load` has logged why a load failed.
      .then(
        (loaded) => loaded.close(),
        () => {},
      )
      .catch((error: unknown) => {
        this.#options.logger.error(
          { controlPlane: name, err: error },
          "it was not closed in order",
        );
      })
      .finally(() => this.#closing.delete(name));
    this.#closing.set(name, closing);
    await closing;
  }

  /** Ends the watches of one control plane after another over that time, and each watch that is opened later. */
  async endAllOver(durationMs: number, signal: AbortSignal): Promise<void> {
    const { loaded } = this;
    for (const plane of loaded) {
      plane.endAll();
      if (durationMs > 0) await this.#options.clock.sleep(durationMs / loaded.length, signal);
    }
    this.endAll();
  }

  /** Ends the watches of all control planes, and each one that is opened later. */
  endAll(): void {
    this.#isEnding = true;
    for (const plane of this.loaded) plane.endAll();
  }

  /** Lets all go. */
  async close(): Promise<void> {
    await Promise.all([...this.#slots.keys()].map((name) => this.unload(name)));
    await Promise.all(this.#closing.values());
  }

  /** @throws {StatusError} 403, 404: it is not served */
  #find(name: string): ControlPlaneEntry {
    const { index, resource } = this.#options;
    const entry = index.find(name);
    const why = refusalOf(entry);
    if (entry === undefined) throw notFound(resource, name);
    if (why !== undefined) throw forbidden(resource, name, why);
    return entry;
  }

  /** @throws {StatusError} 503: there is no room */
  #load(entry: ControlPlaneEntry): Slot {
    const { name, uid } = entry;
    this.#makeRoom();
    this.counts.loads++;
    const loading = this.#queue.run(async () => {
      // It was unloaded while it waited for its turn.
      if (this.#slots.get(name) !== slot) throw takesLong(name);
      return await this.#options.load(entry, AbortSignal.timeout(LOAD_MS_MAX));
    });
    const slot: Slot = { uid, loading, loaded: undefined };
    this.#slots.set(name, slot);
    loading.then(
      (loaded) => {
        slot.loaded = loaded;
        if (this.#isEnding) loaded.endAll();
      },
      (error: unknown) => {
        this.counts.failedLoads++;
        if (this.#slots.get(name) !== slot) return;
        this.#options.logger.error({ controlPlane: name, err: error }, "it cannot be loaded");
        this.#slots.delete(name);
      },
    );
    return slot;
  }

  /**
   * Beyond the bound one comes in the place of the one that was unused for longest: whoever knows names could fill
   * the memory otherwise, also without a login. @throws {StatusError} 503
   */
  #makeRoom(): void {
    const { loadedMax } = this.#options;
    if (this.#slots.size < loadedMax) return;
    let unused: LoadedControlPlane | undefined;
    for (const one of this.loaded) {
      const isOlder = one.usage.lastUsedMs < (unused?.usage.lastUsedMs ?? Number.POSITIVE_INFINITY);
      if (one.usage.isIdle && isOlder) unused = one;
    }
    if (unused === undefined) {
      throw serviceUnavailable(`this replica has ${loadedMax} control planes in use, its limit`);
    }
    void this.unload(unused.entry.name);
  }

  #changed(name: string): void {
    const slot = this.#slots.get(name);
    if (slot === undefined) return;
    const entry = this.#options.index.find(name);
    if (entry?.uid === slot.uid && refusalOf(entry) === undefined) return;
    void this.unload(name);
  }

  #toStatusError(name: string, error: unknown): StatusError {
    if (error instanceof StatusError) return error;
    if (isUnreachable(error)) return storageFailure(error);
    // Of `LOAD_MS_MAX`.
    if (error instanceof DOMException && error.name === "TimeoutError") {
      return takesLong(name);
    }
    return internalError(`the control plane ${JSON.stringify(name)} cannot be loaded now`, error);
  }
}

function takesLong(name: string): StatusError {
  return serviceUnavailable(`the control plane ${JSON.stringify(name)} takes long to load`);
}

/** Whether an error of `open` says that it is not served, and not just now. */
export function isNotServed(error: unknown): error is StatusError {
  return error instanceof StatusError && error.code < HTTP_PASSING_MIN;
}

/** @returns why it is not served; undefined = it is */
export function refusalOf(entry: ControlPlaneEntry | undefined): string | undefined {
  if (entry === undefined) return "it does not exist";
  if (entry.isEnding) return "the control plane is being deleted";
  return entry.isSuspended ? "the control plane is suspended" : undefined;
}
