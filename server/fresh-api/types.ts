/** What callers of `startKeelson` give and get. These types are part of the package. */
/// <reference lib="esnext.disposable" preserve="true" />
import type { RecordedRequest } from "../test-api/recorded-request.js";

export type { RecordedRequest };

export interface KeelsonUser {
  readonly name: string;
  /** "system:masters" may do everything; without a group or a role binding a user may do little. */
  readonly groups?: readonly string[];
}

/** An object, a YAML or JSON text of one or more objects, or the path of a file or folder of such texts. */
export type Manifest = string | object;

/** What a rule of the simulation says of pods; durations are "2s", or "200ms..2s" of which the seed decides. */
export interface SimulationRule {
  /** Which pods; what is absent matches all. In names `*` stands for anything. */
  readonly namespace?: string;
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** From the moment that a pod is on a node until its containers run. */
  readonly startAfter?: string;
  /** From then until it is ready. */
  readonly readyAfter?: string;
  /** How long its containers run; default: for ever, and for pods of Jobs no time at all. */
  readonly runsFor?: string;
  /** From its deletion until it is gone. */
  readonly stopAfter?: string;
  readonly fails?: "image-pull" | "crash" | "unready";
  /** How often; default: always. For pods of a Job all of them count together. */
  readonly times?: number;
  /** Of what crashes; default 1. */
  readonly exitCode?: number;
  /** The line of its log. */
  readonly log?: string;
}

export interface SimulationOptions {
  /** What is simulated; default: all. */
  readonly parts?: readonly ("nodes" | "workloads")[];
  /** Default 1. */
  readonly nodes?: number;
  /** Decides what is between two durations. Default 0. */
  readonly seed?: number;
  /** The first that matches a pod counts; annotations of the pod come before it. */
  readonly rules?: readonly SimulationRule[];
}

export interface KeelsonOptions {
  /** Flags of `keelson serve` by name, without dashes: `{ "feature-gates": "WatchList=false" }`. */
  readonly flags?: Readonly<Record<string, string | number | boolean>>;
  /** Users with a token, besides the administrator. */
  readonly users?: readonly KeelsonUser[];
  /** Objects that are there when it has started: definitions and namespaces first, whatever the order here. */
  readonly manifests?: readonly Manifest[];
  /**
   * A simulated cluster, on which pods become ready although no process runs; settings of it, or true for one node and
   * everything at once. Default: none.
   */
  readonly simulate?: boolean | SimulationOptions;
  /** Whether `fault` may be used. Default false. */
  readonly faults?: boolean;
  /** Whether `controlPlane` and `fork` may be used. Default false. */
  readonly controlPlanes?: boolean;
  /** Whether it records what was written and because of what, for `keelson why`. Default false. */
  readonly record?: boolean;
  /**
   * Where it runs. A child has a processor of its own and ends with this process, however that ends;
   * in this process it starts faster and can be debugged. Default "process".
   */
  readonly runsIn?: "process" | "child";
  /** Whether its log goes to standard error. Default false. */
  readonly logs?: boolean;
  /** How long the start may take, in milliseconds. Default 60,000. */
  readonly deadlineMs?: number;
}

/** How somebody reaches the API. */
export interface KeelsonAccess {
  readonly url: string;
  /** PEM: whom to trust. */
  readonly ca: string;
  /** A kubeconfig as text, with everything in it. */
  readonly kubeconfig: string;
}

export interface RequestsAsked {
  /** Those of this time or later, or those after a request. */
  readonly since?: Date | RecordedRequest;
  readonly user?: string;
  readonly verb?: string;
}

export interface TimelineOptions {
  /** How far back it goes, in milliseconds. Default 1,000. */
  readonly lastMs?: number;
  /** What the lanes are. Default "client". */
  readonly lanes?: "client" | "object";
  readonly title?: string;
}

export interface SettleOptions {
  /** How long nothing may have moved, in milliseconds. Default 100. */
  readonly quietMs?: number;
  /** How long it may take, in milliseconds. Default 30,000. */
  readonly deadlineMs?: number;
}

/** Everything that the API held at one moment. The API keeps the newest 32, as long as it runs. */
export interface Snapshot {
  readonly id: string;
  readonly resourceVersion: string;
  /** How many objects it has. */
  readonly objects: number;
}

/** How many objects a reset changed. One that was made anew meanwhile is deleted and added. */
export interface ResetResult {
  readonly deleted: number;
  readonly added: number;
  readonly modified: number;
}

