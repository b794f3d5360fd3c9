/**
 * AdmissionChain: the plugins of a server, in order. Stays synchronous as long as the plugins do.
 */
import type {
  Admission,
  AdmissionAttributes,
  AdmissionOperation,
  AdmissionPlugin,
  AdmissionResource,
} from "./admission.js";

/** Told how long each plugin took and whether it refused; for metrics. */
export interface AdmissionObserver {
  observed(call: {
    readonly plugin: string;
    readonly operation: AdmissionOperation;
    readonly type: "admit" | "validate";
    readonly isRejected: boolean;
    readonly seconds: number;
  }): void;
}

export interface AdmissionChainOptions {
  readonly observer?: AdmissionObserver;
  /** Monotonic milliseconds; needed by the observer. */
  readonly nowMs?: () => number;
}

export class AdmissionChain implements Admission {
  readonly #plugins: readonly AdmissionPlugin[];
  readonly #mutating: readonly AdmissionPlugin[];
  readonly #validating: readonly AdmissionPlugin[];
  readonly #observer: AdmissionObserver | undefined;
  readonly #nowMs: () => number;

  constructor(plugins: readonly AdmissionPlugin[], options: AdmissionChainOptions = {}) {
    this.#plugins = [...plugins];
    this.#mutating = plugins.filter((plugin) => plugin.mutate !== undefined);
    this.#validating = plugins.filter((plugin) => plugin.validate !== undefined);
    this.#observer = options.observer;
    this.#nowMs = options.nowMs ?? (() => 0);
  }

  handles(
    operation: AdmissionOperation,
    resource: AdmissionResource,
    subresource: string,
  ): boolean {
    return this.#plugins.some(
      (plugin) => plugin.handles?.(operation, resource, subresource) !== false,
    );
  }

  mutate(attributes: AdmissionAttributes, signal: AbortSignal): boolean | Promise<boolean> {
    return this.#mutateFrom(0, false, attributes, signal);
  }

  validate(attributes: AdmissionAttributes, signal: AbortSignal): Promise<void> | undefined {
    return this.#validateFrom(0, attributes, signal);
  }

  #mutateFrom(
    from: number,
    before: boolean,
    attributes: AdmissionAttributes,
    signal: AbortSignal,
  ): boolean | Promise<boolean> {
    let isChanged = before;
    for (let i = from; i < this.#mutating.length; i++) {
      const plugin = this.#mutating[i] as AdmissionPlugin;
      if (!isConcerned(plugin, attributes)) continue;
      const answer = this.#observe(plugin, "admit", attributes, () =>
        plugin.mutate?.(attributes, signal),
      );
      if (answer instanceof Promise) {
        return answer.then((changed) =>
          this.#mutateFrom(i + 1, isChanged || changed, attributes, signal),
        );
      }
      isChanged ||= answer === true;
    }
    return isChanged;
  }

  #validateFrom(
    from: number,
    attributes: AdmissionAttributes,
    signal: AbortSignal,
  ): Promise<void> | undefined {
    for (let i = from; i < this.#validating.length; i++) {
      const plugin = this.#validating[i] as AdmissionPlugin;
      if (!isConcerned(plugin, attributes)) continue;
      const answer = this.#observe(plugin, "validate", attributes, () =>
        plugin.validate?.(attributes, signal),
      );
      if (answer !== undefined) {
        return answer.then(() => this.#validateFrom(i + 1, attributes, signal));
      }
    }
    return undefined;
  }

  #observe<T>(
    plugin: AdmissionPlugin,
    type: "admit" | "validate",
    { operation }: AdmissionAttributes,
    call: () => T,
  ): T {
    const observer = this.#observer;
    if (observer === undefined) return call();
    const startedMs = this.#nowMs();
    const tell = (isRejected: boolean) => {
      const seconds = (this.#nowMs() - startedMs) / 1000;
      observer.observed({ plugin: plugin.name, operation, type, isRejected, seconds });
    };
    let answer: T;
    try {
      answer = call();
    } catch (error) {
      tell(true);
      throw error;
    }
    if (answer instanceof Promise) {
      answer.then(
        () => tell(false),
        () => tell(true),
      );
    } else {
      tell(false);
    }
    return answer;
  }
}

function isConcerned(
  plugin: AdmissionPlugin,
  { operation, resource, subresource }: AdmissionAttributes,
): boolean {
  return plugin.handles?.(operation, resource, subresource) !== false;
}
