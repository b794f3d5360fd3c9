/** Rules that come from files rather than from the API, as admission uses them. */
import type { ApiObject } from "../../api/meta.js";

export interface ManifestSource {
  /** Those of a resource such as "validatingadmissionpolicies", in the order of names; the same list until they change. */
  of(resource: string): readonly ApiObject[];
  /** Told when they are others. */
  subscribe(changed: () => void): void;
}

export const NO_MANIFESTS: ManifestSource = { of: () => [], subscribe() {} };
