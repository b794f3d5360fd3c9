/**
 * Defaults set in code rather than by a marker, by the struct and field that they apply to. The facts name
 * them by paths below a kind ("Deployment spec.replicas"). Only unconditional ones with a fixed value,
 * because a description has one sentence for them. Pure functions.
 */
import type { JsonValue } from "../../api/meta.js";
import type { DefaultFact, Field, SchemaModel, TypeRef } from "../../schema/model.js";

export interface CodeDefaults {
  of(field: Field): JsonValue | undefined;
}

export function createCodeDefaults(
  model: SchemaModel,
  facts: readonly DefaultFact[],
): CodeDefaults {
  const values = new Map<Field, JsonValue>();
  for (const { file, type, field, value, when } of facts) {
    if (value === undefined || when !== "unset") continue;
    for (const base of versionsOf(model, file)) {
      const target = fieldAt(model, `${base}.${type}`, field.replaceAll("[]", "").split("."));
      // An entry for the version itself wins over entries for its siblings.
      if (target === undefined || (base !== file && values.has(target))) continue;
      values.set(target, value);
    }
  }
  return { of: (field) => values.get(field) };
}

/** A default applies to every version of its group that has the type. */
function versionsOf(model: SchemaModel, file: string): readonly string[] {
  const group = file.slice(0, file.indexOf(".") + 1);
  return [...model.files.keys()].filter((base) => base.startsWith(group));
}

function fieldAt(model: SchemaModel, id: string, path: readonly string[]): Field | undefined {
  const type = model.type(id);
  const [name, ...rest] = path;
  if (type?.form !== "struct" || name === undefined) return undefined;
  const field = type.fields.find((candidate) => candidate.name === name);
  if (field === undefined || rest.length === 0) return field;
  const next = structOf(field.type);
  return next === undefined ? undefined : fieldAt(model, next, rest);
}

function structOf(ref: TypeRef): string | undefined {
  switch (ref.kind) {
    case "named":
      return ref.id;
    case "list":
      return structOf(ref.items);
    case "map":
      return structOf(ref.values);
    default:
      return undefined;
  }
}
