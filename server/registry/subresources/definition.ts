/**
 * Subresources with a behaviour of their own, by what they are: a part of an object that is read and
 * written by itself (scale, resize, ...), or an action on it (binding, eviction).
 *
 *   subresources.ts   the table of them      scale.ts, pod-parts.ts, approval.ts   parts
 *   label-selector.ts selectors in objects   binding.ts, eviction.ts               actions
 */
import type {
  Conversion,
  ResourceAction,
  ServedResource,
  SubresourcePart,
} from "../generic/served-resource.js";

/** Finds what an action works on: other resources of the same table. */
export type FindResource = (
  group: string,
  version: string,
  resource: string,
) => ServedResource | undefined;

export interface SubresourceDefinition {
  /** Makes its objects of the stored one, where they have a shape of their own. */
  readonly conversion?: Conversion;
  readonly part?: SubresourcePart;
  readonly action?: (find: FindResource) => ResourceAction;
}
