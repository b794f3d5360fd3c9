/**
 * Label selectors inside objects (`spec.selector`, affinity, policies): validation, emptiness, and
 * matching of labels. Selectors of requests are in selectors.ts.
 */
import { forbiddenField, invalidValue, invalidWhole, requiredValue } from "./field-errors.js";
import { SELECTOR_TERMS_MAX, SelectorSize } from "./selector-rules.js";
import type { FieldError } from "./status.js";
import { validateLabels } from "./validation-metadata.js";
import { checkLabelValue, checkQualifiedName } from "./validation-names.js";
import type { Maybe } from "./validation-values.js";

export interface LabelSelector {
  readonly matchLabels?: Maybe<Readonly<Record<string, string>>>;
  readonly matchExpressions?: Maybe<readonly LabelExpression[]>;
}

export interface LabelExpression {
  readonly key: string;
  readonly operator: string;
  readonly values?: Maybe<readonly string[]>;
}

/** Whether it is empty and so selects everything. */
export function isEmptySelector(selector: LabelSelector): boolean {
  for (const _ in selector.matchLabels ?? {}) return false;
  return (selector.matchExpressions?.length ?? 0) === 0;
}

/** A selector as messages show it: its members in the order of their declaration, no more of them than one may have. */
export function shownSelector({ matchLabels, matchExpressions }: LabelSelector): object {
  const expressions = (matchExpressions ?? []).slice(0, SELECTOR_TERMS_MAX);
  const labels = shownLabels(matchLabels ?? {});
  return {
    ...(labels.length > 0 && { matchLabels: Object.fromEntries(labels) }),
    ...(expressions.length > 0 && {
      matchExpressions: expressions.map(({ key = "", operator = "", values }) => ({
        key,
        operator,
        ...((values?.length ?? 0) > 0 && { values }),
      })),
    }),
  };
}

/** In the order of their keys; of too many, those that came first. */
function shownLabels(labels: Readonly<Record<string, string>>): [string, string][] {
  const shown: [string, string][] = [];
  for (const key in labels) {
    if (shown.length === SELECTOR_TERMS_MAX) break;
    shown.push([key, labels[key] as string]);
  }
  return shown.sort(([a], [b]) => (a < b ? -1 : 1));
}

export function validateLabelSelector(
  selector: Maybe<LabelSelector>,
  field: string,
  errors: FieldError[],
): void {
  if (selector === undefined || selector === null) return;
  const why = sizeProblem(selector);
  if (why !== undefined) {
    errors.push(invalidWhole(field, why));
    return;
  }
  if (selector.matchLabels) validateLabels(selector.matchLabels, `${field}.matchLabels`, errors);
  selector.matchExpressions?.forEach((expression, index) => {
    validateExpression(expression, `${field}.matchExpressions[${index}]`, errors);
  });
}

/** Its size is judged before its requirements are: the answer is bounded, and so is the work. */
function sizeProblem({ matchLabels, matchExpressions }: LabelSelector): string | undefined {
  const size = new SelectorSize();
  for (const _ in matchLabels ?? {}) {
    const why = size.addTerm() ?? size.addValues(1);
    if (why !== undefined) return why;
  }
  for (const { values } of matchExpressions ?? []) {
    const why = size.addTerm() ?? size.addValues(values?.length ?? 0);
    if (why !== undefined) return why;
  }
  return undefined;
}

function validateExpression(
  { key, operator, values }: LabelExpression,
  field: string,
  errors: FieldError[],
): void {
  switch (operator) {
    case "In":
    case "NotIn":
      if ((values?.length ?? 0) === 0) {
        const why = "must be specified when `operator` is 'In' or 'NotIn'";
        errors.push(requiredValue(`${field}.values`, why));
      }
      break;
    case "Exists":
    case "DoesNotExist":
      if ((values?.length ?? 0) > 0) {
        const why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
        errors.push(forbiddenField(`${field}.values`, why));
      }
      break;
    default:
      errors.push(invalidValue(`${field}.operator`, operator, "not a valid selector operator"));
  }
  validateLabelKey(key, `${field}.key`, errors);
  values?.forEach((value, index) => {
    for (const why of checkLabelValue(value)) {
      errors.push(invalidValue(`${field}.values[${index}]`, value, why));
    }
  });
}

/** A key of labels, taints and tolerations. */
export function validateLabelKey(key: string, field: string, errors: FieldError[]): void {
  for (const why of checkQualifiedName(key)) errors.push(invalidValue(field, key, why));
}

/** Whether a valid selector matches an object with these labels. */
export function selectorMatches(
  selector: LabelSelector,
  labels: Maybe<Readonly<Record<string, string>>>,
): boolean {
  const own = labels ?? {};
  for (const key in selector.matchLabels) {
    if (!Object.hasOwn(own, key) || own[key] !== selector.matchLabels[key]) return false;
  }
  return (selector.matchExpressions ?? []).every(({ key, operator, values }) => {
    const value = Object.hasOwn(own, key) ? own[key] : undefined;
    if (operator === "Exists") return value !== undefined;
    if (operator === "DoesNotExist") return value === undefined;
    const isListed = value !== undefined && (values ?? []).includes(value);
    return operator === "In" ? isListed : !isListed;
  });
}
