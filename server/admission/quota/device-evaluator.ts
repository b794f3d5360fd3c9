/**
 * Claims of devices: their number, and the devices that they may get at most, by the names of their device
 * classes: that of the class itself, and those of the extended resources that it is.
 */

import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import {
  parseQuantity,
  type Quantity,
  subtractQuantities,
  ZERO_QUANTITY,
} from "../../schema/quantity.js";
import { WRITES } from "../admission.js";
import type { DeviceFacts } from "./device-facts.js";
import type { Evaluator } from "./evaluator.js";
import { addTo, ONE, type Usage } from "./usage.js";

interface Wanted {
  readonly deviceClassName?: string;
  readonly allocationMode?: string;
  readonly count?: number | bigint;
}

interface Request {
  readonly exactly?: Wanted | null;
  readonly firstAvailable?: readonly Wanted[] | null;
}

interface ClaimObject extends ApiObject {
  spec?: { readonly devices?: { readonly requests?: readonly Request[] | null } | null };
}

/** Devices of one allocation, so also of a request for all of them. */
const ALL_DEVICES = 32;
const REQUESTS = "requests.";

/** `pods` evaluates the pods that claims are made for. */
export function deviceEvaluator(
  { groupDomain, labelDomain }: Naming,
  facts: DeviceFacts,
  pods: Pick<Evaluator, "usage">,
): Evaluator {
  const count = `count/resourceclaims.resource.${groupDomain}`;
  const ofClass = `.deviceclass.resource.${groupDomain}/devices`;
  const implicit = `${REQUESTS}deviceclass.resource.${labelDomain}/`;

  /** The devices by the names of extended resources, less what the claim's pod is charged for. */
  function extendedUsage(byClass: Usage, charged: Usage): Usage {
    const usage = new Map<string, Quantity>();
    for (const [className, devices] of byClass) {
      if (className === "") continue;
      addTo(usage, new Map([[implicit + className, devices]]));
      const name = facts.extendedResourceOf(className);
      if (name) addTo(usage, new Map([[REQUESTS + name, devices]]));
    }
    for (const [name, devices] of usage) {
      const rest = subtractQuantities(devices, charged.get(name) ?? ZERO_QUANTITY);
      if (rest.digits > 0n) usage.set(name, rest);
      else usage.delete(name);
    }
    return usage;
  }

  return {
    charges: (operation, subresource) => subresource === "" && WRITES.includes(operation),
    uses: (name) =>
      name === count ||
      name.endsWith(ofClass) ||
      (name.startsWith(REQUESTS) && facts.isExtendedResource(name.slice(REQUESTS.length))),
    usage(claim: ClaimObject, nowMs) {
      const byClass = new Map<string, Quantity>();
      for (const request of claim.spec?.devices?.requests ?? []) addTo(byClass, devicesOf(request));
      const usage = new Map<string, Quantity>([[count, ONE]]);
      for (const [className, devices] of byClass) usage.set(className + ofClass, devices);
      const pod = facts.podOf(claim);
      addTo(usage, extendedUsage(byClass, pod === undefined ? new Map() : pods.usage(pod, nowMs)));
      return usage;
    },
  };
}

/** By class; of alternatives the one with the most devices. */
function devicesOf({ exactly, firstAvailable }: Request): Usage {
  const most = new Map<string, number | bigint>();
  const alternatives = firstAvailable ?? [];
  const wanted = alternatives.length > 0 ? alternatives : exactly ? [exactly] : [];
  for (const one of wanted) {
    const { deviceClassName = "" } = one;
    const devices = countOf(one);
    if (devices > (most.get(deviceClassName) ?? 0)) most.set(deviceClassName, devices);
  }
  return new Map(
    [...most].map(([className, devices]) => [
      className,
      parseQuantity(String(devices)) ?? ZERO_QUANTITY,
    ]),
  );
}

/** A mode of the future counts nothing, as nobody knows what it takes. */
function countOf({ allocationMode, count = 0 }: Wanted): number | bigint {
  if (allocationMode === "All") return ALL_DEVICES;
  return allocationMode === "ExactCount" ? count : 0;
}
