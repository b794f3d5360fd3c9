/** The smallest object that a definition takes: what its schema requires, and nothing else. */
import type { JsonValue } from "../../server/api/meta.js";
import type { JsonSchema } from "../../server/structural/json-schema.js";
import { type Definition, storageVersion } from "./definition.js";

export function smallestObject(definition: Definition, name: string, labels: object = {}): object {
  const version = storageVersion(definition);
  const { properties = {}, required = [] } = version.schema.openAPIV3Schema;
  const more = required.filter((field) => !["apiVersion", "kind", "metadata"].includes(field));
  const fields = new Set(["spec", ...more].filter((field) => properties[field] !== undefined));
  return {
    apiVersion: `${definition.spec.group}/${version.name}`,
    kind: definition.spec.names.kind,
    metadata: { name, labels },
    ...Object.fromEntries([...fields].map((field) => [field, smallest(properties[field] ?? {})])),
  };
}

/** Texts that the patterns of most definitions take, one or the other. */
const TEXTS = ["a", "1s", "1.0.0", "https://a.example", "a.example/b", "a.example", "/a", "1"];

function smallest(schema: JsonSchema): JsonValue {
  if (schema.default !== undefined) return schema.default;
  const [first] = schema.enum ?? [];
  if (first !== undefined) return first;
  const { properties = {}, required = [] } = schema;
  // Of alternatives, what the first asks for comes with it.
  const alternative = [...(schema.oneOf ?? []), ...(schema.anyOf ?? [])][0]?.required ?? [];
  switch (schema.type) {
    case "object":
      return Object.fromEntries(
        [...required, ...alternative].map((name) => [name, smallest(properties[name] ?? {})]),
      );
    case "array":
      return Array.from({ length: schema.minItems ?? 0 }, () =>
        smallest(schema.items as JsonSchema),
      );
    case "integer":
    case "number":
      return schema.minimum ?? 1;
    case "boolean":
      return false;
    case "string":
      return smallestText(schema);
    default:
      return schema["x-kubernetes-int-or-string"] ? 1 : {};
  }
}

function smallestText({ format, pattern, minLength = 1 }: JsonSchema): string {
  if (format === "date-time") return "2026-01-01T00:00:00Z";
  if (format === "byte") return "YQ==";
  const fitting = TEXTS.filter((text) => pattern === undefined || new RegExp(pattern).test(text));
  const long = fitting.find((text) => text.length >= minLength);
  return long ?? "a".repeat(minLength);
}
