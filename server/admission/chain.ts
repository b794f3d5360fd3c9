/**
 * AdmissionChain: the plugins of a server, in order. Stays synchronous as long as the plugins do.
 *
 * The chain keeps a plan for each kind of write (an operation on a resource or subresource): the plugins
 * that handle it, asked once. Most kinds of write have few plugins or none and cost little. A plugin
 * whose answer depends on stored objects (quotas, webhooks) reports changes through `subscribe`; all
 * plans are then rebuilt on demand.
 */
import { inSpan, traceOf } from "../../storage/base/trace.js";
import type { SignalSource } from "../request/lazy-signal.js";
import type {
  Admission,
  AdmissionAttributes,
  AdmissionOperation,
  AdmissionPlugin,
  AdmissionResource,
} from "./admission.js";

/** The outcome of a plugin call. */
export interface AdmissionCall {
  readonly plugin: string;
  readonly operation: AdmissionOperation;
  readonly type: "admit" | "validate";
  readonly isRejected: boolean;
}

/** Receives the durations of plugins and phases and whether they refused, for metrics. */
export interface AdmissionObserver {
  /** The histogram for such calls; looked up once per plan, and at each refusal. */
  durations(call: AdmissionCall): { observe(seconds: number): void };
  /** The histogram for a whole phase. */
  phaseDurations(phase: Omit<AdmissionCall, "plugin">): { observe(seconds: number): void };
}

export interface AdmissionChainOptions {
  readonly observer?: AdmissionObserver;
  /** Monotonic milliseconds; needed by the observer. */
  readonly nowMs?: () => number;
}

/** A plugin in one phase of a plan. */
interface PlannedPlugin {
  readonly plugin: AdmissionPlugin;
  /** Histogram of calls that do not refuse. */
  readonly passed: { observe(seconds: number): void } | undefined;
}

/** The plugins that handle one kind of write, by phase. */
interface Plan {
  readonly isEmpty: boolean;
  readonly mutating: readonly PlannedPlugin[];
  readonly validating: readonly PlannedPlugin[];
  /** The first ones of those. */
  readonly guards: readonly PlannedPlugin[];
  /** Histograms of phases in which no plugin refuses. */
  readonly passed: Readonly<Record<Phase, { observe(seconds: number): void } | undefined>>;
}

type Phase = "admit" | "validate";

/** Plugins that take less share a turn. */
const LONG_MS = 5;

export class AdmissionChain implements Admission {
  readonly #plugins: readonly AdmissionPlugin[];
  readonly #observer: AdmissionObserver | undefined;
  readonly #nowMs: () => number;
  /** Keyed by resource, then by operation and subresource. Dropped with the resource, or all at once on a change. */
  #plans = new WeakMap<AdmissionResource, Map<string, Plan>>();

  constructor(plugins: readonly AdmissionPlugin[], options: AdmissionChainOptions = {}) {
    this.#plugins = [...plugins];
    this.#observer = options.observer;
    this.#nowMs = options.nowMs ?? (() => 0);
    for (const plugin of plugins) {
      plugin.subscribe?.(() => {
        this.#plans = new WeakMap();
      });
    }
  }

  handles(
    operation: AdmissionOperation,
    resource: AdmissionResource,
    subresource: string,
  ): boolean {
    return !this.#planOf(operation, resource, subresource).isEmpty;
  }

