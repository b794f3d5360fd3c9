/**
 * The selectors of an access review (S2-SAR-06): either the text of a request's parameter, or its
 * requirements. The authorizer gets them as a request's query, so that a review and the request
 * look the same to it.
 */

import {
  forbiddenField,
  invalidValue,
  invalidWhole,
  requiredValue,
} from "../../api/field-errors.js";
import { Problems } from "../../api/problems.js";
import { parseFieldSelector } from "../../api/selector-fields.js";
import { parseLabelSelector } from "../../api/selector-labels.js";
import { SelectorSize } from "../../api/selector-rules.js";
import type { FieldError } from "../../api/status.js";
import { checkLabelValue, checkQualifiedName } from "../../api/validation-names.js";
import { EMPTY_QUERY, parseQuery, type Query } from "../../request/query.js";
import { formatRequirement } from "../subresources/label-selector.js";

export interface SelectorAttributes {
  readonly rawSelector?: string | null;
  readonly requirements?: readonly Requirement[] | null;
}

interface Requirement {
  readonly key?: string;
  readonly operator?: string;
  readonly values?: readonly string[] | null;
}

export interface ReviewSelectors {
  readonly fieldSelector?: SelectorAttributes | null;
  readonly labelSelector?: SelectorAttributes | null;
}

/** The problems of the selectors; `field` is the path of the resource attributes. */
export function validateSelectors(selectors: ReviewSelectors, field: string): FieldError[] {
  return [
    ...validateSelector(selectors.fieldSelector, `${field}.fieldSelector`, checkFieldTerm),
    ...validateSelector(selectors.labelSelector, `${field}.labelSelector`, checkLabelTerm),
  ];
}

function validateSelector(
  selector: SelectorAttributes | null | undefined,
  field: string,
  checkTerm: (requirement: Requirement, field: string) => FieldError[],
): FieldError[] {
  if (selector == null) return [];
  const errors = new Problems();
  const raw = selector.rawSelector ?? "";
  const requirements = selector.requirements ?? [];
  if (raw !== "" && requirements.length > 0) {
    const why = "may not specified at the same time as requirements";
    errors.push(invalidValue(`${field}.rawSelector`, raw, why));
  }
  if (raw === "" && requirements.length === 0) {
    const why = `when ${field} is specified, requirements or rawSelector is required`;
    errors.push(requiredValue(`${field}.requirements`, why));
  }
  const size = new SelectorSize();
  for (const [index, requirement] of requirements.entries()) {
    const why = size.addTerm() ?? size.addValues(requirement.values?.length ?? 0);
    if (why !== undefined) {
      errors.push(invalidWhole(`${field}.requirements`, why));
      break;
    }
    errors.push(...checkTerm(requirement, `${field}.requirements[${index}]`));
  }
  return errors;
}

function checkFieldTerm(requirement: Requirement, field: string): FieldError[] {
  const { key = "" } = requirement;
  const errors = key === "" ? [requiredValue(`${field}.key`, "must be specified")] : [];
  return [...errors, ...checkValues(requirement, field)];
}

function checkLabelTerm(requirement: Requirement, field: string): FieldError[] {
  const { key = "", values } = requirement;
  return [
    ...checkValues(requirement, field),
    ...checkQualifiedName(key).map((why) => invalidValue(`${field}.key`, key, why)),
    ...(values ?? []).flatMap((value, index) =>
      checkLabelValue(value).map((why) => invalidValue(`${field}.values[${index}]`, value, why)),
    ),
  ];
}

/** An unknown operator may come from a newer client. */
function checkValues({ operator = "", values }: Requirement, field: string): FieldError[] {
  const count = values?.length ?? 0;
  if ((operator === "In" || operator === "NotIn") && count === 0) {
    const why = "must be specified when `operator` is 'In' or 'NotIn'";
    return [requiredValue(`${field}.values`, why)];
  }
  if ((operator === "Exists" || operator === "DoesNotExist") && count > 0) {
    const why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
    return [forbiddenField(`${field}.values`, why)];
  }
  return [];
}

/**
 * The selectors as a request's URL would have them, and the parts that are ignored. Selectors
 * narrow, so an authorizer that sees fewer of them allows less (S2-SAR-07).
 */
export function readSelectors(
  { fieldSelector, labelSelector }: ReviewSelectors,
  field: string,
): { readonly query: Query; readonly problems: readonly string[] } {
  const fields = readSelector(fieldSelector, FIELDS);
  const labels = readSelector(labelSelector, LABELS);
  const problems = [
    ...describe(fields, `${field}.fieldSelector`),
    ...describe(labels, `${field}.labelSelector`),
  ];
  const parameters: string[] = [];
  if (fields.text !== "") parameters.push(`fieldSelector=${encodeURIComponent(fields.text)}`);
  if (labels.text !== "") parameters.push(`labelSelector=${encodeURIComponent(labels.text)}`);
  const query = parameters.length === 0 ? EMPTY_QUERY : parseQuery(parameters.join("&"));
  return { query, problems };
}

interface ReadSelector {
  readonly text: string;
  /** Whether a part or all of it is not understood. */
  readonly isIncomplete: boolean;
}

interface Grammar {
  /** @throws {StatusError} */
  readonly parse: (text: string) => unknown;
  /** undefined: no request can express it. */
  readonly toTerm: (requirement: Requirement) => string | undefined;
}

function readSelector(
  selector: SelectorAttributes | null | undefined,
  { parse, toTerm }: Grammar,
): ReadSelector {
  const text = selector?.rawSelector ?? "";
  if (text !== "") {
    try {
      parse(text);
      return { text, isIncomplete: false };
    } catch {
      return { text: "", isIncomplete: true };
    }
  }
  const terms = (selector?.requirements ?? []).map(toTerm);
  const known = terms.filter((term) => term !== undefined);
  return { text: known.join(","), isIncomplete: known.length < terms.length };
}

function describe({ text, isIncomplete }: ReadSelector, field: string): string[] {
  if (!isIncomplete) return [];
  return [`${field} ${text === "" ? "" : "partially "}ignored due to parse error`];
}

/** A request can only ask for one value of a field, or exclude one. */
const FIELDS: Grammar = {
  parse: parseFieldSelector,
  toTerm({ key = "", operator, values }) {
    const [value, ...others] = values ?? [];
    if (value === undefined || others.length > 0) return undefined;
    const escaped = value.replace(/[\\,=]/g, "\\$&");
    if (operator === "In") return `${key}=${escaped}`;
    return operator === "NotIn" ? `${key}!=${escaped}` : undefined;
  },
};

const LABELS: Grammar = {
  parse: parseLabelSelector,
  toTerm: ({ key = "", operator, values }) => formatRequirement(key, operator, values),
};
