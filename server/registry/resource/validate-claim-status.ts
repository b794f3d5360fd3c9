/**
 * Rules for the status of a claim: the allocation, which never changes once it is there, who uses it, and
 * what drivers report about its devices.
 */
import { deepEqual } from "../../api/deep-equal.js";
import {
  forbiddenField,
  invalidValue,
  requiredValue,
  tooLongValue,
  tooManyItems,
} from "../../api/field-errors.js";
import { formatIp, parseIp } from "../../api/ip-address.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { validateConditions } from "../../api/validation-conditions.js";
import { type Maybe, validateChoice } from "../../api/validation-values.js";
import { validateNodeSelector } from "../core/validate-scheduling.js";
import {
  validateDriver,
  validateLabelName,
  validateList,
  validatePoolName,
} from "./device-names.js";
import {
  validateBindingConditions,
  validateConfiguration,
  validateOpaque,
} from "./device-parts.js";
import {
  type AllocatedConfiguration,
  type AllocatedDevice,
  type Allocation,
  type ClaimStatus,
  type Consumer,
  type DeviceIdentity,
  type DeviceStatus,
  identityKey,
  type ResourceClaim,
} from "./device-types.js";
import {
  type RequestNames,
  requestNamesOf,
  validateRequestName,
  validateRequestNames,
} from "./validate-claim.js";

const CONSUMERS_MAX = 256;
const RESULTS_MAX = 32;
/** Of the class and of the claim. */
const SETTINGS_MAX = 64;
const CONDITIONS_MAX = 8;
const ADDRESSES_MAX = 16;
const INTERFACE_BYTES_MAX = 256;
const HARDWARE_BYTES_MAX = 128;
const SOURCES = ["FromClaim", "FromClass"];

const NO_STATUS: ClaimStatus = Object.freeze({});

export function validateClaimStatus(next: ResourceClaim, current: ResourceClaim): FieldError[] {
  const errors = new Problems();
  const { status = NO_STATUS } = next;
  const before = current.status ?? NO_STATUS;
  const { allocation, reservedFor } = status;
  const keyOf = ({ uid = "" }: Consumer) => uid;
  const consumers = { max: CONSUMERS_MAX, field: "status.reservedFor", errors, keyOf };
  validateList(reservedFor, consumers, (consumer, at) => validateConsumer(consumer, at, errors));
  validateDevices(status, errors);
  validateReservation(next, before, errors);
  if (!allocation) return errors;
  if (before.allocation) {
    if (!deepEqual(allocation, before.allocation)) {
      errors.push(invalidValue("status.allocation", allocation, "field is immutable"));
    }
  } else {
    validateAllocation(allocation, requestNamesOf(next.spec?.devices), errors);
  }
  return errors;
}

function validateConsumer(consumer: Consumer, field: string, errors: FieldError[]): void {
  for (const member of ["resource", "name", "uid"] as const) {
    if ((consumer[member] ?? "") === "") errors.push(requiredValue(`${field}.${member}`));
  }
}

/** A claim is used while it is allocated, and by nobody new while it is being deleted. */
function validateReservation(
  { metadata, status = NO_STATUS }: ResourceClaim,
  before: ClaimStatus,
  errors: FieldError[],
): void {
  const { allocation, reservedFor } = status;
  if ((reservedFor ?? []).length === 0) return;
  const field = "status.reservedFor";
  if (!allocation) {
    errors.push(forbiddenField(field, "may not be specified when `allocated` is not set"));
    return;
  }
  if ((metadata.deletionTimestamp ?? "") === "") return;
  const known = new Set((before.reservedFor ?? []).map(consumerKey));
  if ((reservedFor ?? []).every((consumer) => known.has(consumerKey(consumer)))) return;
  const why =
    "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
  errors.push(forbiddenField(field, why));
}

function consumerKey({ apiGroup = "", resource = "", name = "", uid = "" }: Consumer): string {
  return JSON.stringify([apiGroup, resource, name, uid]);
}

function validateAllocation(
  { devices, nodeSelector }: Allocation,
  names: RequestNames,
  errors: FieldError[],
): void {
  const at = "status.allocation.devices";
  const results = { max: RESULTS_MAX, field: `${at}.results`, errors };
  validateList(devices?.results, results, (result, path) =>
    validateResult(result, path, names, errors),
  );
  const settings = { max: SETTINGS_MAX, field: `${at}.config`, errors };
  validateList(devices?.config, settings, (one, path) =>
    validateSettings(one, path, names, errors),
  );
  if (nodeSelector) validateNodeSelector(nodeSelector, "status.allocation.nodeSelector", errors);
}

function validateResult(
  result: AllocatedDevice,
  field: string,
  names: RequestNames,
  errors: FieldError[],
): void {
  validateRequestName(result.request ?? "", `${field}.request`, names, errors);
  validateDriver(result.driver, `${field}.driver`, errors);
  validatePoolName(result.pool, `${field}.pool`, errors);
  validateLabelName(result.device, `${field}.device`, errors);
  validateBindingConditions(result, field, errors);
  validateShare(result.shareID, `${field}.shareID`, errors);
}

