/**
 * The registry: the dependencies of writes, whether by a request or by a control loop of our own.
 *
 *   generic/   what is common to all objects: decoding, metadata, owners of fields, validation
 *   write/     the one loop (write.ts) and a file per verb, which says what it makes of an object:
 *              create.ts  update.ts  apply.ts  delete.ts  delete-collection.ts  delete-corrupt.ts
 *              write-conditions.ts  what else has to stay as it was seen: the namespace
 *              reservations.ts  keys that an object holds besides its own
 *              side-writes.ts   what admission has written along with it
 *              transaction.ts   all of that as one transaction, and what its refusal means
 *              write-queue.ts   how writers of one key keep out of each other's way
 *              admit.ts         what admission is told        action.ts  creates that store nothing
 *
 * A write reads the current object from the view (memory), makes the next one, and commits it on
 * condition that the store still holds the object it read. The store decides, so a view that lags
 * costs another attempt, never a wrong result. A refusal is only returned on a state proved fresh.
 */

import type { Clock } from "../../storage/base/clock.js";
import type { RegistryView } from "../../storage/cache/registry-view.js";
import type { Compare, RevisionedStore } from "../../storage/kv/store.js";
import type { PartitionId } from "../../storage/objects/keys.js";
import type { Admission, AdmissionAttributes, AdmissionOptions } from "../admission/admission.js";
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import type { CatalogSource } from "../kinds/live-catalog.js";
import type { StoredResource } from "../kinds/served-resource.js";
import type { Lifetimes } from "../kinds/strategy.js";
import type { LazySignal, SignalSource } from "../request/lazy-signal.js";
import type { UserInfo } from "../request/user-info.js";
import type { Allocator } from "./generic/allocator.js";
import type { DeclarativeValidation } from "./generic/declarative-validation.js";
import type { InputOptions } from "./generic/decode-input.js";
import type { Freshness } from "./generic/freshness.js";
import type { Ownership } from "./generic/ownership.js";
import type { PassingRules } from "./write/epochs.js";
import type { WritingRequest } from "./write/long-write.js";
import type { WriteQueue } from "./write/write-queue.js";

/** Checks how a value is stored. Implemented by storage/encryption. */
export interface StoredForm {
  /** Whether the value of `key` would be stored differently if it were written now. @throws {StorageError} */
  isStale(key: string, signal: AbortSignal): Promise<boolean>;
}

/** The dependencies of the registry's functions; made once by the wiring. */
export interface Registry {
  /** The catalog now served. */
  readonly catalog: CatalogSource;
  readonly store: RevisionedStore;
  readonly view: RegistryView;
  readonly freshness: Freshness;
  readonly clock: Clock;
  readonly naming: Naming;
  readonly lifetimes: Lifetimes;
  readonly ownership: Ownership;
  /** The facts' rules, in addition to hand-written ones; absent = not evaluated. */
  readonly declarative?: DeclarativeValidation;
  /** Plugins that may change or refuse any write; absent = none. */
  readonly admission?: Admission | undefined;
  /** Of the action whose writes these are; absent = they are no action's. */
  readonly judgement?: Judgement | undefined;
  /** Finds values that would be stored differently today (encryption); absent = there are none. */
  readonly storedForm?: StoredForm | undefined;
  /**
   * By partition: allocators of addresses and the like for its objects; see write/reservations.ts.
   */
  readonly allocators?: Readonly<Record<PartitionId, Allocator>>;
  /** Told of an object that could not have been read again, and so is not stored. */
  readonly onUnstorable?: ((why: string) => void) | undefined;
  /** Objects that are rules only temporarily; absent = none. */
  readonly passingRules?: PassingRules | undefined;
  /**
   * The deadline for transactions of requests in no hurry; absent = each uses the request's own
   * signal.
   */
  readonly commitDeadline?: LazySignal;
  /** Makes a namespace that a create needs and that is not there; absent = the create is refused. */
  readonly provisionNamespace?: (name: string, signal: SignalSource) => Promise<void>;
  /** Keeps a record of writes; absent = nobody does. */
  readonly recorder?: WriteRecorder | undefined;
  /** Queues the writers of a contested key; without it they retry until they win. */
  readonly writeQueue?: WriteQueue;
}

/** Is told of every write that is no dry run, once its outcome is known. Must be quick and not throw. */
export interface WriteRecorder {
  wrote(resource: StoredResource, written: WrittenObject, signal: SignalSource): void;
}

export interface WrittenObject {
  readonly namespace: string;
  readonly action: "put" | "remove" | "same";
  /** The state that it came of; undefined = none. */
  readonly before: ApiObject | undefined;
  /** The revision that the object had; undefined = it is created. */
  readonly previousRevision: number | undefined;
  /** What is stored, or was stored last. */
  readonly object: ApiObject;
  readonly revision: number;
}

/** The options of a write; the same for all verbs. */
export interface WriteOptions extends InputOptions {
  /** Does everything but the transaction (S1-DRY). */
  readonly isDryRun: boolean;
  /** The owner of the changed fields; "" = unspecified. */
  readonly fieldManager: string;
  readonly user: UserInfo;
  /** What the client itself said of the above, for admission; absent = nothing. */
  readonly said?: AdmissionOptions;
  /** Receives admission's annotations and explanations of the write. */
  readonly remarks?: AdmissionRemarks;
  /** Receives what the client sent and what came of it with defaults; absent = nobody wants to know. */
  readonly decoded?: ((sent: unknown, object: object) => void) | undefined;
  /** Absent = the server's own write, whose objects are small. */
  readonly request?: WritingRequest;
}

/** The rules that an action was admitted by; its first transaction is committed while they are in force. */
export interface Judgement {
  /** @throws {RulesMoved} when nothing is committed yet and another rule has come */
  check(conditions: readonly Compare[]): void;
  committed(): void;
}

/** The receiver of admission's remarks about a write. */
export type AdmissionRemarks = Pick<AdmissionAttributes, "acted" | "annotate" | "explain">;

/** The answer to a write. */
export interface WriteResult {
  readonly status: 200 | 201 | 202;
  /** JSON in the served version, with a newline. */
  readonly bytes: Buffer;
}

/** As `WriteResult`, with the object as it was stored, for callers inside the server. */
export interface ObjectResult extends WriteResult {
  /** In the stored version, without its resourceVersion. */
  readonly stored: ApiObject;
  /** The revision of the stored state; 0 for a dry run of a create. */
  readonly revision: number;
}
