/**
 * Evaluator: what an object costs its namespace. As upstream counts: pods, services and claims in ways
 * of their own, everything else one by one.
 *
 *   pod-evaluator.ts   service-evaluator.ts   claim-evaluator.ts   evaluators.ts   all others
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
  /** Whether such a write of the resource can raise usage. */
  charges(operation: AdmissionOperation, subresource: string): boolean;
  /** Whether objects of the resource use what a quota calls by this name. */
  uses(name: string): boolean;
  /** What one object uses. */
  usage(object: ApiObject, nowMs: number): Usage;
  /** Whether the object is in the scope; absent = objects of the resource are in none. */
  isInScope?(object: ApiObject, term: ScopeTerm): boolean;
  /** What is wrong with an object whose quota bounds these names; undefined = nothing. */
  problem?(object: ApiObject, names: readonly string[]): string | undefined;
  /** Whether all objects use the same, so that their number is enough. */
  readonly isCount?: true;
}
