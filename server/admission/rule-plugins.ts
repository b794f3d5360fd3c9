/** Creates all plugins that evaluate users' rules, and tells which objects are such rules. */
import type { PartitionId } from "../../storage/objects/keys.js";
import type { AdmissionPlugin } from "./admission.js";
import type { RuleContext } from "./matching/rule-context.js";
import { MutatingPolicies } from "./policies/mutating-policies.js";
import { ParameterUses } from "./policies/params.js";
import { ValidatingPolicies } from "./policies/validating-policies.js";
import { MutatingWebhooks } from "./webhooks/mutating-webhooks.js";
import { ValidatingWebhooks } from "./webhooks/validating-webhooks.js";
import type { WebhookCaller } from "./webhooks/webhook-caller.js";

export interface RulePlugins {
  readonly plugins: readonly AdmissionPlugin[];
  /**
   * Writes of parameters change rules. A parameter may affect writes in every namespace, whatever
   * its own.
   */
  readonly passingRules: {
    scopeOf(partition: PartitionId, namespace: string, name: string): "cluster" | undefined;
  };
}

/** The callers for webhooks; each phase may use its own credentials. */
export interface WebhookCallers {
  readonly mutating: WebhookCaller;
  readonly validating: WebhookCaller;
}

export function createRules(context: RuleContext, callers: WebhookCallers): RulePlugins {
  const validating = new ValidatingPolicies(context);
  const mutating = new MutatingPolicies(context);
  const uses = new ParameterUses(
    () => context.catalog.current,
    () => [...validating.paramUses(), ...mutating.paramUses()],
  );
  validating.subscribe(() => uses.changed());
  mutating.subscribe(() => uses.changed());
  return {
    plugins: [
      mutating,
      new MutatingWebhooks(context, callers.mutating),
      validating,
      new ValidatingWebhooks(context, callers.validating),
    ],
    passingRules: {
      scopeOf: (partition, namespace, name) =>
        uses.has(partition, namespace, name) ? "cluster" : undefined,
    },
  };
}
