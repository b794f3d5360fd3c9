/**
 * Converts resource/v1beta1 to and from v1, the stored version. The older shape differs in two
 * places:
 *
 *   a request of a claim    {name, deviceClassName, count, ...}    {name, exactly: {deviceClassName, count, ...}}
 *   a device of a slice     {name, basic: {attributes, ...}}       {name, attributes, ...}
 *
 * In addition, a slice writes "" and false for absent values. A conversion loses nothing.
 */
import { isRecord } from "../../../storage/base/is-record.js";
import type { ApiObject } from "../../api/meta.js";
import type { Conversion } from "../../kinds/conversion.js";
import { membersAt } from "../generic/fields.js";

type Members = Record<string, unknown>;

/** The fields of a request for one class of devices, in the order of both shapes. */
const EXACT_FIELDS = [
  "deviceClassName",
  "selectors",
  "allocationMode",
  "count",
  "adminAccess",
  "tolerations",
  "capacity",
] as const;

const EXACT_FIELD = new RegExp(
  String.raw`(\bdevices\.requests\[\d+\]\.)(?=(${EXACT_FIELDS.join("|")})\b)`,
);
const exactField = (field: string) => field.replace(EXACT_FIELD, "$1exactly.");
const BASIC_FIELD = /^(spec\.devices\[\d+\]\.)basic\./;

export const claimConversion: Conversion = {
  storedField: exactField,
  toStored: (served) => withClaimSpec(served, exactlyToNewer),
  fromStored: (stored) => withClaimSpec(stored, exactlyToOlder),
};

export const claimTemplateConversion: Conversion = {
  storedField: exactField,
  toStored: (served) => withTemplateSpec(served, exactlyToNewer),
  fromStored: (stored) => withTemplateSpec(stored, exactlyToOlder),
};

export const sliceConversion: Conversion = {
  storedField: (field) => field.replace(BASIC_FIELD, "$1"),
  toStored(served) {
    const spec = { ...membersAt(served, "spec") };
    if (spec.nodeName === "") delete spec.nodeName;
    if (spec.allNodes === false) delete spec.allNodes;
    return { ...served, spec: withItems(spec, "devices", basicToNewer) };
  },
  fromStored(stored) {
    const spec = { ...membersAt(stored, "spec") };
    return { ...stored, spec: withItems(spec, "devices", basicToOlder) };
  },
};

function withClaimSpec(object: ApiObject, convert: (request: Members) => Members): ApiObject {
  return { ...object, spec: convertRequests(membersAt(object, "spec"), convert) };
}

function withTemplateSpec(object: ApiObject, convert: (request: Members) => Members): ApiObject {
  const spec = membersAt(object, "spec");
  return { ...object, spec: { ...spec, spec: convertRequests(membersAt(spec, "spec"), convert) } };
}

function convertRequests(spec: Members, convert: (request: Members) => Members): Members {
  if (!isRecord(spec.devices)) return spec;
  return { ...spec, devices: withItems(spec.devices, "requests", convert) };
}

function withItems(owner: Members, list: string, convert: (item: Members) => Members): Members {
  const items = owner[list];
  if (!Array.isArray(items)) return owner;
  return { ...owner, [list]: items.map((item) => (isRecord(item) ? convert(item) : item)) };
}

/** A request with any such field has `exactly`; validation checks its content. */
function exactlyToNewer(request: Members): Members {
  const rest: Members = { ...request };
  const exactly: Members = {};
  for (const field of EXACT_FIELDS) {
    const value = rest[field];
    delete rest[field];
    if (value !== undefined && value !== null && value !== "" && value !== 0)
      exactly[field] = value;
  }
  if (Object.keys(exactly).length === 0) return rest;
  exactly.deviceClassName ??= "";
  return { ...rest, exactly };
}

function exactlyToOlder({ exactly, ...request }: Members): Members {
  const fields = isRecord(exactly) ? exactly : {};
  // The older shape always has the class.
  return { ...request, deviceClassName: "", ...fields };
}

function basicToNewer({ basic, ...device }: Members): Members {
  return isRecord(basic) ? { ...device, ...basic } : device;
}

function basicToOlder({ name, ...basic }: Members): Members {
  return { name, basic };
}
