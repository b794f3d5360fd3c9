/**
 * The kind ControlPlane, as a definition that the server makes itself: so its schema, its documents, its columns and
 * `kubectl explain` come from what serves every custom kind, and no release of the API's own kinds has to know it.
 *
 * A control plane is another API in this process, at /clusters/NAME. Its content lies below a prefix that is made of
 * the object's uid, so a name that is used again never finds what an earlier one had.
 */
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";

export const CONTROL_PLANES = "controlplanes";
export const CONTROL_PLANE_KIND = "ControlPlane";
export const CONTROL_PLANE_VERSION = "v1alpha1";
/** The subresource that answers a create with a kubeconfig. */
export const KUBECONFIG = "kubeconfig";

/** "tenancy.k8s.io", or with the vendor's domain. */
export function controlPlaneGroup({ groupDomain }: Naming): string {
  return `tenancy.${groupDomain}`;
}

/** The annotation that names who made a control plane: its first administrator. Only the server writes it. */
export function creatorAnnotation(naming: Naming): string {
  return `${controlPlaneGroup(naming)}/creator`;
}

/** The server's own finalizer: the content goes before the object does. */
export function contentFinalizer(naming: Naming): string {
  return `${controlPlaneGroup(naming)}/content`;
}

/** The definition that every replica with control planes makes. */
export function controlPlaneDefinition(naming: Naming): ApiObject {
  const group = controlPlaneGroup(naming);
  return {
    apiVersion: `apiextensions.${naming.groupDomain}/v1`,
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${CONTROL_PLANES}.${group}`,
      annotations: {
        [`api-approved.${naming.labelDomain}`]: "unapproved: made and kept by this server",
      },
    },
    spec: {
      group,
      scope: "Cluster",
      names: {
        plural: CONTROL_PLANES,
        singular: "controlplane",
        kind: CONTROL_PLANE_KIND,
        listKind: `${CONTROL_PLANE_KIND}List`,
        shortNames: ["cp"],
      },
      versions: [
        {
          name: CONTROL_PLANE_VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: COLUMNS,
          schema: { openAPIV3Schema: SCHEMA },
        },
      ],
    },
  } as ApiObject;
}

const COLUMNS = [
  { name: "Phase", type: "string", jsonPath: ".status.phase" },
  { name: "Objects", type: "integer", jsonPath: ".status.objects" },
  { name: "Bytes", type: "integer", jsonPath: ".status.bytes" },
  { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  { name: "URL", type: "string", jsonPath: ".status.url", priority: 1 },
];

const limit = (description: string) => ({
  type: "integer",
  format: "int64",
  minimum: 1,
  description: `${description} Absent: no limit.`,
});

const text = (description: string) => ({ type: "string", description });

const CONDITION = {
  type: "object",
  required: ["type", "status", "lastTransitionTime", "reason", "message"],
  properties: {
    type: { type: "string" },
    status: { type: "string", enum: ["True", "False", "Unknown"] },
    observedGeneration: { type: "integer", format: "int64" },
    lastTransitionTime: { type: "string", format: "date-time" },
    reason: { type: "string" },
    message: { type: "string" },
  },
};

const SCHEMA = {
  type: "object",
  description: "ControlPlane is an API of its own in this process, at /clusters/NAME.",
  properties: {
    spec: {
      type: "object",
      properties: {
        suspended: {
          type: "boolean",
          description: "While it is true nothing of it is served, and nothing of it runs.",
        },
        limits: {
          type: "object",
          description: "What it may have and do. What is over is refused with 403 or 429.",
          properties: {
            objects: limit("Objects of all kinds together, the server's own included."),
            bytes: limit("Bytes of all its objects together."),
            requests: limit("Requests at a time on each replica, watches not counted."),
            watches: limit("Watches at a time on each replica."),
          },
        },
        cloneFrom: {
          type: "object",
          description: "The control plane whose objects it begins with. Cannot be changed.",
          required: ["name"],
          properties: {
            name: text("The other control plane."),
            resourceVersion: {
              ...text("As of this revision, which must be kept still. Absent: now."),
              pattern: "^[1-9][0-9]{0,14}$",
            },
          },
        },
      },
      "x-kubernetes-validations": [
        {
          rule: "has(self.cloneFrom) == has(oldSelf.cloneFrom) && (!has(self.cloneFrom) || self.cloneFrom == oldSelf.cloneFrom)",
          message: "cloneFrom cannot be changed",
        },
      ],
    },
    status: {
      type: "object",
      properties: {
        phase: text("Ready, Suspended, Failed or Terminating."),
        url: text(
          "The path below the server's address, or the whole URL where control planes have host names.",
        ),
        objects: { type: "integer", format: "int64", description: "Objects of all kinds." },
        bytes: { type: "integer", format: "int64", description: "Bytes of their JSON." },
        owesWork: {
          type: "boolean",
          description: "Whether it has work that waits for a time to come. Then it is not let go.",
        },
        lastUsedTime: {
          type: "string",
          format: "date-time",
          description: "About when a request last came.",
        },
        conditions: {
          type: "array",
          items: CONDITION,
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["type"],
        },
      },
    },
  },
};
