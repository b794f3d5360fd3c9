/** Volume claims: their number and size, in total and per storage class. */

import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import {
  compareQuantities,
  parseQuantity,
  type Quantity,
  roundUpToWhole,
} from "../../schema/quantity.js";
import { WRITES } from "../admission.js";
import type { Evaluator } from "./evaluator.js";
import type { ScopeTerm } from "./quota-object.js";
import { matchesName } from "./scopes.js";
import { ONE } from "./usage.js";

interface ClaimObject extends ApiObject {
  spec?: {
    readonly storageClassName?: string | null;
    readonly volumeAttributesClassName?: string | null;
    readonly resources?: { readonly requests?: Readonly<Record<string, string>> | null };
  };
  status?: {
    readonly allocatedResources?: Readonly<Record<string, string>> | null;
    readonly currentVolumeAttributesClassName?: string | null;
    readonly modifyVolumeStatus?: {
      readonly targetVolumeAttributesClassName?: string | null;
    } | null;
  };
}

const COUNT = "count/persistentvolumeclaims";
const CLAIMS = "persistentvolumeclaims";
const STORAGE = "requests.storage";

export function claimEvaluator({ groupDomain, labelDomain }: Naming): Evaluator {
  const ofClass = `.storageclass.storage.${groupDomain}/`;
  const classAnnotation = `volume.beta.${labelDomain}/storage-class`;
  return {
    charges(operation, subresource) {
      if (subresource === "status") return operation === "UPDATE";
      return subresource === "" && WRITES.includes(operation);
    },
    uses(name) {
      if (name === COUNT || name === CLAIMS || name === STORAGE) return true;
      return name.endsWith(ofClass + CLAIMS) || name.endsWith(ofClass + STORAGE);
    },
    usage(claim: ClaimObject) {
      const { metadata, spec = {} } = claim;
      const className = metadata.annotations?.[classAnnotation] ?? spec.storageClassName ?? "";
      const usage = new Map<string, Quantity>([
        [COUNT, ONE],
        [CLAIMS, ONE],
      ]);
      if (className !== "") usage.set(className + ofClass + CLAIMS, ONE);
      const storage = storageOf(claim);
      if (storage === undefined) return usage;
      usage.set(STORAGE, storage);
      if (className !== "") usage.set(className + ofClass + STORAGE, storage);
      return usage;
    },
    isInScope: isInClaimScope,
  };
}

/** The requested size, or the size that a resize has allocated if that is larger. */
function storageOf({ spec = {}, status = {} }: ClaimObject): Quantity | undefined {
  const asked = parseQuantity(spec.resources?.requests?.storage ?? "");
  if (asked === undefined) return undefined;
  const given = parseQuantity(status.allocatedResources?.storage ?? "");
  const isMore = given !== undefined && compareQuantities(given, asked) > 0;
  return roundUpToWhole(isMore ? given : asked);
}

function isInClaimScope({ spec = {}, status = {} }: ClaimObject, term: ScopeTerm): boolean {
  if (term.scopeName !== "VolumeAttributesClass") return false;
  // A claim that changes its class counts for both.
  const names = [
    spec.volumeAttributesClassName,
    status.currentVolumeAttributesClassName,
    status.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ].filter((name): name is string => typeof name === "string" && name !== "");
  if (names.length === 0) return matchesName(term, "");
  return names.some((name) => matchesName(term, name));
}
