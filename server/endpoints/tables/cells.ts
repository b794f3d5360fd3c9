/**
 * Building blocks of columns: access to fields that may be absent, and the formatting of cells
 * (S1-TABLE-07). Pure.
 */
import type { Cell, Column, TablePrinter } from "../../kinds/table-printer.js";

export type Fields = Readonly<Record<string, unknown>>;

const NO_FIELDS: Fields = Object.freeze({});

/** The value at a path of member names; undefined if a member is missing. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (typeof found !== "object" || found === null) return undefined;
    found = (found as Fields)[name];
  }
  return found === null ? undefined : found;
}

export function text(value: unknown, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === "string" ? found : "";
}

/** A number; 0 if absent. */
export function whole(value: unknown, ...path: readonly string[]): number {
  const found = at(value, ...path);
  return typeof found === "number" ? found : 0;
}

export function fields(value: unknown, ...path: readonly string[]): Fields {
  const found = at(value, ...path);
  return typeof found === "object" && found !== null ? (found as Fields) : NO_FIELDS;
}

export function list(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

export function texts(value: unknown, ...path: readonly string[]): string[] {
  return list(value, ...path).map(String);
}

/** A column and the function for its cells. */
export interface ColumnRule {
  readonly column: Column;
  cell(object: Fields, nowMs: number): Cell;
}

type CellOf = ColumnRule["cell"];

function rule(name: string, type: Column["type"], cell: CellOf): ColumnRule {
  return { column: { name, type, format: "", description: "", priority: 0 }, cell };
}

export function textColumn(name: string, cell: CellOf): ColumnRule {
  return rule(name, "string", cell);
}

/** A text that is a name. */
export function nameColumn(name: string, cell: CellOf): ColumnRule {
  const { column } = rule(name, "string", cell);
  return { column: { ...column, format: "name" }, cell };
}

export function integerColumn(name: string, cell: CellOf): ColumnRule {
  return rule(name, "integer", cell);
}

export function booleanColumn(name: string, cell: CellOf): ColumnRule {
  return rule(name, "boolean", cell);
}

/** Shows a column only with `-o wide`. */
export function wide({ column, cell }: ColumnRule): ColumnRule {
  return { column: { ...column, priority: 1 }, cell };
}

export const NAME_COLUMN: Column = {
  name: "Name",
  type: "string",
  format: "name",
  description: "Name must be unique within a namespace. It cannot be changed after creation.",
  priority: 0,
};

export const AGE_COLUMN: Column = {
  name: "Age",
  type: "string",
  format: "",
  description: "The time since the server created the object.",
  priority: 0,
};

export const NAME: ColumnRule = {
  column: NAME_COLUMN,
  cell: (object) => text(object, "metadata", "name"),
};

export const AGE: ColumnRule = {
  column: AGE_COLUMN,
  cell: (object, nowMs) => age(text(object, "metadata", "creationTimestamp"), nowMs),
};

/** A table whose cells are computed from the parsed object in its stored version. */
export function table(...rules: readonly ColumnRule[]): TablePrinter {
  return {
    columns: rules.map(({ column }) => column),
    row(object, nowMs) {
      const parsed = JSON.parse(object.bytes.toString("utf8")) as Fields;
      return { cells: rules.map(({ cell }) => cell(parsed, nowMs)) };
    },
  };
}

/** The time since a timestamp; "<unknown>" without one. */
export function age(timestamp: string, nowMs: number): string {
  if (timestamp === "") return "<unknown>";
  return humanDuration(nowMs - Date.parse(timestamp));
}

const SECOND_MS = 1_000;

/** One or two units, finer for shorter times, as kubectl formats durations. */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / SECOND_MS);
  // Two machines' clocks may differ by a second.
  if (!(seconds >= -1)) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 2 * 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return withRest(minutes, "m", seconds % 60, "s");
  if (minutes < 3 * 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return withRest(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 24 * 8) return withRest(days, "d", hours % 24, "h");
  if (days < 365 * 2) return `${days}d`;
  const years = Math.floor(days / 365);
  if (days < 365 * 8) return withRest(years, "y", days % 365, "d");
  return `${years}y`;
}

function withRest(value: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${value}${unit}` : `${value}${unit}${rest}${restUnit}`;
}

export function orNone(value: string, word = "<none>"): string {
  return value === "" ? word : value;
}

/** "a=1,b=2", sorted by key; "<none>" if empty. */
export function labelsText(labels: Fields): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${String(value)}`);
  return orNone(pairs.sort().join(","));
}

/** A label selector in its text form; "" if it selects everything or nothing. */
export function selectorText(selector: Fields): string {
  const terms: [key: string, text: string][] = Object.entries(fields(selector, "matchLabels")).map(
    ([key, value]) => [key, `${key}=${String(value)}`],
  );
  for (const expression of list(selector, "matchExpressions")) {
    const key = text(expression, "key");
    const values = texts(expression, "values").sort().join(",");
    switch (text(expression, "operator")) {
      case "In":
        terms.push([key, `${key} in (${values})`]);
        break;
      case "NotIn":
        terms.push([key, `${key} notin (${values})`]);
        break;
      case "Exists":
        terms.push([key, key]);
        break;
      case "DoesNotExist":
        terms.push([key, `!${key}`]);
        break;
    }
  }
  // By code unit, as kube-apiserver sorts keys; the sort is stable.
  terms.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return terms.map(([, term]) => term).join(",");
}

/** At most `max` items, and the number of further ones. */
export function firstFew(items: readonly string[], max: number, separator = ","): string {
  const shown = items.slice(0, max).join(separator);
  return items.length > max ? `${shown} + ${items.length - max} more...` : shown;
}

/** Whether the condition of this type is true. */
export function isConditionTrue(conditions: readonly unknown[], type: string): boolean {
  return text(conditionOf(conditions, type), "status") === "True";
}

export function conditionOf(conditions: readonly unknown[], type: string): Fields | undefined {
  return conditions.find((condition) => text(condition, "type") === type) as Fields | undefined;
}

export function isBeingDeleted(object: Fields): boolean {
  return at(object, "metadata", "deletionTimestamp") !== undefined;
}

/** The wide columns of workloads: names and images of containers. */
export function containerColumns(...podSpec: readonly string[]): ColumnRule[] {
  const join = (object: Fields, field: string) =>
    list(object, ...podSpec, "containers")
      .map((container) => text(container, field))
      .join(",");
  return [
    wide(textColumn("Containers", (object) => join(object, "name"))),
    wide(textColumn("Images", (object) => join(object, "image"))),
  ];
}

export function selectorColumn(...path: readonly string[]): ColumnRule {
  return wide(textColumn("Selector", (object) => orNone(selectorText(fields(object, ...path)))));
}

/** A text field of the specification as is. */
export function specText(name: string, field: string) {
  return textColumn(name, (object) => text(object, "spec", field));
}

/** Number of list items shown. */
export const LIST_MAX = 3;

export function fewOrUnset(items: readonly string[]): string {
  return orNone(firstFew(items, LIST_MAX), "<unset>");
}
