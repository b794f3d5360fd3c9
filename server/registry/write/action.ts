/**
 * Actions: creates that do something to stored objects and store nothing of themselves (S1-GEN-08).
 * The catalog knows them by name (ActionResource); what they do is here and in ../subresources.
 */

import type { ApiObject } from "../../api/meta.js";
import type { ActionResource } from "../../kinds/served-resource.js";
import { type SignalSource, signalOf } from "../../request/lazy-signal.js";
import type { Registry, WriteOptions, WriteResult } from "../generic/registry.js";
import { admitUnstored } from "./admit.js";
import { refresh } from "./commit.js";

/** A request to an action. */
export interface ActionRequest {
  readonly resource: ActionResource;
  readonly object: ApiObject;
  readonly namespace: string;
  /** Of the object in the URL; "" where the action belongs to the collection. */
  readonly name: string;
  readonly options: WriteOptions;
}

/** What it works on it looks up in the registry's current catalog. */
export interface ResourceAction {
  /** @throws {StatusError} */
  run(registry: Registry, request: ActionRequest, signal: AbortSignal): Promise<WriteResult>;
}

/** By the name that the catalog has: "group/resource/subresource". */
export type Actions = Readonly<Record<string, ResourceAction>>;

/**
 * Admission is asked about the action; the writes that it consists of are the server's own.
 * @throws {StatusError}
 */
export async function runAction(
  registry: Registry,
  action: ResourceAction,
  { subresource, ...request }: ActionRequest & { readonly subresource: string },
  signal: SignalSource,
): Promise<WriteResult> {
  const { admission } = registry;
  // Nothing of the action itself is committed, so nothing else would notice that a rule has changed.
  await refresh(registry);
  const target = { ...request, subresource };
  const object = await admitUnstored(admission, target, request.object, signal);
  const inner = admission === undefined ? registry : { ...registry, admission: undefined };
  return await action.run(inner, { ...request, object }, signalOf(signal));
}
