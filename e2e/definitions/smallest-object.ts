/** The smallest object that a definition takes: what its schema requires, and nothing else. */
import type { JsonValue } from "../../server/api/meta.js";
import type { JsonSchema } from "../../server/structural/json-schema.js";
import type { Definition } from "./published-definitions.js";

export function smallestObject({ spec }: Definition, name: string, labels: object = {}): object {
  const version = spec.versions.find(({ storage }) => storage);
  if (version === undefined) throw new Error(`${spec.names.kind} has no storage version`);
  const { properties = {}, required = [] } = version.schema.openAPIV3Schema;
  const more = required.filter((field) => !["apiVersion", "kind", "metadata"].includes(field));
  const fields = new Set(["spec", ...more].filter((field) => properties[field] !== undefined));
  return {
    apiVersion: `${spec.group}/${version.name}`,
    kind: spec.names.kind,
    metadata: { name, labels },
    ...Object.fromEntries([...fields].map((field) => [field, smallest(properties[field] ?? {})])),
  };
}

function smallest(schema: JsonSchema): JsonValue {
  if (schema.default !== undefined) return schema.default;
  const [first] = schema.enum ?? [];
  if (first !== undefined) return first;
  const { properties = {}, required = [] } = schema;
  switch (schema.type) {
    case "object":
      return Object.fromEntries(required.map((name) => [name, smallest(properties[name] ?? {})]));
    case "array":
      return Array.from({ length: schema.minItems ?? 0 }, () =>
        smallest(schema.items as JsonSchema),
      );
    case "integer":
    case "number":
      return schema.minimum ?? 1;
    case "boolean":
      return false;
    default:
      return schema.format === "date-time"
        ? "2026-01-01T00:00:00Z"
        : "a".repeat(schema.minLength ?? 1);
  }
}
