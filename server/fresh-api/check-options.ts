/**
 * What is wrong with the options of `startKeelson()`, for callers without a compiler: a name that nobody knows would
 * be passed over, and the test that relies on it would mean something else than it says.
 */
import { isRecord } from "../../storage/base/is-record.js";
import type { KeelsonOptions } from "./types.js";

/** By the name of the option: what is expected, and whether a value is that. */
const EXPECTED: Readonly<
  Record<keyof KeelsonOptions, readonly [string, (value: unknown) => boolean]>
> = {
  flags: ["an object", isRecord],
  users: ["a list of { name, groups }", (value) => Array.isArray(value) && value.every(isUser)],
  manifests: ["a list of paths, texts and objects", isManifests],
  simulate: ["true, false or an object", (value) => isBoolean(value) || isRecord(value)],
  faults: ["true or false", isBoolean],
  controlPlanes: ["true or false", isBoolean],
  record: ["true or false", isBoolean],
  runsIn: ['"process" or "child"', (value) => value === "process" || value === "child"],
  logs: ["true or false", isBoolean],
  deadlineMs: ["a number of milliseconds", (value) => typeof value === "number" && value >= 0],
};

/** @throws {TypeError} with one line */
export function checkOptions(options: unknown): void {
  if (!isRecord(options)) throw new TypeError("startKeelson: an object of options is expected");
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (!Object.hasOwn(EXPECTED, name)) {
      const known = Object.keys(EXPECTED).join(", ");
      throw new TypeError(
        `startKeelson: option ${JSON.stringify(name)} is unknown; known are ${known}`,
      );
    }
    const [expected, isIt] = EXPECTED[name as keyof KeelsonOptions];
    if (!isIt(value)) throw new TypeError(`startKeelson: option ${name}: ${expected} is expected`);
  }
}

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}

function isUser(value: unknown): boolean {
  if (!isRecord(value) || typeof value.name !== "string" || value.name === "") return false;
  const { groups = [] } = value;
  return Array.isArray(groups) && groups.every((group) => typeof group === "string");
}

function isManifests(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === "string" || isRecord(one));
}
