/**
 * What is written down of a run, and what is found wrong with it: the words that the workload and
 * the checkers share. A history is complete when all its clients have ended; nothing in it changes
 * after that.
 *
 * Times are milliseconds of one monotonic clock, that of the process that runs all clients. An
 * operation took effect, if it did, between its invocation and its completion.
 */

/**
 * What a write leaves behind. `w` is unique to the write, so whoever reads the object knows which
 * write it saw. A replacement sets everything; a patch sets `w` and `p` and keeps the rest, so a
 * patch that was computed from another state than it was applied to shows.
 */
export interface Content {
  readonly w: string;
  readonly v: string;
  readonly p: string;
  /** The label that selectors ask for. */
  readonly color: string;
}

/**
 * The definitions of its kind that an object met, by their number; they are told by the defaults of
 * members that only one of them has.
 */
export interface JudgedBy {
  /** By which the write was judged that stored it. */
  readonly written: number;
  /** By which it was shown; more than one are a mixture that nobody may see. */
  readonly shown: readonly number[];
}

/** A definition of the workload's kind, in force for everything after its revision. */
export interface Definition {
  readonly revision: number;
  readonly number: number;
}

/** An object as a reader saw it. */
export interface ObjectState {
  readonly revision: number;
  readonly content: Content;
  /** Of custom kinds alone. */
  readonly judgedBy?: JudgedBy;
}

export interface KeyedState extends ObjectState {
  /** "<namespace>/<name>" */
  readonly key: string;
}

/** What a client asked for one object. */
export type Call =
  | { readonly kind: "create"; readonly content: Content }
  /** PUT; with `base` on the condition of that resourceVersion. */
  | { readonly kind: "replace"; readonly content: Content; readonly base?: number }
  /** Merge patch of `w` and `p`. */
  | { readonly kind: "patch"; readonly w: string }
  /** `isCollective`: one of those that a delete of a collection took with it. */
  | { readonly kind: "delete"; readonly base?: number; readonly isCollective?: boolean }
  /** `version`: "" = most recent, 0 = any, else not older than. */
  | { readonly kind: "get"; readonly version: "" | number };

export type RefusalReason = "NotFound" | "AlreadyExists" | "Conflict";

export type Outcome =
  /** The state is what the answer showed; a delete shows none. */
  | { readonly type: "ok"; readonly state?: ObjectState }
  | { readonly type: "refused"; readonly reason: RefusalReason }
  /** No answer, or one that does not say: it happened once or not at all. */
  | { readonly type: "unknown"; readonly why: string };

interface Timed {
  readonly id: number;
  /** "client-3" */
  readonly client: string;
  /** Index of the replica that answered, or should have. */
  readonly replica: number;
  /** The newest revision that any answer had shown to anybody before this was invoked. */
  readonly floor: number;
  readonly invokedMs: number;
  /** Infinity when the outcome is unknown. */
  readonly completedMs: number;
}

export interface KeyOperation extends Timed {
  readonly key: string;
  readonly call: Call;
  readonly outcome: Outcome;
}

/** Which objects a list or a watch is about; all parts must hold. */
export interface Scope {
  readonly namespace?: string;
  readonly name?: string;
  readonly color?: string;
}

/** A list with all its pages. Only complete ones are written down. */
export interface ListOperation extends Timed {
  readonly scope: Scope;
  readonly version: "" | number;
  readonly match: "" | "Exact" | "NotOlderThan";
  /** 0 = none */
  readonly limit: number;
  /** resourceVersion of each page. */
  readonly pages: readonly number[];
  readonly items: readonly KeyedState[];
}

export type WatchItem =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly state: KeyedState }
  | { readonly type: "BOOKMARK"; readonly revision: number; readonly isInitialEnd: boolean };

/** One stream, from its opening to its end in whatever way. */
export interface WatchSession extends Timed {
  readonly scope: Scope;
  readonly start:
    | { readonly kind: "resume"; readonly after: number }
    /** The state first, up to a bookmark that says so. */
    | { readonly kind: "state"; readonly version: "" | number };
  readonly items: readonly WatchItem[];
  /** "end", "expired" (410), or what broke it. */
  readonly ending: string;
}

export interface History {
  /** The state before the first operation. */
  readonly base: { readonly revision: number; readonly states: readonly KeyedState[] };
  readonly operations: readonly KeyOperation[];
  readonly lists: readonly ListOperation[];
  readonly sessions: readonly WatchSession[];
  /** All that were ever stored, by revision; none of a built-in kind. */
  readonly definitions: readonly Definition[];
  /** Answers that nobody should get, such as 403, 500, or 404 of a namespace that exists. */
  readonly surprises: readonly string[];
}

/** The names of docs/dev/invariants.md that a history can show to be broken. */
export type Guarantee =
  | "Ordered"
  | "Unique"
  | "Atomic"
  | "Reliable"
  | "Resumable"
  | "Bookmarkable"
  | "Fresh"
  | "NoLostUpdate"
  | "RulesInForce"
  | "CacheEqualsStore";

export interface Violation {
  readonly guarantee: Guarantee;
  /** One sentence with the revisions that contradict each other. */
  readonly message: string;
  /** The operations that show it, one line each, in order of time. */
  readonly evidence: readonly string[];
}

export function sameContent(a: Content, b: Content): boolean {
  return a.w === b.w && a.v === b.v && a.p === b.p && a.color === b.color;
}

export function inScope(scope: Scope, key: string, content: Content): boolean {
  const slash = key.indexOf("/");
  if (scope.namespace !== undefined && key.slice(0, slash) !== scope.namespace) return false;
  if (scope.name !== undefined && key.slice(slash + 1) !== scope.name) return false;
  return scope.color === undefined || content.color === scope.color;
}

export function isWholeScope(scope: Scope): boolean {
  return scope.namespace === undefined && scope.name === undefined && scope.color === undefined;
}
