/** Typed looks into parsed YAML or JSON that people or other programs wrote: value or a clear error. */

/** What a map of YAML or an object of JSON holds. */
export type Members = Readonly<Record<string, unknown>>;

/** @param where for the message, such as "clusters[0]"; "" is the whole file. @throws {Error} */
export function membersOf(value: unknown, where: string): Members {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(`${where === "" ? "the file" : where}: expected a map`);
  }
  return value as Members;
}

/** A string that is there and not empty. @throws {Error} something else than a string */
export function optionalText(members: Members, name: string, where = ""): string | undefined {
  const value = members[name];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") throw new Error(`${pathOf(where, name)}: expected a string`);
  return value;
}

/** A boolean; false when it is not there. @throws {Error} */
export function optionalFlag(members: Members, name: string, where = ""): boolean {
  const value = members[name];
  if (value === undefined || value === null) return false;
  if (typeof value !== "boolean") throw new Error(`${pathOf(where, name)}: expected true or false`);
  return value;
}

/** A list of strings; empty when it is not there. @throws {Error} */
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
