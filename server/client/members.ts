/** Typed access to parsed YAML or JSON from people or other programs: a value or a clear error. */

/** The contents of a YAML map or JSON object. */
export type Members = Readonly<Record<string, unknown>>;

/** @param where position for messages, for example "clusters[0]"; "" = the whole file. @throws {Error} */
export function membersOf(value: unknown, where: string): Members {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(`${where === "" ? "the file" : where}: expected a map`);
  }
  return value as Members;
}

/** A non-empty string; undefined if absent. @throws {Error} for another type */
export function optionalText(members: Members, name: string, where = ""): string | undefined {
  const value = members[name];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") throw new Error(`${pathOf(where, name)}: expected a string`);
  return value;
}

/** A boolean; false if absent. @throws {Error} */
export function optionalFlag(members: Members, name: string, where = ""): boolean {
  const value = members[name];
  if (value === undefined || value === null) return false;
  if (typeof value !== "boolean") throw new Error(`${pathOf(where, name)}: expected true or false`);
  return value;
}

/** A list of strings; empty if absent. @throws {Error} */
export function optionalTexts(members: Members, name: string, where = ""): readonly string[] {
  const value = members[name];
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || value.some((item) => typeof item !== "string")) {
    throw new Error(`${pathOf(where, name)}: expected a list of strings`);
  }
  return value as string[];
}

function pathOf(where: string, name: string): string {
  return where === "" ? name : `${where}.${name}`;
}
