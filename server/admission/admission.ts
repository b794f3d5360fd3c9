/**
 * Admission: the last word on a write, after authorization. A plugin may change the object (mutate),
 * and may refuse it as it is to be stored (validate). All mutating plugins run before all validating
 * ones, each in the order of the chain.
 *
 *   strategy prepares, defaults ─► mutate ─► (changed: defaults, prepare again) ─► validation rules
 *     ─► owners of fields ─► validate ─► transaction
 *
 * A write that lost against another one runs through admission again with the new object; a dry run
 * goes through it like any other (S1-DRY-03). Plugins know nothing of HTTP; a refusal is a StatusError,
 * usually `refuse()`. What a plugin reads it reads from the view or from an index beside it.
 *
 *   chain.ts   the plugins in order      plugins.ts   their names, defaults and order
 *   matching/  which rules that users bring are about a write
 *   webhooks/  others who are asked      policies/    expressions that decide
 */
import type { CommitResult, Compare } from "../../storage/kv/store.js";
import type { ApiObject } from "../api/meta.js";
import { forbidden, type StatusError } from "../api/status.js";
import type { ServedResource } from "../kinds/served-resource.js";
import type { SignalSource } from "../request/lazy-signal.js";
import type { UserInfo } from "../request/user-info.js";
import type { Rounds } from "./rounds.js";

/** CONNECT covers exec, attach, portforward and proxy; an action such as an eviction is a CREATE. */
export type AdmissionOperation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

/** A served resource and the kind of the object that is sent to it. */
export interface AdmissionResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
}

/** The client's options for the write; the operation decides which of them apply. */
export interface AdmissionOptions {
  readonly isDryRun: boolean;
  readonly fieldManager?: string;
  readonly fieldValidation?: string;
  readonly gracePeriodSeconds?: number | undefined;
  readonly preconditions?:
    | { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined }
    | undefined;
  readonly orphanDependents?: boolean | undefined;
  readonly propagationPolicy?: string | undefined;
}

/**
 * A write that a plugin adds to the object's transaction: both commit or neither does. A dry run ignores
 * it.
 */
export interface SideWrite {
  readonly compares: readonly Compare[];
  /** The objects to be stored with the write's own; their bytes are made and judged as its are. */
  readonly puts: readonly { readonly key: string; readonly object: ApiObject }[];
  /**
   * Receives the transaction's result; `current` of a refused one covers only these compares. The
   * plugin validates again before the next attempt.
   */
  settled(result: CommitResult): void;
}

/** The outcome of one user-defined rule for a write. */
export interface RuleFinding {
  /** The plugin that evaluated the rule. */
  readonly plugin: string;
  /** The configuration or policy. */
  readonly configuration: string;
  /** The webhook or the binding; "" = none. */
  readonly rule: string;
  readonly outcome: "skipped" | "allowed" | "changed" | "refused" | "failed";
  /** Why it was skipped, what it said, or what it changed. */
  readonly why: string;
  readonly milliseconds: number;
}

