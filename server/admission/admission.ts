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
import type { CommitResult, Compare, Operation } from "../../storage/kv/store.js";
import type { ApiObject } from "../api/meta.js";
import { forbidden, type StatusError } from "../api/status.js";
import type { ServedResource } from "../kinds/served-resource.js";
import type { SignalSource } from "../request/lazy-signal.js";
import type { UserInfo } from "../request/user-info.js";
import type { Rounds } from "./rounds.js";

/** CONNECT: exec, attach, portforward, proxy. An action such as an eviction is a CREATE. */
export type AdmissionOperation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

/** The resource as it is served, with the kind of what is sent to it. */
export interface AdmissionResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
}

/** How the client wants the write done; which of them there are depends on the operation. */
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
 * What a plugin has written along with the object, in the object's own transaction: both or neither.
 * A dry run has nothing of it.
 */
export interface SideWrite {
  readonly compares: readonly Compare[];
  readonly operations: readonly Operation[];
  /**
   * What the transaction came to; `current` of a refused one is of these compares alone. The plugin
   * is asked to validate again before the next attempt.
   */
  settled(result: CommitResult): void;
}

/** What one rule that users bring had to say about a write. */
export interface RuleFinding {
  /** The plugin that considered it. */
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
  /** What is asked for, with its shapes and versions, where the write came by one that is served. */
  readonly served?: ServedResource;
  /** "" = the object itself. */
  readonly subresource: string;
  /** "" for cluster scope. */
  readonly namespace: string;
  readonly name: string;
  /**
   * What is to be stored, in the stored version; for a subresource with a shape of its own (scale,
   * eviction) an object of that. undefined for DELETE. `mutate` may change it or put another in its
   * place; `validate` may not.
   */
  object: ApiObject | undefined;
  /** What is stored now (UPDATE, DELETE). Nobody changes it. */
  readonly oldObject: ApiObject | undefined;
  readonly options: AdmissionOptions;
  readonly user: UserInfo;
  /** `validate` may add to it; absent where the object is not stored. Emptied before each `validate`. */
  sideWrites?: SideWrite[];
  /** Set by plugins that may have to look at what plugins after them made of the object. */
  rounds?: Rounds;
  /** Takes what the client should know although the write succeeds. */
  warn(text: string): void;
  /** Takes what the audit record of the request should know. */
  annotate?(key: string, value: string): void;
  /** Set for requests that want to know: takes every rule that was considered. */
  explain?(finding: RuleFinding): void;
}

export interface AdmissionPlugin {
  /** As upstream's, which is what the flags know it by. */
  readonly name: string;
  /**
   * Whether it has anything to do with such requests; absent = with all. Asked once for each sort of
   * write; the answer holds until the plugin says otherwise (`subscribe`).
   */
  handles?(
    operation: AdmissionOperation,
    resource: AdmissionResource,
    subresource: string,
  ): boolean;
  /**
   * For a plugin whose `handles` depends on what there is: `changed` is called, in the turn of the feed,
   * when its answers may be others from now on. Called once, when the chain is made.
   */
  subscribe?(changed: () => void): void;
  /** @returns whether it changed the object. @throws {StatusError} to refuse */
  mutate?(attributes: AdmissionAttributes, signal: AbortSignal): boolean | Promise<boolean>;
  /** Answers at once where it can: a promise costs every write. @throws {StatusError} to refuse */
  validate?(attributes: AdmissionAttributes, signal: AbortSignal): Promise<void> | undefined;
}

/** What the registry asks; AdmissionChain is the one that is used. */
export interface Admission {
  handles(operation: AdmissionOperation, resource: AdmissionResource, subresource: string): boolean;
  /** @returns whether the object was changed. @throws {StatusError} */
  mutate(attributes: AdmissionAttributes, signal: SignalSource): boolean | Promise<boolean>;
  /** @throws {StatusError} */
  validate(attributes: AdmissionAttributes, signal: SignalSource): Promise<void> | undefined;
}

/** 403 in the usual words: `pods "web" is forbidden: <why>`. */
export function refuse(attributes: AdmissionAttributes, why: string): StatusError {
  const { name, object, resource } = attributes;
  const { name: ownName = "", generateName = "" } = object?.metadata ?? {};
  return forbidden(resource, name || ownName || generateName || "Unknown", why);
}
