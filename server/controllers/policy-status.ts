/**
 * The status of ValidatingAdmissionPolicies: the result of type checking, once per generation. A kind that
 * is added or changed later does not trigger another check, as kube-apiserver.
 */
import type { PolicySpec } from "../admission/policies/policy.js";
import type { ApiObject, JsonObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { isLostRace } from "./lost-race.js";
import type { ControlledResource } from "./objects-api.js";
import { checkPolicyTypes } from "./policy-type-checker.js";
import type { PublishedTypes } from "./published-types.js";
import type { LoopParts } from "./sync-loop.js";
import { WorkQueue } from "./work-queue.js";

export interface PolicyStatusOptions extends LoopParts {
  readonly naming: Naming;
  readonly published: PublishedTypes;
}

type StoredPolicy = ApiObject & {
  readonly spec?: PolicySpec;
  readonly status?: { readonly observedGeneration?: number } & JsonObject;
};

/** Runs until the signal aborts. */
export async function runPolicyStatus(
  options: PolicyStatusOptions,
  signal: AbortSignal,
): Promise<void> {
  const { objects, clock, logger, naming } = options;
  const group = `admissionregistration.${naming.groupDomain}`;
  const policies = objects.resource(group, "validatingadmissionpolicies");
  const queue = new WorkQueue(clock);
  const watching = objects.watch(policies, ({ name }) => queue.add(name), signal);
  const working = queue.run(async (name) => {
    try {
      await objects.refresh();
      await look(options, policies, name, signal);
      queue.forget(name);
    } catch (error) {
      if (signal.aborted) return;
      if (!isLostRace(error)) {
        logger.warn({ policy: name, err: error }, "checking the types of a policy failed");
      }
      queue.retry(name);
    }
  }, signal);
  await Promise.all([watching, working]);
}

async function look(
  { objects, published }: PolicyStatusOptions,
  policies: ControlledResource,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const policy = objects.get(policies, { namespace: "", name }) as StoredPolicy | undefined;
  if (policy === undefined) return;
  const { metadata, spec = {}, status = {} } = policy;
  const generation = Number(metadata.generation ?? 0);
  if (generation <= (status.observedGeneration ?? 0)) return;
  const expressionWarnings = await checkPolicyTypes(spec, published);
  const typeChecking = expressionWarnings.length === 0 ? {} : { expressionWarnings };
  const told = { ...policy, status: { ...status, observedGeneration: generation, typeChecking } };
  await objects.update(policies, told as unknown as ApiObject, "status", signal);
}
