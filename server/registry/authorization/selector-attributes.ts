/**
 * The selectors of an access review (S2-SAR-06): either the text of a request's parameter, or its
 * requirements. An authorizer gets them as the query of the request that is asked about, so that a
 * review and the request look the same to it.
 */
import { forbiddenField, invalidValue, requiredValue } from "../../api/field-errors.js";
import type { FieldError } from "../../api/status.js";
import { EMPTY_QUERY, parseQuery, type Query } from "../../request/query.js";

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

/** What is wrong with the selectors; `field` is that of the resource attributes. */
export function validateSelectors(selectors: ReviewSelectors, field: string): FieldError[] {
  const errors: FieldError[] = [];
  validateSelector(selectors.fieldSelector, `${field}.fieldSelector`, errors);
  validateSelector(selectors.labelSelector, `${field}.labelSelector`, errors);
  return errors;
}

function validateSelector(
  selector: SelectorAttributes | null | undefined,
  field: string,
  errors: FieldError[],
): void {
  if (selector == null) return;
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
  requirements.forEach(({ key = "", operator = "", values }, index) => {
    const at = `${field}.requirements[${index}]`;
    if (key === "") errors.push(requiredValue(`${at}.key`, "must be specified"));
    const count = values?.length ?? 0;
    if ((operator === "In" || operator === "NotIn") && count === 0) {
      const why = "must be specified when `operator` is 'In' or 'NotIn'";
      errors.push(requiredValue(`${at}.values`, why));
    }
    if ((operator === "Exists" || operator === "DoesNotExist") && count > 0) {
      const why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
      errors.push(forbiddenField(`${at}.values`, why));
    }
  });
}

/** As the request would have them in its URL. */
export function queryOf({ fieldSelector, labelSelector }: ReviewSelectors): Query {
  const fields = textOf(fieldSelector, fieldTerms);
  const labels = textOf(labelSelector, labelTerms);
  if (fields === "" && labels === "") return EMPTY_QUERY;
  const parameters: string[] = [];
  if (fields !== "") parameters.push(`fieldSelector=${encodeURIComponent(fields)}`);
  if (labels !== "") parameters.push(`labelSelector=${encodeURIComponent(labels)}`);
  return parseQuery(parameters.join("&"));
}

function textOf(
  selector: SelectorAttributes | null | undefined,
  toTerms: (requirement: Requirement) => string[],
): string {
  const raw = selector?.rawSelector ?? "";
  return raw === "" ? (selector?.requirements ?? []).flatMap(toTerms).join(",") : raw;
}

/**
 * A request can only ask for one value of a field, or exclude some. What it could not say is left out:
 * selectors narrow, so an authorizer that sees fewer allows less.
 */
function fieldTerms({ key = "", operator, values }: Requirement): string[] {
  const escaped = (values ?? []).map((value) => value.replace(/[\\,=]/g, "\\$&"));
  if (operator === "NotIn") return escaped.map((value) => `${key}!=${value}`);
  return operator === "In" && escaped.length === 1 ? [`${key}=${escaped[0]}`] : [];
}

function labelTerms({ key = "", operator, values }: Requirement): string[] {
  const list = `(${(values ?? []).join(",")})`;
  switch (operator) {
    case "In":
      return [`${key} in ${list}`];
    case "NotIn":
      return [`${key} notin ${list}`];
    case "Exists":
      return [key];
    case "DoesNotExist":
      return [`!${key}`];
    default:
      return [];
  }
}
