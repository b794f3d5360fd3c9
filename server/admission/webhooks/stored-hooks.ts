/**
 * storedHooks: the webhooks of one kind of configuration, in the order in which they are called: those of files first, then by
 * the name of the configuration, then by their position in it (matching/stored-rules.ts).
 */
import { partitionId } from "../../../storage/objects/keys.js";
import { CONDITION_ENVIRONMENT } from "../matching/request-environment.js";
import type { RuleContext } from "../matching/rule-context.js";
import { StoredRules } from "../matching/stored-rules.js";
import { NO_MANIFESTS } from "../static/manifest-source.js";
import { type Hook, readHooks } from "./hook.js";

export function storedHooks(context: RuleContext, resource: string): StoredRules<Hook> {
  const { view, naming, catalog, manifests = NO_MANIFESTS } = context;
  const partition = view.partition(
    partitionId(`admissionregistration.${naming.groupDomain}`, resource),
  );
  return new StoredRules({
    partition,
    read: (object, isStatic) =>
      readHooks(object, CONDITION_ENVIRONMENT, isStatic).map((hook) => ({
        criteria: hook.criteria,
        value: hook,
      })),
    catalog: () => catalog.current,
    manifests,
    resource,
  });
}
