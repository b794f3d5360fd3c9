/**
 * The table of values in the chart's README, made of values.yaml: each value with its default and the
 * comment before it that begins with "--". A test holds file and table together.
 */
import { isMap, isScalar, type Pair, parseDocument, type YAMLMap } from "yaml";

export interface ChartValue {
  /** "etcd.tls.secretName" */
  readonly path: string;
  readonly default: unknown;
  readonly meaning: string;
}

const MARK = "-- ";
export const TABLE_BEGIN = "<!-- values -->";
export const TABLE_END = "<!-- end of values -->";

/** @throws {Error} a value without a comment */
export function readChartValues(text: string): ChartValue[] {
  const { contents } = parseDocument(text);
  if (!isMap(contents)) throw new Error("values.yaml is no mapping");
  const values: ChartValue[] = [];
  collect(contents as YAMLMap, "", values, contents.commentBefore ?? "");
  return values;
}

function collect(map: YAMLMap, prefix: string, values: ChartValue[], first: string): void {
  map.items.forEach((pair, index) => {
    const path = `${prefix}${nameOf(pair)}`;
    const comment = commentOf(pair) || (index === 0 ? first : "");
    const meaning = comment
      .split("\n")
      .map((line) => line.trim())
      .find((line) => line.startsWith(MARK))
      ?.slice(MARK.length);
    if (meaning !== undefined) {
      const node = pair.value as { toJSON?(): unknown } | null;
      values.push({ path, default: node?.toJSON?.() ?? null, meaning });
    } else if (isMap(pair.value)) {
      collect(pair.value as YAMLMap, `${path}.`, values, pair.value.commentBefore ?? "");
    } else {
      throw new Error(`values.yaml: ${path} has no comment that begins with "--"`);
    }
  });
}

function nameOf(pair: Pair): string {
  return isScalar(pair.key) ? String(pair.key.value) : String(pair.key);
}

function commentOf(pair: Pair): string {
  return isScalar(pair.key) ? (pair.key.commentBefore ?? "") : "";
}

export function renderValuesTable(values: readonly ChartValue[]): string {
  const rows = values.map(({ path, default: value, meaning }) => {
    return `| \`${path}\` | \`${JSON.stringify(value)}\` | ${meaning} |`;
  });
  return ["| value | default | meaning |", "|---|---|---|", ...rows].join("\n");
}

/** The README with its table made anew. @throws {Error} the marks are not there */
export function withValuesTable(readme: string, table: string): string {
  const [before, rest] = readme.split(TABLE_BEGIN);
  const after = rest?.split(TABLE_END)[1];
  if (after === undefined) throw new Error(`README.md has no ${TABLE_BEGIN} and ${TABLE_END}`);
  return `${before}${TABLE_BEGIN}\n${table}\n${TABLE_END}${after}`;
}
