/** Rules for PriorityLevelConfigurations. */

import {
  forbiddenField,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import type { Maybe, Whole } from "../../api/validation-values.js";
import { mandatoryObjects } from "../../flowcontrol/default-objects.js";
import { bitsOfHand, HASH_BITS } from "../../flowcontrol/shuffle-sharding.js";
import { type Rules, validated } from "../generic/validated.js";
import { validateConditions, validateFixedSpec } from "./fixed-specs.js";

interface Queuing {
  readonly queues?: Whole;
  readonly handSize?: Whole;
  readonly queueLengthLimit?: Whole;
}

interface Limits {
  readonly nominalConcurrencyShares?: Maybe<Whole>;
  readonly lendablePercent?: Maybe<Whole>;
  readonly borrowingLimitPercent?: Maybe<Whole>;
  readonly limitResponse?: { readonly type?: string; readonly queuing?: Maybe<Queuing> };
}

interface PriorityLevel extends ApiObject {
  spec?: {
    readonly type?: string;
    readonly limited?: Maybe<Limits>;
    readonly exempt?: Maybe<Limits>;
  };
  status?: { readonly conditions?: Maybe<readonly { readonly type?: string }[]> };
}

/** The only level of its type; its shares may be changed. */
const EXEMPT_NAME = "exempt";
const TYPES = ["Exempt", "Limited"];
const RESPONSES = ["Queue", "Reject"];
const QUEUES_MAX = 10_000_000;

const priorityLevelRules: Rules<PriorityLevel> = {
  object(next, { naming }) {
    const errors = new Problems();
    const { metadata, spec = {} } = next;
    const { type = "", limited, exempt } = spec;
    if ((metadata.name === EXEMPT_NAME) !== (type === "Exempt")) {
      const why = "must be 'Exempt' if and only if `name` is 'exempt'";
      errors.push(invalidValue("spec.type", type, why));
    }
    if (type === "Exempt") {
      if (limited) {
        errors.push(forbiddenField("spec.limited", "must be nil if the type is not Limited"));
      }
      if (exempt) validateShares(exempt, "spec.exempt", errors);
    } else if (type === "Limited") {
      if (exempt) errors.push(forbiddenField("spec.exempt", "must be nil if the type is Limited"));
      if (limited) validateLimits(limited, errors);
      else errors.push(requiredValue("spec.limited", "must not be empty when type is Limited"));
    } else if (type === "") {
      errors.push(requiredValue("spec.type"));
    } else {
      errors.push(unsupportedValue("spec.type", type, TYPES));
    }
    const fixed = mandatoryObjects(naming).levels.filter(
      (one) => one.metadata.name !== EXEMPT_NAME,
    );
    validateFixedSpec(next, fixed, errors);
    return errors;
  },
  status: ({ status }) => validateConditions(status?.conditions),
};

function validateShares(limits: Limits, field: string, errors: FieldError[]): void {
  const { nominalConcurrencyShares, lendablePercent } = limits;
  if ((nominalConcurrencyShares ?? 0) < 0) {
    const path = `${field}.nominalConcurrencyShares`;
    errors.push(invalidValue(path, nominalConcurrencyShares, "must be a non-negative integer"));
  }
  if ((lendablePercent ?? 0) < 0 || (lendablePercent ?? 0) > 100) {
    const why = "must be between 0 and 100, inclusive";
    errors.push(invalidValue(`${field}.lendablePercent`, lendablePercent, why));
  }
}

function validateLimits(limits: Limits, errors: FieldError[]): void {
  validateShares(limits, "spec.limited", errors);
  const { borrowingLimitPercent, limitResponse = {} } = limits;
  if ((borrowingLimitPercent ?? 0) < 0) {
    const field = "spec.limited.borrowingLimitPercent";
    const why = "if specified, must be a non-negative integer";
    errors.push(invalidValue(field, borrowingLimitPercent, why));
  }
  const { type = "", queuing } = limitResponse;
  const field = "spec.limited.limitResponse";
  if (type === "Reject") {
    if (!queuing) return;
    const why = "must be nil if limited.limitResponse.type is not Limited";
    errors.push(forbiddenField(`${field}.queuing`, why));
  } else if (type === "Queue") {
    if (queuing) {
      validateQueuing(queuing, `${field}.queuing`, errors);
      return;
    }
    const why = "must not be empty if limited.limitResponse.type is Limited";
    errors.push(requiredValue(`${field}.queuing`, why));
  } else if (type === "") {
    errors.push(requiredValue(`${field}.type`));
  } else {
    errors.push(unsupportedValue(`${field}.type`, type, RESPONSES));
  }
}

function validateQueuing(queuing: Queuing, field: string, errors: FieldError[]): void {
  const { queues = 0, handSize = 0, queueLengthLimit = 0 } = queuing;
  const bad = (member: keyof Queuing, why: string) =>
    errors.push(invalidValue(`${field}.${member}`, queuing[member] ?? 0, why));
  if (queueLengthLimit <= 0) bad("queueLengthLimit", "must be positive");
  if (queues <= 0) bad("queues", "must be positive");
  else if (queues > QUEUES_MAX) bad("queues", `must not be greater than ${QUEUES_MAX}`);
  if (handSize <= 0) bad("handSize", "must be positive");
  else if (handSize > queues) bad("handSize", `should not be greater than queues (${queues})`);
  else if (handSize > HASH_BITS || bitsOfHand(Number(queues), Number(handSize)) > HASH_BITS) {
    const why = `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${HASH_BITS}`;
    bad("handSize", why);
  }
}

export const validatesPriorityLevel = validated(priorityLevelRules);
