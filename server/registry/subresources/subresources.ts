/** The tables of subresources with a behaviour of their own; all others are stored parts. */
import type { Actions } from "../write/action.js";
import { approval } from "./approval.js";
import { binding } from "./binding.js";
import type { PartDefinition } from "./definition.js";
import { eviction } from "./eviction.js";
import { ephemeralContainers, resize } from "./pod-parts.js";
import { scale, scaleByLabels } from "./scale.js";

/** "group/resource/subresource", groups without the domain ("" = core). */
export const PARTS: Readonly<Record<string, PartDefinition>> = Object.freeze({
  "/pods/ephemeralcontainers": ephemeralContainers,
  "/pods/resize": resize,
  "/replicationcontrollers/scale": scaleByLabels,
  "apps/deployments/scale": scale,
  "apps/replicasets/scale": scale,
  "apps/statefulsets/scale": scale,
  "certificates/certificatesigningrequests/approval": approval,
});

/** Connections to nodes, pods and services, named like parts. server/connect implements them. */
export const CONNECTORS: ReadonlySet<string> = new Set([
  "/nodes/proxy",
  "/pods/attach",
  "/pods/exec",
  "/pods/log",
  "/pods/portforward",
  "/pods/proxy",
  "/services/proxy",
]);

/** Named like parts; "group/resource" for an action by itself. */
export const ACTIONS: Actions = Object.freeze({
  "/bindings": binding,
  "/pods/binding": binding,
  "/pods/eviction": eviction,
});
