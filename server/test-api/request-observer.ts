/**
 * RequestObserver: sees every request and every commit of a server of tests, and which request a commit belongs to.
 * From it come the record of requests and the answer to whether anything moves. Leases are left out of the latter:
 * whoever elects a leader renews one for ever.
 *
 *   outer        around recovery, so that it sees the client's status
 *   inner        behind authentication: a request begins
 *   middleware   around the handler: commits within it are the request's
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../../storage/base/clock.js";
import type { Operation, RevisionedStore } from "../../storage/kv/store.js";
import { KeySpace, partitionId } from "../../storage/objects/keys.js";
import { isLongRunning, type RequestInfo } from "../request/request-info.js";
import type { RequestContext, RequestMiddleware, RequestState } from "../request/request-state.js";
import { bracket, gate, passAll, type RequestStep } from "../request/step.js";
import { Activity } from "./activity.js";
import { ObservedStore } from "./observed-store.js";
import { RequestLog } from "./request-log.js";

/** What is known of a request while it runs. */
export interface ObservedRequest {
  hasChanged: boolean;
  /** Called in the turn in which a change of it is known to be stored. */
  committed: (() => void) | undefined;
  readonly end: () => void;
}

/** Questions about requests are none. */
const OWN_PATHS = /^\/debug\/(?:test-api|faults)\b/;
const USER_AGENT_CHARS_MAX = 256;
const PATH_CHARS_MAX = 512;

export class RequestObserver {
  readonly log = new RequestLog();
  readonly activity: Activity;
  readonly outer: RequestStep;
  readonly inner: RequestStep;
  readonly middleware: RequestMiddleware;
  readonly #clock: Clock;
  readonly #leaseGroup: string;
  readonly #leases: string;
  readonly #observed = new WeakMap<RequestState, ObservedRequest>();
  readonly #running = new AsyncLocalStorage<ObservedRequest>();

  /** @param prefix of all keys. @param leaseGroup the group of leases */
  constructor(clock: Clock, prefix: string, leaseGroup: string) {
    this.#clock = clock;
    this.#leaseGroup = leaseGroup;
    this.activity = new Activity(clock);
    this.#leases = new KeySpace(prefix).partitionPrefix(partitionId(leaseGroup, "leases"));
    this.inner = gate((ctx) => this.#begin(ctx));
    this.outer = bracket(passAll, (ctx, failure) => {
      this.#end(ctx);
      return failure;
    });
    this.middleware = (ctx, next) => {
      const observed = this.#observed.get(ctx.state);
      return observed === undefined ? next() : this.#running.run(observed, next);
    };
  }

  /** The request while it runs; undefined before it is authenticated. */
  of(state: RequestState): ObservedRequest | undefined {
    return this.#observed.get(state);
  }

  /** Leases are written for ever by those who elect a leader. */
  isLease({ group, resource }: { readonly group: string; readonly resource: string }): boolean {
    return group === this.#leaseGroup && resource === "leases";
  }

  /** The store as writes are to use it. */
  watch(store: RevisionedStore): RevisionedStore {
    return new ObservedStore(store, async ({ operations }, commit) => {
      const moving = operations.find(({ key }: Operation) => !key.startsWith(this.#leases));
      const end = moving === undefined ? ignore : this.activity.begin(`a write of ${moving.key}`);
      try {
        const result = await commit();
        const request = this.#running.getStore();
        if (result.succeeded && operations.length > 0 && request !== undefined) {
          request.hasChanged = true;
          request.committed?.();
        }
        return result;
      } finally {
        end();
      }
    });
  }

  #begin({ state }: RequestContext): undefined {
    const { info, user } = state;
    const isMoving = info.isResourceRequest && !this.isLease(info) && !isLongRunning(info);
    const end = isMoving ? this.activity.begin(`${describe(info)} by ${user.name}`) : ignore;
    this.#observed.set(state, { hasChanged: false, committed: undefined, end });
    return undefined;
  }

  #end(ctx: RequestContext): void {
    const { state } = ctx;
    const observed = this.#observed.get(state);
    observed?.end();
    const info = state.infoIfKnown;
    if (info === undefined || OWN_PATHS.test(info.path)) return;
    const { verb, group, version, resource, subresource, namespace, name, path } = info;
    this.log.add({
      atMs: this.#clock.now(),
      verb,
      group,
      version,
      resource,
      subresource,
      namespace,
      name: name || state.createdName,
      path: path.slice(0, PATH_CHARS_MAX),
      user: state.userIfKnown?.name ?? "",
      userAgent: (ctx.headers["user-agent"] ?? "").slice(0, USER_AGENT_CHARS_MAX),
      status: ctx.respond === false ? ctx.res.statusCode : ctx.status,
      changed: observed?.hasChanged ?? false,
    });
  }
}

function describe({ verb, resource, namespace, name }: RequestInfo): string {
  return [verb, resource, [namespace, name].filter((part) => part !== "").join("/")]
    .join(" ")
    .trimEnd();
}

function ignore(): void {}