/** The API's clock: the times of objects, tokens, TTLs, schedules and the simulated cluster are by it. */
export interface KeelsonClock {
  now(): Promise<Date>;
  /**
   * Moves it forward in one jump, by milliseconds or a duration such as "1h30m", a year in all. What would have been
   * due several times is due once. @returns the time then
   */
  advance(by: number | string): Promise<Date>;
}

/** Which requests meet a fault; what is absent matches all. */
export interface FaultedRequests {
  readonly verb?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly user?: string;
  /** How many requests at most; default: all. */
  readonly times?: number;
  /** Of each request, between 0 and 1; default 1. */
  readonly probability?: number;
}

export type FaultKind =
  /** Refused before anything is done. */
  | {
      readonly type: "status";
      readonly code: number;
      readonly reason?: string;
      readonly message?: string;
      readonly retryAfterSeconds?: number;
    }
  /** Held up before anything is done. */
  | { readonly type: "delay"; readonly delayMs: number }
  /**
   * conflict: 409, as a write of an outdated object. lostAnswer: a write is stored, and its connection ends before
   * the answer. expired: a watch is told 410. staleRead: gets and lists show the state at the time of the order.
   * cutWatch: the connections of open watches end at once, in their middle.
   */
  | { readonly type: "conflict" | "lostAnswer" | "expired" | "staleRead" | "cutWatch" };

/** A fault that was ordered. */
export interface Fault {
  readonly id: string;
  /** How many requests have met it. */
  hits(): Promise<number>;
  remove(): Promise<void>;
}

export interface ControlPlaneOptions {
  /** A DNS label. Default: one that nobody has. */
  readonly name?: string;
  /** Another control plane, or its name: the new one begins with all that it has now. Default: empty. */
  readonly cloneFrom?: string | Pick<KeelsonControlPlane, "name">;
}

/** An API of its own in the same process. */
export interface KeelsonControlPlane extends KeelsonAccess, AsyncDisposable {
  readonly name: string;
  /** The administrator's certificate and key, PEM. */
  readonly cert: string;
  readonly key: string;
  /** The same API for one of `users`, who are nobody in it until a role is bound to them. @throws {RangeError} nobody has that name */
  as(name: string): KeelsonAccess & { readonly token: string };
  /** Another one with all that this one has now. */
  fork(): Promise<KeelsonControlPlane>;
  /** Begins its removal. */
  stop(): Promise<void>;
}

export interface Keelson extends KeelsonAccess, AsyncDisposable {
  /** The administrator's certificate and key, PEM. */
  readonly cert: string;
  readonly key: string;
  /** Path of the administrator's kubeconfig, which goes with the API. */
  readonly kubeconfigPath: string;
  /** The same API for one of `users`. @throws {RangeError} nobody has that name */
  as(name: string): KeelsonAccess & { readonly token: string };
  /** What clients really did, in the order of the answers; the newest 10,000 are remembered. */
  requests(asked?: RequestsAsked): Promise<readonly RecordedRequest[]>;
  /**
   * Resolves when nothing has moved for a while: no write, no request, none of the API's own loops. Leases and open
   * watches do not count. @throws {Error} the deadline has passed; it says what moved last
   */
  settled(options?: SettleOptions): Promise<void>;
  /** Remembers everything as it is now, for `reset`. */
  snapshot(): Promise<Snapshot>;
  /**
   * Makes everything but Leases what it was, with uids, owners, finalizers and status. What differs is written as
   * ordinary changes, so clients stay connected and see DELETED, ADDED and MODIFIED. @throws {Error} the snapshot is not kept any more
   */
  reset(snapshot: Snapshot): Promise<ResetResult>;
  readonly clock: KeelsonClock;
  /** Orders a fault, with the option `faults`. @throws {Error} the order makes no sense, or faults are off */
  fault(requests: FaultedRequests, what: FaultKind): Promise<Fault>;
  /** Makes a control plane, with the option `controlPlanes`. @throws {Error} with what the API says */
  controlPlane(options?: ControlPlaneOptions): Promise<KeelsonControlPlane>;
  /** A control plane with all that this API has now, with the option `controlPlanes`. @throws {Error} with what the API says */
  fork(): Promise<KeelsonControlPlane>;
  /**
   * What was written lately and because of what, as a picture (SVG), with the option `record`. For reports of failed
   * tests. @throws {Error} nobody records
   */
  timeline(options?: TimelineOptions): Promise<string>;
  /** Ends it and removes what it kept. */
  stop(): Promise<void>;
}
