/** Rules for Leases and LeaseCandidates. */

import { forbiddenField, invalidValue, requiredValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { validateLabelKey } from "../../api/validation-selectors.js";
import { type Maybe, validateChoice, type Whole } from "../../api/validation-values.js";
import { checkImmutable } from "../generic/status-parts.js";
import { type Rules, validated } from "../generic/validated.js";

interface Lease extends ApiObject {
  spec?: {
    readonly leaseDurationSeconds?: Maybe<Whole>;
    readonly leaseTransitions?: Maybe<Whole>;
    readonly strategy?: Maybe<string>;
    readonly preferredHolder?: Maybe<string>;
  };
}

const STRATEGIES = ["OldestEmulationVersion"];

const leaseRules: Rules<Lease> = {
  object({ spec = {} }) {
    const errors = new Problems();
    const duration = spec.leaseDurationSeconds ?? undefined;
    if (duration !== undefined && duration <= 0) {
      const why = "must be greater than 0";
      errors.push(invalidValue("spec.leaseDurationSeconds", duration, why));
    }
    const transitions = spec.leaseTransitions ?? 0;
    if (transitions < 0) {
      const why = "must be greater than or equal to 0";
      errors.push(invalidValue("spec.leaseTransitions", transitions, why));
    }
    const strategy = spec.strategy ?? "";
    if (spec.strategy !== undefined && spec.strategy !== null) {
      validateStrategy(strategy, "spec.strategy", errors);
    }
    if ((spec.preferredHolder ?? "") !== "" && strategy === "") {
      const why = "may only be specified if `strategy` is defined";
      errors.push(forbiddenField("spec.preferredHolder", why));
    }
    return errors;
  },
};

function validateStrategy(strategy: string, field: string, errors: FieldError[]): void {
  if (strategy.includes("/")) validateLabelKey(strategy, field, errors);
  else validateChoice(strategy, field, STRATEGIES, errors);
}

interface Candidate extends ApiObject {
  spec?: {
    readonly leaseName?: string;
    readonly binaryVersion?: string;
    readonly emulationVersion?: string;
    readonly strategy?: string;
  };
}

/** Versions as semver.org defines them; the part after the patch is checked loosely. */
const SEMANTIC = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)([-+][-+.0-9A-Za-z]+)?$/;

const candidateRules: Rules<Candidate> = {
  object({ spec = {} }) {
    const errors = new Problems();
    const { emulationVersion = "", binaryVersion = "" } = spec;
    for (const [member, version] of [
      ["emulationVersion", emulationVersion],
      ["binaryVersion", binaryVersion],
    ] as const) {
      if (version === "" || SEMANTIC.test(version)) continue;
      errors.push(invalidValue(`spec.${member}`, version, "must be a valid semantic version"));
    }
    if (spec.strategy === "OldestEmulationVersion" && emulationVersion === "") {
      const why = "must be specified when `strategy` is 'OldestEmulationVersion'";
      errors.push(requiredValue("spec.emulationVersion", why));
    }
    return errors;
  },
  change: (next, current) => checkImmutable(next, current, ["spec.leaseName"]),
};

export const validatesLease = validated(leaseRules);
export const validatesLeaseCandidate = validated(candidateRules);
