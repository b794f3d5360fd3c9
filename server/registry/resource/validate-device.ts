/** Rules for one device of a slice: its attributes, what it has of something, and where it is. */
import { invalidValue, requiredValue, tooLongValue, tooManyItems } from "../../api/field-errors.js";
import type { FieldError } from "../../api/status.js";
import { validateCapacity } from "./device-capacity.js";
import {
  entryPath,
  validateLabelName,
  validateList,
  validateQualifiedName,
} from "./device-names.js";
import { validateBindingConditions, validateTaint } from "./device-parts.js";
import type { Counters, Device, DeviceAttribute } from "./device-types.js";
import { nodeChoices } from "./node-choices.js";

const ENTRIES_MAX = 32;
const VALUES_MAX = 48;
const VALUE_BYTES_MAX = 64;
/** A longer text is no version: it is not worth the time of the pattern. */
const VERSION_CHARS_MAX = 1_000;
const TAINTS_MAX = 16;
const CONSUMPTIONS_MAX = 2;
const COUNTERS_MAX = 32;

export interface DeviceSurroundings {
  /** Whether each device of the slice says on its own where it is. */
  readonly choosesNodes: boolean;
  /** Taints that were there before are not judged again. */
  readonly hasSameTaints: boolean;
}

export function validateDevice(
  device: Device,
  field: string,
  { choosesNodes, hasSameTaints }: DeviceSurroundings,
  errors: FieldError[],
): void {
  validateLabelName(device.name, `${field}.name`, errors);
  validateEntries(device, field, errors);
  if (!hasSameTaints) {
    const taints = { max: TAINTS_MAX, field: `${field}.taints`, errors };
    validateList(device.taints, taints, (taint, at) => validateTaint(taint, at, errors));
  }
  const keyOf = ({ counterSet = "" }: { readonly counterSet?: string }) => counterSet;
  const consumed = { max: CONSUMPTIONS_MAX, field: `${field}.consumesCounters`, errors, keyOf };
  validateList(device.consumesCounters, consumed, (consumption, at) => {
    const { counterSet = "" } = consumption;
    if (counterSet === "") errors.push(requiredValue(`${at}.counterSet`));
    else validateLabelName(counterSet, `${at}.counterSet`, errors);
    validateCounters(consumption, at, errors);
  });
  validateNodes(device, field, choosesNodes, errors);
  validateBindingConditions(device, field, errors);
}

/** Attributes and capacity: names, values, and how many there are together. */
function validateEntries(device: Device, field: string, errors: FieldError[]): void {
  const attributes = Object.entries(device.attributes ?? {});
  const capacity = Object.entries(device.capacity ?? {});
  const count = attributes.length + capacity.length;
  if (count > ENTRIES_MAX) {
    const why = `the total number of attributes and capacities must not exceed ${ENTRIES_MAX}`;
    errors.push(invalidValue(field, count, why));
  }
  const values = attributes.reduce((sum, [, attribute]) => sum + valuesOf(attribute), 0);
  if (values > VALUES_MAX) {
    const why = `the total number of attribute values must not exceed ${VALUES_MAX}`;
    errors.push(invalidValue(field, values, why));
  }
  for (const [name, attribute] of attributes) {
    const at = `${field}.attributes`;
    validateQualifiedName(name, at, errors);
    validateAttribute(attribute, entryPath(at, name), errors);
  }
  for (const [name, amount] of capacity) {
    const at = `${field}.capacity`;
    validateQualifiedName(name, at, errors);
    const isShared = device.allowMultipleAllocations === true;
    validateCapacity(amount, entryPath(at, name), isShared, errors);
  }
}

function valuesOf({ ints, bools, strings, versions }: DeviceAttribute): number {
  const count = [ints, bools, strings, versions].reduce(
    (sum, list) => sum + (list?.length ?? 0),
    0,
  );
  return count === 0 ? 1 : count;
}

const SCALARS = ["bool", "int", "string", "version"] as const;
const LISTS = ["bools", "ints", "strings", "versions"] as const;

function validateAttribute(attribute: DeviceAttribute, field: string, errors: FieldError[]): void {
  const { string, version, strings, versions } = attribute;
  if (typeof string === "string") validateText(string, `${field}.string`, errors);
  if (typeof version === "string") validateVersion(version, `${field}.version`, errors);
  for (const name of LISTS) {
    const list = attribute[name];
    if (!list || list.length > 0) continue;
    errors.push(invalidValue(`${field}.${name}`, list, "must not be empty if specified"));
  }
  strings?.forEach((text, index) => {
    validateText(text, `${field}.strings[${index}]`, errors);
  });
  versions?.forEach((text, index) => {
    validateVersion(text, `${field}.versions[${index}]`, errors);
  });
  const isSet = (name: keyof DeviceAttribute) =>
    attribute[name] !== undefined && attribute[name] !== null;
  const count = [...SCALARS, ...LISTS].filter(isSet).length;
  if (count === 1) return;
  const shown = count === 0 ? "" : attribute;
  errors.push(invalidValue(field, shown, "exactly one value must be specified"));
}

function validateText(text: string, field: string, errors: FieldError[]): void {
  if (Buffer.byteLength(text) > VALUE_BYTES_MAX) errors.push(tooLongValue(field, VALUE_BYTES_MAX));
}

const NUMBER = "(0|[1-9]\\d*)";
const PRERELEASE = "(0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)";
const BUILD = "[0-9a-zA-Z-]+";
const VERSION = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(-${PRERELEASE}(\\.${PRERELEASE})*)?(\\+${BUILD}(\\.${BUILD})*)?$`,
);

function validateVersion(text: string, field: string, errors: FieldError[]): void {
  if (text.length > VERSION_CHARS_MAX || !VERSION.test(text)) {
    const why = "must be a string compatible with semver.org spec 2.0.0";
    errors.push(invalidValue(field, text, why));
  }
  validateText(text, field, errors);
}

/** Any amounts, under short names. */
export function validateCounters(
  { counters }: Counters,
  field: string,
  errors: FieldError[],
): void {
  const at = `${field}.counters`;
  const names = Object.keys(counters ?? {});
  if (names.length === 0) errors.push(requiredValue(at));
  else if (names.length > COUNTERS_MAX) errors.push(tooManyItems(at, names.length, COUNTERS_MAX));
  else for (const name of names) validateLabelName(name, at, errors);
}

function validateNodes(
  device: Device,
  field: string,
  choosesNodes: boolean,
  errors: FieldError[],
): void {
  const isSet = (value: unknown) => value !== undefined && value !== null;
  if (!choosesNodes) {
    if (![device.nodeName, device.nodeSelector, device.allNodes].some(isSet)) return;
    const why =
      "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
    errors.push(invalidValue(field, null, why));
    return;
  }
  const chosen = nodeChoices(device, field, "must not be empty", errors);
  const why =
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
  if (chosen.length === 0) errors.push(requiredValue(field, why));
  if (chosen.length > 1) errors.push(invalidValue(field, `{${chosen.join(", ")}}`, why));
}