/** One write, as plugins see it. */
export interface AdmissionAttributes {
  readonly operation: AdmissionOperation;
  readonly resource: AdmissionResource;
  /** The served resource with its codec and versions; absent if the write did not come through one. */
  readonly served?: ServedResource;
  /** "" = the object itself. */
  readonly subresource: string;
  /** "" for cluster scope. */
  readonly namespace: string;
  readonly name: string;
  /**
   * The object to store, in the stored version; a subresource with its own kind (scale, eviction) has
   * an object of that kind. undefined for DELETE. `mutate` may change or replace it; `validate` may
   * not.
   */
  object: ApiObject | undefined;
  /** The stored object (UPDATE, DELETE); never changed. */
  readonly oldObject: ApiObject | undefined;
  /**
   * The resourceVersion of `object` (UPDATE) as rules see it: until the object is validated the one that
   * the client sent, then that of the stored object. "" or absent = none.
   */
  readonly sentRevision?: string | undefined;
  /** The resourceVersion of `oldObject`. */
  readonly oldRevision?: string | undefined;
  /** The object as the client sent it, where the write is to a part of it, such as `status`. */
  readonly sent?: ApiObject | undefined;
  /** Stands for the write: the same in all its attempts. Absent = there is one attempt. */
  readonly write?: object;
  /** Ends the turn of the event loop; set for a large object, which makes plugins hold the thread. */
  readonly pause?: (() => Promise<void>) | undefined;
  /** Whether the request deletes a collection, and so names no object (DELETE). */
  readonly isOfCollection?: true | undefined;
  readonly options: AdmissionOptions;
  /** Set if the client sent the whole object (PUT) and not a change of it. */
  readonly isReplaced?: true | undefined;
  readonly user: UserInfo;
  /** `validate` may add to it; absent where the object is not stored. Emptied before each `validate`. */
  sideWrites?: SideWrite[];
  /** Set by plugins that may need to see the changes of later plugins. */
  rounds?: Rounds;
  /** Adds a warning for the client; the write still succeeds. */
  warn(text: string): void;
  /**
   * Adds an annotation to the request's audit record. One that shows some of the object is left out of
   * records without objects.
   */
  annotate?(key: string, value: string, showing?: "objects"): void;
  /** Told of each rule that changed the object or refused it; set only if somebody keeps a record of writes. */
  acted?(finding: RuleFinding): void;
  /** Receives each rule that was evaluated; set only if the request asks for it. */
  explain?(finding: RuleFinding): void;
}

export interface AdmissionPlugin {
  /** Its name in kube-apiserver, which the flags use. */
  readonly name: string;
  /**
   * Set for a guard, which has its say about the object before the rules of its kind do: it validates before
   * other plugins, and also what those rules refuse, so it takes odd objects.
   */
  readonly isGuard?: true;
  /**
   * Whether the plugin handles such requests; absent = all of them. Asked once per kind of write; the
   * answer holds until the plugin reports a change (`subscribe`).
   */
  readonly handles?: Handles;
  /**
   * For a plugin whose `handles` depends on stored objects: it calls `changed`, in the turn of the feed,
   * when its answers may have changed. Called once, when the chain is built.
   */
  subscribe?(changed: () => void): void;
  /**
   * @param signal made only by a plugin that waits, because most do not
   * @returns whether it changed the object. @throws {StatusError} to refuse
   */
  mutate?(attributes: AdmissionAttributes, signal: SignalSource): boolean | Promise<boolean>;
  /** Synchronous where possible, because a promise costs every write. @throws {StatusError} to refuse */
  validate?(attributes: AdmissionAttributes, signal: SignalSource): Promise<void> | undefined;
}

export type Handles = (
  operation: AdmissionOperation,
  resource: AdmissionResource,
  subresource: string,
) => boolean;

/** What stores an object. */
export const WRITES: readonly AdmissionOperation[] = ["CREATE", "UPDATE"];

export const PODS = { group: "", resource: "pods" };

/** These operations on one resource, or on these of its subresources; "" = the object itself. */
export function handlesOnly(
  { group, resource }: { readonly group: string; readonly resource: string },
  operations: readonly AdmissionOperation[],
  subresources: readonly string[] = [""],
): Handles {
  return (operation, asked, subresource) =>
    operations.includes(operation) &&
    subresources.includes(subresource) &&
    asked.group === group &&
    asked.resource === resource;
}

/** The interface that the registry calls; implemented by AdmissionChain. */
export interface Admission {
  handles(operation: AdmissionOperation, resource: AdmissionResource, subresource: string): boolean;
  /** @returns whether the object was changed. @throws {StatusError} */
  mutate(attributes: AdmissionAttributes, signal: SignalSource): boolean | Promise<boolean>;
  /** @throws {StatusError} */
  validate(attributes: AdmissionAttributes, signal: SignalSource): Promise<void> | undefined;
  /** Asks only the guards, about an object that the rules of its kind refuse. @throws {StatusError} */
  guard(attributes: AdmissionAttributes, signal: SignalSource): Promise<void> | undefined;
}

/** 403 in the usual words: `pods "web" is forbidden: <why>`. */
export function refuse(attributes: AdmissionAttributes, why: string): StatusError {
  const { name, object, resource } = attributes;
  const { name: ownName = "", generateName = "" } = object?.metadata ?? {};
  return forbidden(resource, name || ownName || generateName || "Unknown", why);
}
