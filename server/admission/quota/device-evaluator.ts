/** Claims of devices: their number, and the devices that they may get at most, per device class. */
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import { addQuantities, parseQuantity, type Quantity } from "../../schema/quantity.js";
import type { Evaluator } from "./evaluator.js";
import { ONE } from "./usage.js";

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

export function deviceEvaluator({ groupDomain }: Naming): Evaluator {
  const count = `count/resourceclaims.resource.${groupDomain}`;
  const ofClass = `.deviceclass.resource.${groupDomain}/devices`;
  return {
    charges: (operation, subresource) =>
      subresource === "" && (operation === "CREATE" || operation === "UPDATE"),
    uses: (name) => name === count || name.endsWith(ofClass),
    usage({ spec }: ClaimObject) {
      const usage = new Map<string, Quantity>([[count, ONE]]);
      for (const request of spec?.devices?.requests ?? []) {
        for (const [className, devices] of devicesOf(request)) {
          const name = className + ofClass;
          const known = usage.get(name);
          const amount = parseQuantity(String(devices));
          if (amount === undefined) continue;
          usage.set(name, known === undefined ? amount : addQuantities(known, amount));
        }
      }
      return usage;
    },
  };
}

/** By class; of alternatives the one with the most devices. */
function devicesOf({ exactly, firstAvailable }: Request): ReadonlyMap<string, number | bigint> {
  const most = new Map<string, number | bigint>();
  const alternatives = firstAvailable ?? [];
  const wanted = alternatives.length > 0 ? alternatives : exactly ? [exactly] : [];
  for (const { deviceClassName = "", allocationMode, count = 0 } of wanted) {
    const devices = allocationMode === "All" ? ALL_DEVICES : count;
    if (devices > (most.get(deviceClassName) ?? 0)) most.set(deviceClassName, devices);
  }
  return most;
}