function validateSettings(
  { source = "", requests, ...settings }: AllocatedConfiguration,
  field: string,
  names: RequestNames,
  errors: FieldError[],
): void {
  if (source === "") errors.push(requiredValue(`${field}.source`));
  else validateChoice(source, `${field}.source`, SOURCES, errors);
  validateRequestNames(requests, `${field}.requests`, names, errors);
  validateConfiguration(settings, field, errors);
}

function validateDevices({ allocation, devices }: ClaimStatus, errors: FieldError[]): void {
  const allocated = new Set((allocation?.devices?.results ?? []).map(identityKey));
  const field = "status.devices";
  const check = { max: undefined, field, errors, keyOf: identityKey, showKey: shownIdentity };
  validateList(devices, check, (device, at) => {
    validateDriver(device.driver, `${at}.driver`, errors);
    validatePoolName(device.pool, `${at}.pool`, errors);
    validateLabelName(device.device, `${at}.device`, errors);
    validateShare(device.shareID, `${at}.shareID`, errors);
    if (!allocated.has(identityKey(device))) {
      const why = "must be an allocated device in the claim";
      errors.push(invalidValue(at, shownIdentity(device), why));
    }
    validateReport(device, at, errors);
  });
}

/** As clients see it in messages. */
function shownIdentity({ driver = "", pool = "", device = "", shareID }: DeviceIdentity): object {
  return { Driver: driver, Pool: pool, Device: device, ShareID: shareID ?? "" };
}

function validateReport(
  { conditions, data, networkData }: DeviceStatus,
  field: string,
  errors: FieldError[],
): void {
  const count = conditions?.length ?? 0;
  if (count > CONDITIONS_MAX) {
    errors.push(tooManyItems(`${field}.conditions`, count, CONDITIONS_MAX));
  }
  validateConditions(conditions, `${field}.conditions`, errors);
  if (data !== undefined && data !== null) validateOpaque(data, `${field}.data`, errors);
  if (!networkData) return;
  const at = `${field}.networkData`;
  const { interfaceName = "", hardwareAddress = "", ips } = networkData;
  if (Buffer.byteLength(interfaceName) > INTERFACE_BYTES_MAX) {
    errors.push(tooLongValue(`${at}.interfaceName`, INTERFACE_BYTES_MAX));
  }
  if (Buffer.byteLength(hardwareAddress) > HARDWARE_BYTES_MAX) {
    errors.push(tooLongValue(`${at}.hardwareAddress`, HARDWARE_BYTES_MAX));
  }
  const keyOf = (address: string) => address;
  const addresses = { max: ADDRESSES_MAX, field: `${at}.ips`, errors, keyOf };
  validateList(ips, addresses, (address, path) => validateInterfaceAddress(address, path, errors));
}

/** An address with the size of its network, such as 10.9.8.7/24, in canonical form. */
function validateInterfaceAddress(text: string, field: string, errors: FieldError[]): void {
  const canonical = canonicalInterfaceAddress(text);
  if (canonical === undefined) {
    const why = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";
    errors.push(invalidValue(field, text, why));
  } else if (canonical !== text) {
    const why = `must be in canonical form (${JSON.stringify(canonical)})`;
    errors.push(invalidValue(field, text, why));
  }
}

function canonicalInterfaceAddress(text: string): string | undefined {
  const slash = text.indexOf("/");
  const size = text.slice(slash + 1);
  if (slash < 0 || !/^\d{1,3}$/.test(size)) return undefined;
  const address = parseIp(text.slice(0, slash));
  if (address === undefined) return undefined;
  const bits = Number(size);
  if (bits > (address.version === 4 ? 32 : 128)) return undefined;
  // An IPv4 address may be written as an IPv6 one, with the size of that.
  if (address.version === 6 && address.value >> 32n === 0xffffn) {
    const mapped = formatIp({ version: 4, value: address.value & 0xffffffffn });
    return `${mapped}/${bits > 32 ? bits - 96 : bits}`;
  }
  return `${formatIp(address)}/${bits}`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const OTHER_UUID = /^(urn:uuid:.{36}|\{.{36}\}|[0-9a-f]{32})$/i;

function validateShare(share: Maybe<string>, field: string, errors: FieldError[]): void {
  if (share === undefined || share === null) return;
  if (UUID.test(share) && share === share.toLowerCase()) return;
  const why =
    UUID.test(share) || OTHER_UUID.test(share)
      ? "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters"
      : `error validating uid: ${share.length === 36 ? "invalid UUID format" : `invalid UUID length: ${Buffer.byteLength(share)}`}`;
  errors.push(invalidValue(field, share, why));
}
