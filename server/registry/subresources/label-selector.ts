/** Label selectors inside objects, as the text that selectors in requests are written in. */
import { compileSelector, type Selector } from "../../api/selectors.js";

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>> | null;
  readonly matchExpressions?:
    | readonly {
        readonly key: string;
        readonly operator: string;
        readonly values?: readonly string[] | null;
      }[]
    | null;
}

/** Terms in the order of their keys; "" for a selector that says nothing. */
export function formatLabelSelector(selector: LabelSelector): string {
  const terms = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => ({
    key,
    text: `${key}=${value}`,
  }));
  for (const { key, operator, values } of selector.matchExpressions ?? []) {
    terms.push({ key, text: formatExpression(key, operator, values ?? []) });
  }
  terms.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return terms.map(({ text }) => text).join(",");
}

function formatExpression(key: string, operator: string, values: readonly string[]): string {
  const list = `(${values.toSorted().join(",")})`;
  switch (operator) {
    case "In":
      return `${key} in ${list}`;
    case "NotIn":
      return `${key} notin ${list}`;
    case "Exists":
      return key;
    default:
      return `!${key}`;
  }
}

/** Matches objects of one namespace. @throws {StatusError} 400 for a selector that makes no sense */
export function compileLabelSelector(selector: LabelSelector, namespace: string): Selector {
  return compileSelector({ namespace, labelSelector: formatLabelSelector(selector) });
}
