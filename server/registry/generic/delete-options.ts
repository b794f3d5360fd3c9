/**
 * DeleteOptions: what a client may say about a deletion, in the body or the query (S1-DEL-01..06).
 */
import { invalidValue, unsupportedValue } from "../../api/field-errors.js";
import type { Naming } from "../../api/naming.js";
import { type FieldError, invalidOptions } from "../../api/status.js";

export type PropagationPolicy = "Foreground" | "Background" | "Orphan";

export interface DeleteOptions {
  /** Negative values count as 1. */
  readonly gracePeriodSeconds?: number | undefined;
  readonly preconditions?:
    | { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined }
    | undefined;
  readonly orphanDependents?: boolean | undefined;
  readonly propagationPolicy?: PropagationPolicy | undefined;
  readonly isDryRun: boolean;
}

const POLICIES = ["Foreground", "Background", "Orphan"] as const;

/** As a client sent them: the policy may be any text. */
export interface RawDeleteOptions extends Omit<DeleteOptions, "propagationPolicy"> {
  readonly propagationPolicy?: string | undefined;
}

/** @throws {StatusError} 422 for values that contradict each other or mean nothing */
export function checkDeleteOptions(naming: Naming, options: RawDeleteOptions): DeleteOptions {
  const { propagationPolicy, orphanDependents } = options;
  const errors: FieldError[] = [];
  if (propagationPolicy !== undefined && orphanDependents !== undefined) {
    errors.push(
      invalidValue(
        "propagationPolicy",
        propagationPolicy,
        "orphanDependents and deletionPropagation cannot be both set",
      ),
    );
  }
  const policy = POLICIES.find((known) => known === propagationPolicy);
  if (propagationPolicy !== undefined && policy === undefined) {
    errors.push(unsupportedValue("propagationPolicy", propagationPolicy, [...POLICIES, "nil"]));
  }
  if (errors.length > 0) throw invalidOptions(naming, "DeleteOptions", errors);
  return { ...options, propagationPolicy: policy };
}
