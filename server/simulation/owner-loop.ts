/** runOwnerLoop: a keyed loop over the objects of one kind, each looked at when it changes or what it owns does. */
import type { ApiObject } from "../api/meta.js";
import type { ControlledResource, ObjectKey } from "../controllers/objects-api.js";
import { type KeyedLoop, runKeyedLoop, type Simulation, textOf } from "./keyed-loop.js";
import { OwnerKeys } from "./owned-objects.js";

export interface OwnerLoop<Kind extends ApiObject> {
  /** Group and resource of the kind, whose resource names the loop in logs. */
  readonly group: string;
  readonly resource: string;
  /** Further reasons to look. */
  readonly watches?: (owners: ControlledResource) => KeyedLoop["watches"];
  /** What they own. Default: pods. */
  readonly owned?: { readonly group: string; readonly resource: string };
  /** As `KeyedLoop.sync`, of an object that is there. */
  readonly sync: (owner: Kind, signal: AbortSignal) => Promise<number | undefined>;
}

/** Runs until the signal aborts. */
export async function runOwnerLoop<Kind extends ApiObject>(
  simulation: Simulation,
  loop: OwnerLoop<Kind>,
  signal: AbortSignal,
): Promise<void> {
  const { objects } = simulation;
  const { group, resource, owned = { group: "", resource: "pods" } } = loop;
  const owners = objects.resource(group, resource);
  const watches = [
    { resource: owners, keysOf: (key: ObjectKey) => [textOf(key)] },
    new OwnerKeys(objects, objects.resource(owned.group, owned.resource), owners).watch,
    ...(loop.watches?.(owners) ?? []),
  ];
  const sync = async (key: ObjectKey, until: AbortSignal) => {
    const owner = objects.get(owners, key) as Kind | undefined;
    return owner === undefined ? undefined : await loop.sync(owner, until);
  };
  await runKeyedLoop(simulation, { name: resource, watches, sync }, signal);
}
