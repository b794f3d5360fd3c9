/**
 * Warnings for formats that a definition's schemas name and nobody knows: they are let be, and values
 * are not held to them.
 */
import { isKnownFormat } from "../../structural/formats.js";
import { someSchema } from "../../structural/json-schema.js";
import { type Definition, schemaOf } from "./definition.js";

/** @param current whose formats were warned of before */
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
