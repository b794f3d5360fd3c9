/**
 * EncryptionRules: the ciphers for the values of each partition. The first rule that matches a
 * partition counts; its first cipher encrypts, and each of them decrypts. Immutable.
 */
import { assert } from "../base/assert.js";
import { startsWith, type ValueCipher } from "./value-cipher.js";

/** Partitions by group ("core" for the one without a name) and resource; "*" takes all. */
export interface PartitionPattern {
  readonly group: string;
  readonly resource: string;
}

export interface EncryptionRule {
  readonly patterns: readonly PartitionPattern[];
  /** At least one. */
  readonly ciphers: readonly ValueCipher[];
}

/** Called for each value, for metrics: direction, prefix and success. */
export type TransformObserver = (
  direction: "from_storage" | "to_storage",
  prefix: string,
  isGood: boolean,
) => void;

export interface OpenedValue {
  readonly value: Buffer;
  /** Whether the next write would store it differently. */
  readonly isStale: boolean;
}

export class EncryptionRules {
  readonly #rules: readonly EncryptionRule[];
  readonly #identity: EncryptionRule;

  /** `identity` applies to partitions that no rule matches. */
  constructor(rules: readonly EncryptionRule[], identity: ValueCipher) {
    this.#rules = rules;
    this.#identity = { patterns: [], ciphers: [identity] };
  }

  /** The ciphers of "apps/deployments", the encrypting one first. */
  ciphersOf(partition: string): readonly ValueCipher[] {
    const slash = partition.indexOf("/");
    const group = partition.slice(0, slash);
    const resource = partition.slice(slash + 1);
    const takes = (pattern: PartitionPattern) =>
      (pattern.group === "*" || pattern.group === group) &&
      (pattern.resource === "*" || pattern.resource === resource);
    return (this.#rules.find(({ patterns }) => patterns.some(takes)) ?? this.#identity).ciphers;
  }

  /** Whether a rule is about exactly this partition, not only about many. */
  names(partition: string): boolean {
    return this.#rules.some(({ patterns }) =>
      patterns.some(({ group, resource }) => `${group}/${resource}` === partition),
    );
  }

  /** These rules with a cipher that encrypts all partitions; what they have themselves still decrypts. */
  under(cipher: ValueCipher): EncryptionRules {
    return new OwnKeyRules(cipher, this);
  }

  /** Whether values of the partition are encrypted, or have been. */
  isSecret(partition: string): boolean {
    return this.ciphersOf(partition).some(({ prefix }) => prefix.length > 0);
  }

  seal(partition: string, key: string, value: Uint8Array, observe?: TransformObserver): Uint8Array {
    const [cipher] = this.ciphersOf(partition);
    assert(cipher !== undefined, "RulesHaveCiphers");
    const sealed = cipher.seal(value, key);
    observe?.("to_storage", cipher.prefix.toString("utf8"), true);
    return cipher.prefix.length === 0 ? sealed : Buffer.concat([cipher.prefix, sealed]);
  }

  /** @throws {Error} whose message gives the reason and quotes nothing of the value */
  open(partition: string, key: string, value: Buffer, observe?: TransformObserver): OpenedValue {
    const ciphers = this.ciphersOf(partition);
    let problem = "no key that the server has is that of the value";
    for (const [index, cipher] of ciphers.entries()) {
      if (!startsWith(value, cipher.prefix)) continue;
      const prefix = cipher.prefix.toString("utf8");
      try {
        const opened = cipher.open(value.subarray(cipher.prefix.length), key);
        observe?.("from_storage", prefix, true);
        return { value: opened, isStale: index > 0 };
      } catch {
        // During a rotation two keys may have the same name.
        problem =
          prefix === ""
            ? "the value is encrypted and no key for it is configured"
            : `the value does not open with ${prefix.slice(0, -1)}`;
        observe?.("from_storage", prefix, false);
      }
    }
    throw new Error(problem);
  }
}

class OwnKeyRules extends EncryptionRules {
  readonly #cipher: ValueCipher;
  readonly #others: EncryptionRules;

  constructor(cipher: ValueCipher, others: EncryptionRules) {
    super([], cipher);
    this.#cipher = cipher;
    this.#others = others;
  }

  override ciphersOf(partition: string): readonly ValueCipher[] {
    return [this.#cipher, ...this.#others.ciphersOf(partition)];
  }
}
