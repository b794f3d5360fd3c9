/**
 * FollowedFiles: what some files say, for those who ask for it at each use, such as at each new connection. Read once
 * when it is made; from `spawn` on a change is in use within a second, and one that cannot be used changes nothing.
 */
import { readFileSync } from "node:fs";
import { systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import { runFileWatch } from "./file-watch.js";

export interface FollowedFilesOptions<Value> {
  /** What they are for. */
  readonly name: string;
  readonly files: readonly string[];
  /** From the contents, in the order of `files`. @throws {Error} they cannot be used */
  readonly parse: (contents: readonly string[]) => Value;
  /** Of what has changed; what is wrong at the start, whoever uses it says. @throws {Error} it cannot be used */
  readonly check?: (value: Value) => void;
}

/** Who is told of changes. */
export interface ReloadObservers {
  readonly logger: Logger;
  readonly onReload: (isGood: boolean) => void;
}

export class FollowedFiles<Value> {
  readonly #options: FollowedFilesOptions<Value>;
  readonly #first: readonly string[];
  #current: Value;

  /** @throws {Error} unreadable files, or what `parse` throws */
  constructor(options: FollowedFilesOptions<Value>) {
    this.#options = options;
    this.#first = options.files.map((file) => readFileSync(file, "utf8"));
    this.#current = options.parse(this.#first);
  }

  get current(): Value {
    return this.#current;
  }

  spawn(lifecycle: Lifecycle, { logger, onReload }: ReloadObservers): void {
    const { name, files, parse, check } = this.#options;
    const apply = (contents: readonly string[]) => {
      const value = parse(contents);
      check?.(value);
      this.#current = value;
    };
    const watch = { files, inForce: this.#first, apply, onReload, clock: systemClock, logger };
    lifecycle.spawn(name, "restart", (signal) => runFileWatch(watch, signal));
  }
}
