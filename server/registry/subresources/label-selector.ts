/** Formats label selectors of objects as the selector text of requests. */
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

/** Terms sorted by key; "" for an empty selector. */
export function formatLabelSelector(selector: LabelSelector): string {
  const terms = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => ({
    key,
    text: `${key}=${value}`,
  }));
  for (const { key, operator, values } of selector.matchExpressions ?? []) {
    // The selector parser refuses unknown operators.
    terms.push({ key, text: formatRequirement(key, operator, values) ?? `${key} ${operator}` });
  }
  terms.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return terms.map(({ text }) => text).join(",");
}

/** One requirement as in a request's URL; undefined for an unknown operator. */
export function formatRequirement(
  key: string,
  operator: string | undefined,
  values: readonly string[] | null | undefined,
): string | undefined {
  const list = `(${(values ?? []).toSorted().join(",")})`;
  switch (operator) {
    case "In":
      return `${key} in ${list}`;
    case "NotIn":
      return `${key} notin ${list}`;
    case "Exists":
      return key;
    case "DoesNotExist":
      return `!${key}`;
    default:
      return undefined;
  }
}

/** Matches objects of one namespace. @throws {StatusError} 400 for an invalid selector */
export function compileLabelSelector(selector: LabelSelector, namespace: string): Selector {
  return compileSelector({ namespace, labelSelector: formatLabelSelector(selector) });
}
