/**
 * approval of a CertificateSigningRequest: only conditions change, and a decision is final.
 * Authorization and admission decide who may approve for which signer.
 */

import { isRecord } from "../../../storage/base/is-record.js";
import { deepEqual } from "../../api/deep-equal.js";
import { forbiddenField, invalidValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { formatTime } from "../../api/time.js";
import { conditionsOf } from "./conditions.js";
import type { PartDefinition } from "./definition.js";

/** Conditions that are decisions. */
const DECISIONS = ["Approved", "Denied", "Failed"] as const;

export const approval: PartDefinition = {
  part: {
    merge(sent, current, { nowMs }) {
      const status = isRecord(current.status) ? current.status : {};
      const conditions = withTimes(conditionsOf(sent), conditionsOf(current), formatTime(nowMs));
      const { spec } = current;
      return { ...sent, spec, status: { ...status, conditions } };
    },
    validate: (next, current) => [...checkDecisions(next), ...checkKept(next, current)],
  },
};

type Conditions = readonly Record<string, unknown>[];

/** Sets the times of a condition's update and of its status's last change. */
function withTimes(next: Conditions, before: Conditions, now: string): Conditions {
  return next.map((condition) => {
    const known = before.find(({ type }) => type === condition.type);
    const isSame = known?.status === condition.status;
    const lastTransitionTime =
      condition.lastTransitionTime ?? (isSame ? known?.lastTransitionTime : undefined) ?? now;
    return { ...condition, lastUpdateTime: condition.lastUpdateTime ?? now, lastTransitionTime };
  });
}

function checkDecisions(next: ApiObject): FieldError[] {
  const errors = new Problems();
  const conditions = conditionsOf(next);
  conditions.forEach(({ type, status }, index) => {
    if (DECISIONS.some((decision) => decision === type) && status !== "True") {
      const field = `status.conditions[${index}].status`;
      errors.push(invalidValue(field, status, 'must be "True"'));
    }
  });
  const types = conditions.map(({ type }) => type);
  if (types.includes("Approved") && types.includes("Denied")) {
    const second = Math.max(types.indexOf("Approved"), types.indexOf("Denied"));
    const why = "Approved and Denied conditions are mutually exclusive";
    errors.push(invalidValue(`status.conditions[${second}].type`, types[second], why));
  }
  return errors;
}

/** A decision can be made, but not withdrawn or rewritten. */
function checkKept(next: ApiObject, current: ApiObject): FieldError[] {
  const errors = new Problems();
  for (const decision of DECISIONS) {
    const of = (object: ApiObject) => conditionsOf(object).filter(({ type }) => type === decision);
    const [before, after] = [of(current), of(next)];
    if (before.length > after.length) {
      const why = `updates may not remove a condition of type ${JSON.stringify(decision)}`;
      errors.push(forbiddenField("status.conditions", why));
    } else if (before.length > 0 && !deepEqual(before, after.slice(0, before.length))) {
      const why = `updates may not modify a condition of type ${JSON.stringify(decision)}`;
      errors.push(forbiddenField("status.conditions", why));
    }
  }
  return errors;
}
