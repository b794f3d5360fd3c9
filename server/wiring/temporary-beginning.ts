/**
 * The beginning of a server whose content goes with it, such as a fresh API of tests: it gets the objects that servers make
 * themselves as the first one of this process made them, in two transactions, with uids and times of its own. What
 * has certificates in it is made anew by each.
 */
import { systemClock } from "../../storage/base/clock.js";
import type { Revision } from "../../storage/kv/store.js";
import { KeySpace, partitionId } from "../../storage/objects/keys.js";
import type { Config } from "../config/config.js";
import { readContent } from "../control-planes/beginning.js";
import { putContent } from "../control-planes/copy-content.js";
import type { Alike } from "./alike-parts.js";
import type { OpenedStore } from "./store.js";

export interface TemporaryBeginningParts {
  readonly config: Config;
  readonly alike: Alike;
  readonly storage: Pick<OpenedStore, "store" | "encryption">;
}

const CONFIG_MAPS = partitionId("", "configmaps");
const JSON_FORM = "application/json";

export class TemporaryBeginning {
  readonly #parts: TemporaryBeginningParts;
  readonly #prefix: string;

  private constructor(parts: TemporaryBeginningParts) {
    this.#parts = parts;
    this.#prefix = new KeySpace(parts.config.etcdPrefix).prefix;
  }

  /** Undefined: its content is its own, or lies in another form. */
  static of(parts: TemporaryBeginningParts): TemporaryBeginning | undefined {
    const { isTemporary = false, storageMediaType } = parts.config;
    const isPlain = storageMediaType === JSON_FORM && parts.storage.encryption === undefined;
    return isTemporary && isPlain ? new TemporaryBeginning(parts) : undefined;
  }

  /** Whether it is the first one. */
  get isWanted(): boolean {
    const { defaults, basis } = this.#parts.alike;
    return !defaults.isKept(basis);
  }

  /** Before anything is read. @throws {StorageError} */
  async put(signal: AbortSignal): Promise<void> {
    const { alike, storage } = this.#parts;
    const objects = alike.defaults.make(systemClock.now(), alike.basis);
    await putContent(storage.store, this.#prefix, objects, signal);
  }

  /** What it has before anybody uses it. @throws {StorageError} */
  async keep(revision: Revision, signal: AbortSignal): Promise<void> {
    const { alike, storage } = this.#parts;
    const { naming } = this.#parts.config;
    const own = { store: storage.store, prefix: this.#prefix, naming };
    const objects = await readContent(own, revision, signal);
    alike.defaults.keep(
      objects.filter(({ partition }) => partition !== CONFIG_MAPS),
      alike.basis,
    );
  }
}
