/**
 * The registry: every write to objects goes through the functions of this folder, whether a request
 * or a control loop of our own asks for it.
 *
 *   create.ts   POST, and PUT or apply of something that is not there     commit.ts     one transaction
 *   update.ts   PUT and PATCH, of an object or its subresource            metadata.ts   what we own in metadata
 *   claims.ts   keys that an object holds besides its own
 *   delete.ts   DELETE with its phases        delete-collection.ts        namespace-gate.ts  is there a namespace?
 *   apply.ts    server-side apply             ownership.ts  who owns which fields
 *   admit.ts    what admission is told
 *
 * A write reads the current object from the view (memory), makes the next one, and commits it on the
 * condition that the store still holds what was read. The store's answer decides, so a view that lags
 * costs a second round, never a wrong result; a refusal is only given on a state proved fresh.
 */

import type { Clock } from "../../../storage/base/clock.js";
import type { RegistryView } from "../../../storage/cache/registry-view.js";
import type { RevisionedStore } from "../../../storage/kv/store.js";
import type { PartitionId } from "../../../storage/objects/keys.js";
import type { Admission } from "../../admission/admission.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import type { CatalogSource } from "../../kinds/live-catalog.js";
import type { Lifetimes } from "../../kinds/strategy.js";
import type { UserInfo } from "../../request/user-info.js";
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
  /** By partition: what chooses addresses and the like for its objects; see claims.ts. */
  readonly allocators?: Readonly<Record<PartitionId, Allocator>>;
  /** Makes writers of one contested object queue up; without it they try until one by one they win. */
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
}

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
