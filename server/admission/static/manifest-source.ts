/** Rules from files instead of the API, as admission uses them. */
import type { ApiObject } from "../../api/meta.js";

export interface ManifestSource {
  /** The objects of a resource such as "validatingadmissionpolicies", ordered by name; the same list until they change. */
  of(resource: string): readonly ApiObject[];
  /** The callback is called after a change. */
  subscribe(changed: () => void): void;
}

export const NO_MANIFESTS: ManifestSource = { of: () => [], subscribe() {} };
