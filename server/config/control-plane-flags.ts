/** The flags of control planes beside the root, as a table; part of the one in flags.ts. */
import { type FlagDefinition, SERVE_ONLY } from "./flag-definition.js";

export const CONTROL_PLANE_FLAGS = {
  enableControlPlanes: {
    name: "enable-control-planes",
    type: "boolean",
    default: "false",
    section: "Control planes",
    commands: SERVE_ONLY,
    help: "Whether the kind ControlPlane is served: each object of it is an API of its own at /clusters/NAME. All replicas must agree.",
  },
  controlPlaneRootAccess: {
    name: "control-plane-root-access",
    type: "boolean",
    default: "true",
    section: "Control planes",
    commands: SERVE_ONLY,
    help: "Whether the root's administrators (the group system:masters of their certificate or token) are administrators of every control plane.",
  },
  controlPlaneDomain: {
    name: "control-plane-domain",
    type: "string",
    default: "",
    section: "Control planes",
    commands: SERVE_ONLY,
    help: "Control planes have host names, too: NAME.DOMAIN. With :PORT clients use that port. The server's own certificate is then for *.DOMAIN as well; one of --tls-cert-file must be.",
  },
  controlPlaneIdleMs: {
    name: "control-plane-idle-timeout",
    type: "duration",
    default: "10m",
    section: "Control planes",
    commands: SERVE_ONLY,
    help: "How long a control plane stays in memory without requests and watches. Its loops run as long as it does.",
  },
  controlPlanesLoadedMax: {
    name: "control-planes-loaded-max",
    type: "integer",
    default: "500",
    section: "Control planes",
    commands: SERVE_ONLY,
    help: "How many control planes a replica has in memory at a time, of about 2 MiB each. Beyond it the one that was unused for longest goes; when all are in use, others are refused with 503.",
  },
} as const satisfies Record<string, FlagDefinition>;
