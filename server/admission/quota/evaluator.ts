/**
 * Evaluator: computes the usage of an object. Counts as kube-apiserver does: pods, services and claims of volumes
 * and devices have evaluators of their own, all other objects count as one each.
 *
 *   pod-evaluator.ts   service-evaluator.ts   claim-evaluator.ts   device-evaluator.ts
 *   evaluators.ts      all others
 *   device-facts.ts    what claims of devices have to do with classes and pods
 *   scopes.ts          which objects a quota is about
 *   charge.ts          what a write is charged with, or why it is refused
 *   recount.ts         what there is altogether, for the control loop
 *   resource-quota.ts  the plugin: quotas of a namespace, and the charge in the write's transaction
 */
import type { ApiObject } from "../../api/meta.js";
import type { AdmissionOperation } from "../admission.js";
import type { ScopeTerm } from "./quota-object.js";
import type { Usage } from "./usage.js";

export interface Evaluator {
  /** Whether the operation can raise usage. */
  charges(operation: AdmissionOperation, subresource: string): boolean;
  /** Whether this update of the object itself can raise usage; absent = all can. */
  chargesChange?(next: ApiObject, current: ApiObject): boolean;
  /** Whether objects of the resource consume the quota resource of this name. */
  uses(name: string): boolean;
  /** The usage of one object. */
  usage(object: ApiObject, nowMs: number): Usage;
  /** Whether the object is in the scope; absent = the resource supports no scopes. */
  isInScope?(object: ApiObject, term: ScopeTerm): boolean;
  /** Why a quota on these names refuses the object; undefined = it does not. */
  problem?(object: ApiObject, names: readonly string[]): string | undefined;
  /** Whether all objects have the same usage, so that counting them suffices. */
  readonly isCount?: true;
}
