/**
 * DeleteOptions: a client's options for a deletion, in the body or the query (S1-DEL-01..06).
 */

import { invalidValue, unsupportedValue } from "../../api/field-errors.js";
import type { Naming } from "../../api/naming.js";
import { Problems } from "../../api/problems.js";
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
  /** Deletes an unreadable object, ignoring preconditions and finalizers (S1-UNS). */
  readonly ignoresReadErrors?: boolean | undefined;
}

/** The API's name of `ignoresReadErrors`. */
export const IGNORE_READ_ERRORS_FIELD = "ignoreStoreReadErrorWithClusterBreakingPotential";

const POLICIES = ["Foreground", "Background", "Orphan"] as const;

/** Options as the client sent them: the policy may be any text. */
export interface RawDeleteOptions extends Omit<DeleteOptions, "propagationPolicy"> {
  readonly propagationPolicy?: string | undefined;
}

/** @throws {StatusError} 422 for contradictory or meaningless values */
export function checkDeleteOptions(naming: Naming, options: RawDeleteOptions): DeleteOptions {
  const { propagationPolicy, orphanDependents } = options;
  const errors = new Problems();
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
  if (options.ignoresReadErrors === true) errors.push(...checkAlone(options));
  if (errors.length > 0) throw invalidOptions(naming, "DeleteOptions", errors);
  return { ...options, propagationPolicy: policy };
}

/** The other options cannot be checked against an unreadable object (S1-UNS-07). */
function checkAlone(options: RawDeleteOptions): FieldError[] {
  const set: readonly (readonly [string, boolean])[] = [
    ["dryRun", options.isDryRun],
    ["propagationPolicy", options.propagationPolicy !== undefined],
    ["orphanDependents", options.orphanDependents !== undefined],
    ["gracePeriodSeconds", options.gracePeriodSeconds !== undefined],
    ["preconditions", options.preconditions !== undefined],
  ];
  return set
    .filter(([, isSet]) => isSet)
    .map(([name]) =>
      invalidValue(IGNORE_READ_ERRORS_FIELD, true, `cannot be set together with .${name}`),
    );
}
