/**
 * EncryptedStore: a RevisionedStore that encrypts values on writes and decrypts them on reads, by
 * rules that can be replaced at run time. Higher layers do not notice: view, history, writes and
 * conflicts see plain values. A value that cannot be decrypted becomes a note with the reason
 * (kv/unreadable.ts).
 *
 * Only built when encryption is configured; otherwise there is no extra step.
 */
import { ConvertingStore, type ValueConversion } from "../kv/converting-store.js";
import type { RevisionedStore } from "../kv/store.js";
import type { EncryptionRules, TransformObserver } from "./encryption-rules.js";

export interface SealingOptions {
  readonly rules: EncryptionRules;
  /** "core/secrets" for an object's key; undefined for other keys, whose values are left alone. */
  partitionOf(key: string): string | undefined;
  readonly observe?: TransformObserver;
}

export interface EncryptedStoreOptions extends SealingOptions {
  readonly store: RevisionedStore;
}

export class EncryptedStore extends ConvertingStore {
  readonly #store: RevisionedStore;
  readonly #sealing: Sealing;

  constructor(options: EncryptedStoreOptions) {
    const sealing = new Sealing(options);
    super(options.store, sealing);
    this.#store = options.store;
    this.#sealing = sealing;
  }

  /** Replaces the rules. Values that were already read stay as they are. */
  use(rules: EncryptionRules): void {
    this.#sealing.rules = rules;
  }

  /** Whether values of "apps/deployments" are encrypted, or have been. */
  isSecret(partition: string): boolean {
    return this.#sealing.rules.isSecret(partition);
  }

  /**
   * Whether the value would be stored differently today: the first key has changed, or the value
   * was not encrypted. Such a value is written even if its content does not change.
   */
  async isStale(key: string, signal: AbortSignal): Promise<boolean> {
    const { kv } = await this.#store.get(key, {}, signal);
    return kv !== undefined && this.#sealing.isStale(key, kv.value);
  }
}

class Sealing implements ValueConversion {
  /** The rules in force; replaced as a whole. */
  rules: EncryptionRules;
  readonly #options: SealingOptions;

  constructor(options: SealingOptions) {
    this.rules = options.rules;
    this.#options = options;
  }

  toStored(key: string, value: Uint8Array): Uint8Array {
    const partition = this.#options.partitionOf(key);
    if (partition === undefined) return value;
    return this.rules.seal(partition, key, value, this.#options.observe);
  }

  fromStored(key: string, value: Buffer): Buffer {
    const partition = this.#options.partitionOf(key);
    if (partition === undefined) return value;
    return this.rules.open(partition, key, value, this.#options.observe).value;
  }

  isStale(key: string, value: Buffer): boolean {
    const partition = this.#options.partitionOf(key);
    if (partition === undefined) return false;
    try {
      return this.rules.open(partition, key, value).isStale;
    } catch {
      return false;
    }
  }
}
