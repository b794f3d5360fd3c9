/** Rules for ResourceSlices: the devices of a pool that a driver offers, on one node or several. */
import { deepEqual } from "../../api/deep-equal.js";
import { invalidValue, requiredValue } from "../../api/field-errors.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { checkImmutable } from "../generic/status-parts.js";
import {
  validateDriver,
  validateLabelName,
  validateList,
  validatePoolName,
} from "./device-names.js";
import type { Device, ResourceSlice, SliceSpec } from "./device-types.js";
import { nodeChoices } from "./node-choices.js";
import { validateCounters, validateDevice } from "./validate-device.js";

const DEVICES_MAX = 128;
/** Where some device has taints, counters or lists of values. */
const RICH_DEVICES_MAX = 64;
const COUNTER_SETS_MAX = 8;

/** What never changes. */
const FIXED_FIELDS = ["spec.pool.name", "spec.driver", "spec.nodeName"];

/** @param current undefined for a new slice */
export function validateSlice(
  next: ResourceSlice,
  current: ResourceSlice | undefined,
): FieldError[] {
  const errors = new Problems();
  const spec = next.spec ?? {};
  const { driver, pool, devices, sharedCounters, perDeviceNodeSelection } = spec;
  validateDriver(driver, "spec.driver", errors);
  validatePool(pool, errors);
  if (current !== undefined) errors.push(...checkImmutable(next, current, FIXED_FIELDS));
  validateNodes(spec, errors);
  if (sharedCounters && devices) {
    errors.push(invalidValue("spec", "", "only one of `sharedCounters` or `devices` is allowed"));
  }
  const before = devicesByName(current?.spec?.devices);
  const keyOf = ({ name = "" }: { readonly name?: string }) => name;
  const max = (devices ?? []).some(isRich) ? RICH_DEVICES_MAX : DEVICES_MAX;
  validateList(devices, { max, field: "spec.devices", errors, keyOf }, (device, at) => {
    const known = before.get(device.name ?? "");
    const hasSameTaints = known !== undefined && deepEqual(known.taints ?? [], device.taints ?? []);
    validateDevice(
      device,
      at,
      { choosesNodes: perDeviceNodeSelection === true, hasSameTaints },
      errors,
    );
  });
  const sets = { max: COUNTER_SETS_MAX, field: "spec.sharedCounters", errors, keyOf };
  validateList(sharedCounters, sets, (set, at) => {
    if ((set.name ?? "") === "") errors.push(requiredValue(`${at}.name`));
    else validateLabelName(set.name, `${at}.name`, errors);
    validateCounters(set, at, errors);
  });
  return errors;
}

function validatePool(pool: SliceSpec["pool"], errors: FieldError[]): void {
  const { name, generation = 0, resourceSliceCount = 0 } = pool ?? {};
  const at = "spec.pool";
  validatePoolName(name, `${at}.name`, errors);
  if (resourceSliceCount <= 0) {
    const why = "must be greater than zero";
    errors.push(invalidValue(`${at}.resourceSliceCount`, resourceSliceCount, why));
  }
  if (generation < 0) {
    const why = "must be greater than or equal to zero";
    errors.push(invalidValue(`${at}.generation`, generation, why));
  }
}

/** One way to say which nodes have the devices. */
function validateNodes(spec: SliceSpec, errors: FieldError[]): void {
  const chosen = nodeChoices(
    spec,
    "spec",
    "must be either unset or set to a non-empty string",
    errors,
  );
  const { nodeSelector, perDeviceNodeSelection } = spec;
  const terms = nodeSelector?.nodeSelectorTerms ?? [];
  if (nodeSelector && terms.length !== 1) {
    const why = "must have exactly one node selector term";
    errors.push(invalidValue("spec.nodeSelector.nodeSelectorTerms", terms, why));
  }
  if (perDeviceNodeSelection === true) chosen.push("`perDeviceNodeSelection`");
  if (perDeviceNodeSelection === false) {
    const why = "must be either unset or set to true";
    errors.push(invalidValue("spec.perDeviceNodeSelection", false, why));
  }
  const one =
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
  if (chosen.length === 0) errors.push(requiredValue("spec", one));
  if (chosen.length > 1) {
    const why = `${one}, but multiple fields are set`;
    errors.push(invalidValue("spec", `{${chosen.join(", ")}}`, why));
  }
}

function devicesByName(devices: SliceSpec["devices"]): ReadonlyMap<string, Device> {
  const found = new Map<string, Device>();
  for (const device of devices ?? []) {
    const { name = "" } = device;
    if (!found.has(name)) found.set(name, device);
  }
  return found;
}

function isRich({ taints, consumesCounters, attributes }: Device): boolean {
  return (
    (taints ?? []).length > 0 ||
    (consumesCounters ?? []).length > 0 ||
    Object.values(attributes ?? {}).some(
      ({ ints, bools, strings, versions }) => ints || bools || strings || versions,
    )
  );
}
