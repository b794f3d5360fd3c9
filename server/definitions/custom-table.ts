/** Tables of custom resources: the definition's columns, each evaluated by its JSONPath (S1-TABLE-06). */
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { JsonValue } from "../api/meta.js";
import { age, NAME_COLUMN } from "../endpoints/tables/cells.js";
import type { Cell, Column, TablePrinter } from "../kinds/table-printer.js";
import { stringifyJson } from "../schema/json-text.js";
import { parseJson } from "../schema/parse-json.js";
import type { ColumnDefinition } from "../structural/definition/check-version.js";
import { type JsonPath, JsonPathError, parseJsonPath } from "../structural/json-path.js";

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

/** The cached values of a row; a date is kept as its time, because its age changes. */
type Values = readonly (JsonValue | undefined)[];

/**
 * An object's values are cached with it, as tables are requested repeatedly. Paths are compiled for the
 * first table. A definition with an invalid path, which kube-apiserver accepts, gets the default
 * columns.
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
      const parsed = parseJson(served(object).bytes);
      values = columns().map(({ column, path }) => shownValue(column, path(parsed)[0]));
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

function compileColumns(definitions: readonly ColumnDefinition[]): readonly CompiledColumn[] {
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
