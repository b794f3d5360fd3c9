/**
 * Warnings for unknown formats in a definition's schemas. They are accepted, and values are not
 * checked against them.
 */
import { isKnownFormat } from "../../structural/formats.js";
import { someSchema } from "../../structural/json-schema.js";
import { type Definition, schemaOf } from "./definition.js";

/** @param current its formats were already warned of */
export function formatWarnings(next: Definition, current: Definition | undefined): string[] {
  const found = unknownFormats(next);
  if (found.size === 0) return [];
  const known = current === undefined ? new Set() : unknownFormats(current);
  return [...found]
    .filter((format) => !known.has(format))
    .map((format) => `unrecognized format ${JSON.stringify(format)}`);
}

function unknownFormats({ spec }: Definition): ReadonlySet<string> {
  const found = new Set<string>();
  for (const version of spec?.versions ?? []) {
    const schema = schemaOf(version);
    if (schema === undefined) continue;
    someSchema(schema, ({ format = "", type = "" }) => {
      if (format !== "" && !isKnownFormat(format, type)) found.add(format);
      return false;
    });
  }
  return found;
}
