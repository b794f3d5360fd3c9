/**
 * Elements: every field and value of the facts' versions, one line per type, in order.
 * docs/dev/api-elements.tsv lists the promised ones: elements may be added, but never removed
 * (S2-DEP-01).
 */
import { readFileSync, writeFileSync } from "node:fs";
import type { Facts } from "../../schema/model.js";

/** Relative to the emitted file in dist/server/types/testing. */
const ELEMENTS_FILE = new URL("../../../../docs/dev/api-elements.tsv", import.meta.url);

/** Occurs in no name and no value. */
const SEPARATOR = "\t";

/** Type ("core.v1 PodSpec") to the names of its fields, or the values of a closed set. */
export type Elements = ReadonlyMap<string, readonly string[]>;

export function elementsOf({ model }: Facts): Elements {
  const elements = new Map<string, readonly string[]>();
  for (const { base, types } of model.files.values()) {
    for (const type of types.values()) {
      if (type.form === "alias") continue;
      const names =
        type.form === "enum" ? type.values.map(valueName) : type.fields.map(({ name }) => name);
      elements.set(`${base} ${type.name}`, names.toSorted());
    }
  }
  return elements;
}

/** "" is a value, too. */
function valueName(value: string): string {
  return JSON.stringify(value);
}

export function readElements(): Elements {
  const lines = readFileSync(ELEMENTS_FILE, "utf8").trimEnd().split("\n");
  return new Map(
    lines.map((line) => {
      const [type = "", ...names] = line.split(SEPARATOR);
      return [type, names];
    }),
  );
}

export function writeElements(elements: Elements): void {
  const lines = [...elements].map(([type, names]) => [type, ...names].join(SEPARATOR));
  writeFileSync(ELEMENTS_FILE, `${lines.toSorted().join("\n")}\n`);
}

/** The promised elements that are missing, as "core.v1 PodSpec.nodeName". */
export function missingElements(promised: Elements, there: Elements): readonly string[] {
  return [...promised].flatMap(([type, names]) => {
    const known = there.get(type);
    if (known === undefined) return [type];
    return names.filter((name) => !known.includes(name)).map((name) => `${type}.${name}`);
  });
}
