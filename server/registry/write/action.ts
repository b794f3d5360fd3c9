/**
 * Actions: creates that change stored objects and store nothing themselves (S1-GEN-08). The catalog
 * knows their names (ActionResource); the implementations are here and in ../subresources.
 */

import type { ApiObject } from "../../api/meta.js";
import { conflict } from "../../api/status.js";
import type { ActionResource } from "../../kinds/served-resource.js";
import { type SignalSource, signalOf } from "../../request/lazy-signal.js";
import type { Registry, WriteOptions, WriteResult } from "../registry.js";
import { ActionJudgement, RulesMoved } from "./action-judgement.js";
import { admitUnstored } from "./admit.js";
import { refresh } from "./commit.js";
import { requireNamespace } from "./write-conditions.js";

/** A request to an action. */
export interface ActionRequest {
  readonly resource: ActionResource;
  readonly object: ApiObject;
  readonly namespace: string;
  /** The object's name in the URL; "" for an action on the collection. */
  readonly name: string;
  readonly options: WriteOptions;
}

/** It looks up its resources in the registry's current catalog. */
export interface ResourceAction {
  /** @throws {StatusError} */
  run(registry: Registry, request: ActionRequest, signal: AbortSignal): Promise<WriteResult>;
}

/** By the catalog's name: "group/resource/subresource". */
export type Actions = Readonly<Record<string, ResourceAction>>;

/** How often other rules may come between the admission of an action and its first transaction. */
const ADMISSIONS_MAX = 20;

/**
 * A namespace that is going away takes no actions, as it takes no objects. Admission judges the action; the writes that it makes are the server's own.
 * @throws {StatusError}
 */
export async function runAction(
  registry: Registry,
  action: ResourceAction,
  { subresource, ...request }: ActionRequest & { readonly subresource: string },
  signal: SignalSource,
): Promise<WriteResult> {
  const { admission } = registry;
  const target = { ...request, subresource };
  for (let times = 0; times < ADMISSIONS_MAX; times++) {
    // The action itself commits nothing, so no compare would detect that the view is behind.
    await refresh(registry);
    requireNamespace(registry, request.resource, request.namespace, request.name);
    if (admission === undefined) return await action.run(registry, request, signalOf(signal));
    const judgement = new ActionJudgement(registry, request.namespace);
    const object = await admitUnstored(admission, target, request.object, signal);
    try {
      const inner = { ...registry, admission: undefined, judgement };
      return await action.run(inner, { ...request, object }, signalOf(signal));
    } catch (error) {
      if (!(error instanceof RulesMoved)) throw error;
    }
  }
  const { resource, name } = request;
  throw conflict(resource, name, "the rules that it is judged by are changed all the time");
}
