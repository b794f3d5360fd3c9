/**
 * What is wrong with the options of `startKeelson()` and of the calls of its API, for callers without a compiler: a name that nobody knows would
 * be passed over, and the test that relies on it would mean something else than it says.
 */
import { isRecord } from "../../storage/base/is-record.js";
import type {
  ControlPlaneOptions,
  KeelsonOptions,
  RequestsAsked,
  SettleOptions,
  TimelineOptions,
} from "./types.js";

/** By the name of the option: what is expected, and whether a value is that. */
type Expected<T> = Readonly<
  Record<keyof T, readonly [what: string, isIt: (value: unknown) => boolean]>
>;

const OF_START: Expected<KeelsonOptions> = {
  flags: ["an object", isRecord],
  users: ["a list of { name, groups }", (value) => Array.isArray(value) && value.every(isUser)],
  manifests: ["a list of paths, texts and objects", isManifests],
  simulate: ["true, false or an object", (value) => isBoolean(value) || isRecord(value)],
  faults: ["true or false", isBoolean],
  controlPlanes: ["true or false", isBoolean],
  record: ["true or false", isBoolean],
  runsIn: ['"process" or "child"', (value) => value === "process" || value === "child"],
  logs: ["true or false", isBoolean],
  deadlineMs: ["a number of milliseconds", isDuration],
};
const OF_REQUESTS: Expected<RequestsAsked> = {
  since: ["a Date, or a request of an earlier answer,", isDateOrRequest],
  user: ["a text", isText],
  verb: ["a text", isText],
};
const OF_SETTLED: Expected<SettleOptions> = {
  quietMs: ["a number of milliseconds", isDuration],
  deadlineMs: ["a number of milliseconds", isDuration],
};
const OF_TIMELINE: Expected<TimelineOptions> = {
  lastMs: ["a number of milliseconds", isDuration],
  lanes: ['"client" or "object"', (value) => value === "client" || value === "object"],
  title: ["a text", isText],
};
const OF_CONTROL_PLANE: Expected<ControlPlaneOptions> = {
  name: ["a text", isText],
  cloneFrom: ["a control plane, or the name of one,", isNameOrNamed],
};
/** What is asked of a fork is asked of a control plane. */
const OF_FORK: Expected<Record<never, never>> = {};

/** @throws {TypeError} with one line */
export function checkOptions(options: unknown): void {
  check("startKeelson", options, OF_START);
}

/** @throws {TypeError} with one line, as the functions below */
export function checkRequests(asked: unknown): void {
  check("requests", asked, OF_REQUESTS);
}

export function checkSettled(options: unknown): void {
  check("settled", options, OF_SETTLED);
}

export function checkTimeline(options: unknown): void {
  check("timeline", options, OF_TIMELINE);
}

export function checkControlPlane(options: unknown): void {
  check("controlPlane", options, OF_CONTROL_PLANE);
}

/** What is no object of options is passed over: `Array.from({ length: 3 }, api.fork)`. */
export function checkFork(options: unknown): void {
  if (isRecord(options)) check("fork", options, OF_FORK);
}

export function checkSnapshot(snapshot: unknown): void {
  if (isRecord(snapshot) && typeof snapshot.id === "string") return;
  throw new TypeError("reset: a snapshot is expected, as snapshot() gives it");
}

function check(call: string, options: unknown, expected: Expected<object>): void {
  if (!isRecord(options)) throw new TypeError(`${call}: an object of options is expected`);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const own = Object.hasOwn(expected, name) ? expected[name as never] : undefined;
    if (own === undefined) {
      const known = Object.keys(expected).join(", ") || "none";
      throw new TypeError(`${call}: option ${JSON.stringify(name)} is unknown; known are ${known}`);
    }
    const [what, isIt] = own as readonly [string, (given: unknown) => boolean];
    if (!isIt(value)) throw new TypeError(`${call}: option ${name}: ${what} is expected`);
  }
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function isDuration(value: unknown): boolean {
  return typeof value === "number" && value >= 0;
}

function isDateOrRequest(value: unknown): boolean {
  if (value instanceof Date) return !Number.isNaN(value.getTime());
  return isRecord(value) && typeof value.number === "number";
}

function isNameOrNamed(value: unknown): boolean {
  return isText(value) || (isRecord(value) && isText(value.name));
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
