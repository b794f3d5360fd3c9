/**
 * Subresources with a behaviour of their own. Each is either a part of an object that is read and
 * written by itself (scale, resize, ...), or an action on it (binding, eviction).
 *
 *   subresources.ts   the tables of them     scale.ts, pod-parts.ts, approval.ts   parts
 *   label-selector.ts selectors in objects   binding.ts, eviction.ts               actions
 */
import type { SubresourceDefinition } from "../../kinds/served-resource.js";

/** A part that is more than a piece of the stored object. */
export type PartDefinition = Required<Pick<SubresourceDefinition, "part">> &
  Pick<SubresourceDefinition, "conversion">;