  mutate(attributes: AdmissionAttributes, signal: SignalSource): boolean | Promise<boolean> {
    const { operation, resource, subresource } = attributes;
    const plan = this.#planOf(operation, resource, subresource);
    const { mutating } = plan;
    if (mutating.length === 0) return false;
    return this.#timed("admit", plan, attributes, () => {
      const first = this.#mutateFrom(mutating, 0, false, attributes, signal);
      return first instanceof Promise
        ? first.then((changed) => this.#secondRound(mutating, changed, attributes, signal))
        : this.#secondRound(mutating, first, attributes, signal);
    });
  }

  /** Reruns the plugins if a round asks for it; only once, so that plugins that undo each other terminate. */
  #secondRound(
    steps: readonly PlannedPlugin[],
    changed: boolean,
    attributes: AdmissionAttributes,
    signal: SignalSource,
  ): boolean | Promise<boolean> {
    const { rounds } = attributes;
    if (rounds?.isSecondWanted !== true) return changed;
    rounds.begin();
    return this.#mutateFrom(steps, 0, changed, attributes, signal);
  }

  validate(attributes: AdmissionAttributes, signal: SignalSource): Promise<void> | undefined {
    return this.#validate("validating", attributes, signal);
  }

  guard(attributes: AdmissionAttributes, signal: SignalSource): Promise<void> | undefined {
    return this.#validate("guards", attributes, signal);
  }

  #validate(
    which: "validating" | "guards",
    attributes: AdmissionAttributes,
    signal: SignalSource,
  ): Promise<void> | undefined {
    const { operation, resource, subresource } = attributes;
    const plan = this.#planOf(operation, resource, subresource);
    const steps = plan[which];
    if (steps.length === 0) return undefined;
    const answer = this.#timed("validate", plan, attributes, () =>
      this.#validateFrom(steps, 0, attributes, signal),
    );
    return answer instanceof Promise ? answer : undefined;
  }

  /** Runs a phase and records its duration. */
  #timed<T>(
    type: Phase,
    { passed }: Plan,
    { operation }: AdmissionAttributes,
    run: () => T | Promise<T>,
  ): T | Promise<T> {
    const startedMs = this.#nowMs();
    const ended = (cell: { observe(seconds: number): void } | undefined) =>
      cell?.observe((this.#nowMs() - startedMs) / 1000);
    const refused = (error: unknown): never => {
      ended(this.#observer?.phaseDurations({ operation, type, isRejected: true }));
      throw error;
    };
    let answer: T | Promise<T>;
    try {
      answer = run();
    } catch (error) {
      return refused(error);
    }
    if (!(answer instanceof Promise)) {
      ended(passed[type]);
      return answer;
    }
    return answer.then((settled) => {
      ended(passed[type]);
      return settled;
    }, refused);
  }

  #planOf(operation: AdmissionOperation, resource: AdmissionResource, subresource: string): Plan {
    let plans = this.#plans.get(resource);
    if (plans === undefined) {
      plans = new Map();
      this.#plans.set(resource, plans);
    }
    const sort = `${operation}/${subresource}`;
    let plan = plans.get(sort);
    if (plan === undefined) {
      plan = this.#makePlan(operation, resource, subresource);
      plans.set(sort, plan);
    }
    return plan;
  }

  #makePlan(operation: AdmissionOperation, resource: AdmissionResource, subresource: string): Plan {
    const concerned = this.#plugins.filter(
      (plugin) => plugin.handles?.(operation, resource, subresource) !== false,
    );
    const steps = (type: Phase, plugins: readonly AdmissionPlugin[]) =>
      plugins.map((plugin): PlannedPlugin => {
        const call = { plugin: plugin.name, operation, type, isRejected: false };
        return { plugin, passed: this.#observer?.durations(call) };
      });
    const passed = (type: Phase) =>
      this.#observer?.phaseDurations({ operation, type, isRejected: false });
    const validating = concerned.filter(({ validate }) => validate !== undefined);
    const guards = steps(
      "validate",
      validating.filter(({ isGuard }) => isGuard === true),
    );
    const others = validating.filter(({ isGuard }) => isGuard !== true);
    return {
      isEmpty: concerned.length === 0,
      passed: { admit: passed("admit"), validate: passed("validate") },
      mutating: steps(
        "admit",
        concerned.filter(({ mutate }) => mutate !== undefined),
      ),
      guards,
      validating: [...guards, ...steps("validate", others)],
    };
  }

  #mutateFrom(
    steps: readonly PlannedPlugin[],
    from: number,
    before: boolean,
    attributes: AdmissionAttributes,
    signal: SignalSource,
  ): boolean | Promise<boolean> {
    let isChanged = before;
    for (let i = from; i < steps.length; i++) {
      const step = steps[i] as PlannedPlugin;
      const startedMs = this.#nowMs();
      const answer = this.#call(step, "admit", attributes, signal, startedMs);
      if (answer instanceof Promise) {
        return this.#settle(step, "admit", attributes, answer, startedMs).then((changed) =>
          this.#mutateFrom(steps, i + 1, isChanged || changed === true, attributes, signal),
        );
      }
      isChanged ||= answer === true;
      const paused = this.#pauseAfter(attributes, startedMs);
      if (paused !== undefined) {
        return paused.then(() => this.#mutateFrom(steps, i + 1, isChanged, attributes, signal));
      }
    }
    return isChanged;
  }

  #validateFrom(
    steps: readonly PlannedPlugin[],
    from: number,
    attributes: AdmissionAttributes,
    signal: SignalSource,
  ): Promise<void> | undefined {
    for (let i = from; i < steps.length; i++) {
      const step = steps[i] as PlannedPlugin;
      const startedMs = this.#nowMs();
      const answer = this.#call(step, "validate", attributes, signal, startedMs);
      if (answer instanceof Promise) {
        return this.#settle(step, "validate", attributes, answer, startedMs).then(() =>
          this.#validateFrom(steps, i + 1, attributes, signal),
        );
      }
      const paused = this.#pauseAfter(attributes, startedMs);
      if (paused !== undefined) {
        return paused.then(() => this.#validateFrom(steps, i + 1, attributes, signal));
      }
    }
    return undefined;
  }

  /** Lets others have the thread after a plugin that took long with a large object. */
  #pauseAfter({ pause }: AdmissionAttributes, startedMs: number): Promise<void> | undefined {
    return pause !== undefined && this.#nowMs() - startedMs >= LONG_MS ? pause() : undefined;
  }

  #call(
    { plugin, passed }: PlannedPlugin,
    type: Phase,
    attributes: AdmissionAttributes,
    signal: SignalSource,
    startedMs: number,
  ): boolean | undefined | Promise<unknown> {
    const trace = traceOf(signal);
    try {
      const answer =
        trace?.isDetailed === true
          ? inSpan(trace, `${plugin.name} ${type}`, () => ask(plugin, type, attributes, signal))
          : ask(plugin, type, attributes, signal);
      if (!(answer instanceof Promise)) passed?.observe((this.#nowMs() - startedMs) / 1000);
      return answer;
    } catch (error) {
      this.#refused(plugin, type, attributes, startedMs);
      throw error;
    }
  }

  async #settle(
    { plugin, passed }: PlannedPlugin,
    type: Phase,
    attributes: AdmissionAttributes,
    answer: Promise<unknown>,
    startedMs: number,
  ): Promise<unknown> {
    try {
      const settled = await answer;
      passed?.observe((this.#nowMs() - startedMs) / 1000);
      return settled;
    } catch (error) {
      this.#refused(plugin, type, attributes, startedMs);
      throw error;
    }
  }

  #refused(
    { name }: AdmissionPlugin,
    type: Phase,
    { operation }: AdmissionAttributes,
    startedMs: number,
  ): void {
    const call = { plugin: name, operation, type, isRejected: true };
    this.#observer?.durations(call).observe((this.#nowMs() - startedMs) / 1000);
  }
}

function ask(
  plugin: AdmissionPlugin,
  type: Phase,
  attributes: AdmissionAttributes,
  signal: SignalSource,
): boolean | undefined | Promise<unknown> {
  return type === "admit"
    ? plugin.mutate?.(attributes, signal)
    : plugin.validate?.(attributes, signal);
}
