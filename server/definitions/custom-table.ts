/** Tables of custom resources: the definition's columns, each evaluated by its JSONPath (S1-TABLE-06). */
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { JsonValue } from "../api/meta.js";
import { age, NAME_COLUMN } from "../endpoints/tables/cells.js";
import type { Cell, Column, TablePrinter } from "../kinds/table-printer.js";
import { stringifyJson } from "../schema/json-text.js";
import { parseJson } from "../schema/parse-json.js";
import type { ColumnDefinition } from "../structural/definition/check-version.js";
import {
  type JsonPath,
  JsonPathError,
  parseJsonPath,
  VISITS_MAX,
} from "../structural/json-path.js";

const AGE: ColumnDefinition = {
  name: "Age",
  type: "date",
  description: "The time since the server created the object.",
  jsonPath: ".metadata.creationTimestamp",
};

interface CompiledColumn {
  readonly column: Column;
  readonly path: JsonPath;
}

/** Characters of all paths together: they are compiled in one turn, and nobody reads a table of thousands of columns. */
const PATHS_CHARS_MAX = 64 * 1024;
/** Text in the cells of a row, some of which may show the object whole. */
const ROW_CHARS_MAX = 3 * 1024 * 1024;

/** The cached values of a row; a date is kept as its time, because its age changes. */
type Values = readonly (JsonValue | undefined)[];

/**
 * An object's values are cached with it, as tables are requested repeatedly. Paths are compiled for the
 * first table. A definition with an invalid path, which kube-apiserver accepts, or with very long ones gets the
 * default columns. All cells of a row share a budget; beyond it they are empty.
 */
export function customPrinter(
  definitions: readonly ColumnDefinition[],
  served = (object: StoredObject) => object,
): TablePrinter {
  let compiled: readonly CompiledColumn[] | undefined;
  const columns = () => {
    compiled ??= compileColumns(definitions.length === 0 ? [AGE] : definitions);
    return compiled;
  };
  const known = new WeakMap<StoredObject, Values>();
  const valuesOf = (object: StoredObject): Values => {
    let values = known.get(object);
    if (values === undefined) {
      values = valuesIn(parseJson(served(object).bytes), columns());
      known.set(object, values);
    }
    return values;
  };
  return {
    get columns() {
      return [NAME_COLUMN, ...columns().map(({ column }) => column)];
    },
    row(object: StoredObject, nowMs: number) {
      const cells: (Cell | null)[] = [object.name];
      const values = valuesOf(object);
      columns().forEach(({ column }, index) => {
        const value = values[index];
        const isDate = column.type === "date" && typeof value === "string";
        cells.push(isDate ? age(value, nowMs) : ((value ?? null) as Cell | null));
      });
      // Null is an ordinary cell in a Table.
      return { cells: cells as readonly Cell[] };
    },
  };
}

function valuesIn(object: JsonValue, columns: readonly CompiledColumn[]): Values {
  const budget = { visits: VISITS_MAX };
  let chars = ROW_CHARS_MAX;
  return columns.map(({ column, path }) => {
    const value = chars < 0 ? undefined : shownValue(column, path(object, budget)[0]);
    if (typeof value === "string") chars -= value.length;
    return chars < 0 ? undefined : value;
  });
}

function compileColumns(definitions: readonly ColumnDefinition[]): readonly CompiledColumn[] {
  const chars = definitions.reduce((sum, { jsonPath = "" }) => sum + jsonPath.length, 0);
  if (chars > PATHS_CHARS_MAX) return [compileColumn(AGE)];
  try {
    return definitions.map(compileColumn);
  } catch (error) {
    if (error instanceof JsonPathError) return [compileColumn(AGE)];
    throw error;
  }
}

function compileColumn(definition: ColumnDefinition): CompiledColumn {
  const { name = "", type = "string", format = "", description, priority = 0 } = definition;
  const { jsonPath = "" } = definition;
  const what = `Custom resource definition column (in JSONPath format): ${jsonPath}`;
  return {
    column: {
      name,
      // Validated when the definition was accepted.
      type: type as Column["type"],
      format,
      description: description || what,
      priority,
    },
    path: parseJsonPath(jsonPath),
  };
}

/** The value in the column's type; undefined when it is missing or of another type. */
function shownValue({ type }: Column, value: JsonValue | undefined): JsonValue | undefined {
  if (value === undefined || value === null) return undefined;
  switch (type) {
    case "string":
      return typeof value === "string" ? value : stringifyJson(value);
    case "integer":
      if (typeof value === "bigint") return value;
      return typeof value === "number" ? Math.trunc(value) : undefined;
    case "number":
      return typeof value === "number" || typeof value === "bigint" ? Number(value) : undefined;
    case "boolean":
      return typeof value === "boolean" ? value : undefined;
    case "date":
      return typeof value === "string" ? value : undefined;
  }
}
