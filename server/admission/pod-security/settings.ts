/**
 * The configuration of PodSecurity: the standards of namespaces without labels, and who is not judged at
 * all: pods of these users, in these namespaces, or of these runtime classes.
 */
import { type Members, membersOf, optionalText } from "../../client/members.js";
import { LEVELS } from "./standards.js";

/** What stands for missing labels, by the labels' names without their domain ("enforce-version"). */
export type StandardDefaults = Readonly<Record<string, string>>;

export interface PodSecuritySettings {
  readonly defaults: StandardDefaults;
  readonly usernames: ReadonlySet<string>;
  readonly namespaces: ReadonlySet<string>;
  readonly runtimeClasses: ReadonlySet<string>;
}

const NOBODY: ReadonlySet<string> = new Set();

export const NO_SETTINGS: PodSecuritySettings = Object.freeze({
  defaults: Object.freeze({}),
  usernames: NOBODY,
  namespaces: NOBODY,
  runtimeClasses: NOBODY,
});

const MODES = ["enforce", "audit", "warn"] as const;
const VERSION = /^(latest|v1\.(0|[1-9]\d{0,5}))$/;

/** @throws {Error} for a level or a version that does not exist */
export function readStandardDefaults(value: unknown, where: string): StandardDefaults {
  const members: Members = membersOf(value, where);
  const defaults: Record<string, string> = {};
  const known = MODES.flatMap((mode) => [mode, `${mode}-version`]);
  for (const name of Object.keys(members)) {
    if (!known.includes(name))
      throw new Error(`unknown field ${JSON.stringify(`${where}.${name}`)}`);
    const text = optionalText(members, name, where) ?? "";
    const isVersion = name.endsWith("-version");
    const isGood = isVersion ? VERSION.test(text) : LEVELS.some((level) => level === text);
    if (text !== "" && !isGood) {
      const why = isVersion ? 'must be "latest" or "v1.x"' : `must be one of ${LEVELS.join(", ")}`;
      throw new Error(`${where}.${name}: Invalid value: ${JSON.stringify(text)}: ${why}`);
    }
    if (text !== "") defaults[name] = text;
  }
  return defaults;
}
