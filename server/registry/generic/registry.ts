/**
 * The registry: what writes work with, whether a request or a control loop of our own asks for them.
 *
 *   generic/   what is common to all objects: decoding, metadata, owners of fields, validation
 *   write/     the one loop (write.ts) and a file per verb, which says what it makes of an object:
 *              create.ts  update.ts  apply.ts  delete.ts  delete-collection.ts  delete-corrupt.ts
 *              judged-by.ts     what else has to stay as it was seen: the namespace
 *              reservations.ts  keys that an object holds besides its own
 *              side-writes.ts   what admission has written along with it
 *              transaction.ts   all of that as one transaction, and what its refusal means
 *              write-queue.ts   how writers of one key keep out of each other's way
 *              admit.ts         what admission is told        action.ts  creates that store nothing
 *
 * A write reads the current object from the view (memory), makes the next one, and commits it on the
 * condition that the store still holds what was read. The store's answer decides, so a view that lags
 * costs another attempt, never a wrong result; a refusal is only given on a state proved fresh.
 */

import type { Clock } from "../../../storage/base/clock.js";
import type { RegistryView } from "../../../storage/cache/registry-view.js";
import type { RevisionedStore } from "../../../storage/kv/store.js";
import type { PartitionId } from "../../../storage/objects/keys.js";
import type { Admission, AdmissionAttributes } from "../../admission/admission.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import type { CatalogSource } from "../../kinds/live-catalog.js";
import type { Lifetimes } from "../../kinds/strategy.js";
import type { LazySignal } from "../../request/lazy-signal.js";
import type { UserInfo } from "../../request/user-info.js";
import type { PassingRules } from "../write/epochs.js";
import type { WriteQueue } from "../write/write-queue.js";
import type { Allocator } from "./allocator.js";
import type { DeclarativeValidation } from "./declarative-validation.js";
import type { Freshness } from "./freshness.js";
import type { Ownership } from "./ownership.js";

/** Asks how a value is stored. Implemented by storage/encryption. */
export interface StoredForm {
  /** Whether the value of `key` would be stored differently if it were written now. @throws {StorageError} */
  isStale(key: string, signal: AbortSignal): Promise<boolean>;
}

/** What the registry's functions work with; made once by the wiring. */
export interface Registry {
  /** What is served now. */
  readonly catalog: CatalogSource;
  readonly store: RevisionedStore;
  readonly view: RegistryView;
  readonly freshness: Freshness;
  readonly clock: Clock;
  readonly naming: Naming;
  readonly lifetimes: Lifetimes;
  readonly ownership: Ownership;
  /** Rules of the facts, beside those written by hand; absent = not asked. */
  readonly declarative?: DeclarativeValidation;
  /** Plugins that may change or refuse what is written, by whomever; absent = there are none. */
  readonly admission?: Admission | undefined;
  /** Whether values are stored differently today (encryption); absent = they never are. */
  readonly storedForm?: StoredForm | undefined;
  /** By partition: what chooses addresses and the like for its objects; see write/reservations.ts. */
  readonly allocators?: Readonly<Record<PartitionId, Allocator>>;
  /** Objects that are rules only for now; absent = there are none. */
  readonly passingRules?: PassingRules | undefined;
  /** For transactions of requests that are in no hurry; absent = each has the request's own signal. */
  readonly commitDeadline?: LazySignal;
  /** Where writers of one contested key queue up; without it they try until one by one they win. */
  readonly writeQueue?: WriteQueue;
}

export type FieldValidation = "Ignore" | "Warn" | "Strict";

/** How a write is to be done; the same for all verbs. */
export interface WriteOptions {
  /** Everything but the transaction (S1-DRY). */
  readonly isDryRun: boolean;
  /** Who owns what the write changes; "" = nobody says. */
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  readonly user: UserInfo;
  /** Takes what the client should know although the write succeeds. */
  warn(text: string): void;
  /** Takes what admission has to say about the write besides its answer. */
  readonly remarks?: AdmissionRemarks;
}

/** Who takes what admission says about a write. */
export type AdmissionRemarks = Pick<AdmissionAttributes, "annotate" | "explain">;

/** What a write answers with. */
export interface WriteResult {
  readonly status: 200 | 201 | 202;
  /** JSON of the served version and a newline. */
  readonly bytes: Buffer;
}

/** As `WriteResult`, with the object as it was stored, for callers inside the server. */
export interface ObjectResult extends WriteResult {
  /** In the stored version, without its resourceVersion. */
  readonly stored: ApiObject;
  /** Of the stored state; 0 for a dry run of a create. */
  readonly revision: number;
}
