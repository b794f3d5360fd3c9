/** Tables of custom resources: the columns of the definition, each found by its JSONPath (S1-TABLE-06). */
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { JsonValue } from "../api/meta.js";
import { parseJson } from "../codec/json.js";
import { age, NAME_COLUMN } from "../endpoints/tables/cells.js";
import type { Cell, Column, TablePrinter } from "../kinds/table-printer.js";
import { stringifyJson } from "../schema/json-text.js";
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

/**
 * Compiled when the first table is asked for. A definition with a path that is none, which the existing
 * API accepts, has the columns of one without columns.
 */
export function customPrinter(definitions: readonly ColumnDefinition[]): TablePrinter {
  let compiled: readonly CompiledColumn[] | undefined;
  const columns = () => {
    compiled ??= compileColumns(definitions.length === 0 ? [AGE] : definitions);
    return compiled;
  };
  return {
    get columns() {
      return [NAME_COLUMN, ...columns().map(({ column }) => column)];
    },
    row(object: StoredObject, nowMs: number) {
      const parsed = parseJson(object.bytes);
      const cells = columns().map(({ column, path }) => cellOf(column, path(parsed)[0], nowMs));
      // Null is a cell like any other in a Table.
      return { cells: [object.name, ...cells] as readonly Cell[] };
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
      // Checked when the definition was accepted.
      type: type as Column["type"],
      format,
      description: description || what,
      priority,
    },
    path: parseJsonPath(jsonPath),
  };
}

/** The value as the column's type has it; null where there is none, or one of another type. */
function cellOf({ type }: Column, value: JsonValue | undefined, nowMs: number): Cell | null {
  if (value === undefined || value === null) return null;
  switch (type) {
    case "string":
      return typeof value === "string" ? value : stringifyJson(value);
    case "integer":
      if (typeof value === "bigint") return value;
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" || typeof value === "bigint" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      return typeof value === "string" ? age(value, nowMs) : null;
  }
}
