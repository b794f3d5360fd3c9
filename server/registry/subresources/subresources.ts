/** The table of subresources with a behaviour of their own; all others are parts as stored. */
import { approval } from "./approval.js";
import { binding } from "./binding.js";
import type { SubresourceDefinition } from "./definition.js";
import { eviction } from "./eviction.js";
import { ephemeralContainers, resize } from "./pod-parts.js";
import { scale, scaleByLabels } from "./scale.js";

/** "group/resource/subresource", groups without the domain ("" = core); "group/resource" for an action by itself. */
export const SUBRESOURCES: Readonly<Record<string, SubresourceDefinition>> = Object.freeze({
  "/bindings": binding,
  "/pods/binding": binding,
  "/pods/ephemeralcontainers": ephemeralContainers,
  "/pods/eviction": eviction,
  "/pods/resize": resize,
  "/replicationcontrollers/scale": scaleByLabels,
  "apps/deployments/scale": scale,
  "apps/replicasets/scale": scale,
  "apps/statefulsets/scale": scale,
  "certificates/certificatesigningrequests/approval": approval,
});
