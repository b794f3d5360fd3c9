/**
 * ValidatingAdmissionWebhook: calls every webhook that matches a write, all at once, with the object to be
 * stored. The first refusal in configuration order is the answer.
 */

import { type SignalSource, signalOf, waitForOthers } from "../../request/lazy-signal.js";
import type {
  AdmissionAttributes,
  AdmissionOperation,
  AdmissionPlugin,
  AdmissionResource,
} from "../admission.js";
import { isExempt, type RuleContext, RuleMatcher } from "../matching/rule-context.js";
import type { StoredRules } from "../matching/stored-rules.js";
import { explainOthers } from "./explain-others.js";
import type { Hook } from "./hook.js";
import { type Asker, askWebhook, type Invocation, invocationOf } from "./invocation.js";
import { storedHooks } from "./stored-hooks.js";
import type { WebhookCaller } from "./webhook-caller.js";

export class ValidatingWebhooks implements AdmissionPlugin {
  readonly name = "ValidatingAdmissionWebhook";
  readonly #context: RuleContext;
  readonly #caller: WebhookCaller;
  readonly #rules: StoredRules<Hook>;
  readonly #asker: Asker = { plugin: this.name, step: "validating" };

  constructor(context: RuleContext, caller: WebhookCaller) {
    this.#context = context;
    this.#caller = caller;
    this.#rules = storedHooks(context, "validatingwebhookconfigurations");
  }

  handles(_operation: AdmissionOperation, resource: AdmissionResource): boolean {
    return this.#rules.count(isExempt(this.#context.naming, resource)) > 0;
  }

  subscribe(changed: () => void): void {
    this.#rules.subscribe(changed);
  }

  validate(attributes: AdmissionAttributes, source: SignalSource): Promise<void> | undefined {
    const { served, operation, subresource } = attributes;
    if (served === undefined) return undefined;
    const index = this.#rules.indexFor(isExempt(this.#context.naming, served));
    explainOthers(this.#context, index, attributes, served, this.name);
    if (!index.hasAny(operation, served, subresource)) return undefined;
    const candidates = index.candidates({ attributes, served });
    if (candidates.length === 0) return undefined;
    const signal = signalOf(source);
    const matcher = new RuleMatcher(this.#context, attributes, served, signal);
    const found = candidates
      .map((candidate) => invocationOf(matcher, candidate, this.#asker))
      .filter((invocation) => invocation !== undefined);
    if (found.length === 0) return undefined;
    return waitForOthers(source, this.#ask(matcher, found, signal));
  }

  async #ask(
    matcher: RuleMatcher,
    found: readonly (Invocation | Promise<Invocation | undefined>)[],
    signal: AbortSignal,
  ): Promise<void> {
    const answers = await Promise.allSettled(
      found.map(async (waiting, index) => {
        const invocation = await waiting;
        if (invocation === undefined) return;
        const asking = { ...this.#asker, place: `round_0_index_${index}` };
        await askWebhook(matcher, this.#caller, invocation, asking, signal);
      }),
    );
    for (const answer of answers) if (answer.status === "rejected") throw answer.reason;
  }
}
