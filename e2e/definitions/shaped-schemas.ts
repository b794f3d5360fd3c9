/**
 * Parts of schemas of the size and shape that operators generate from their types: a description on every
 * field, conditions, label selectors, and pods in all their depth.
 */
import type { JsonSchema } from "../../server/structural/json-schema.js";

/** Whoever generates a schema takes what stands above a field for its description. */
const PROSE =
  "It is read when the object is reconciled, changes of it are carried out without a restart, and what is not " +
  "set is chosen by the controller, which writes its choice to the status.";

const ROOT = "The object";

export const text: JsonSchema = { type: "string" };
export const flag: JsonSchema = { type: "boolean" };
export const integer: JsonSchema = { type: "integer", format: "int32" };
export const time: JsonSchema = { type: "string", format: "date-time" };
export const intOrString: JsonSchema = {
  anyOf: [{ type: "integer" }, { type: "string" }],
  "x-kubernetes-int-or-string": true,
};
export const quantity: JsonSchema = {
  ...intOrString,
  pattern:
    "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$",
};
export const anything: JsonSchema = {
  type: "object",
  "x-kubernetes-preserve-unknown-fields": true,
};

export const listOf = (items: JsonSchema, more: JsonSchema = {}): JsonSchema => ({
  type: "array",
  items,
  ...more,
});
export const mapOf = (additionalProperties: JsonSchema): JsonSchema => ({
  type: "object",
  additionalProperties,
});
export const oneOfTexts = (...values: string[]): JsonSchema => ({ ...text, enum: values });

/** Items that are told apart by their names, as apply merges them. */
export const named = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema =>
  listOf(struct({ name: text, ...properties }, "name"), {
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
  });

export function struct(
  properties: Readonly<Record<string, JsonSchema>>,
  ...required: string[]
): JsonSchema {
  return { type: "object", properties, ...(required.length === 0 ? {} : { required }) };
}

/** With a description of some hundred characters on every field, as generated schemas have them. */
export function described(schema: JsonSchema, path = ROOT): JsonSchema {
  const { properties, items, additionalProperties } = schema;
  const fields = Object.entries(properties ?? {}).map(
    // Metadata is known without.
    ([name, one]) =>
      [
        name,
        name === "metadata" && path === ROOT ? one : described(one, `${path}'s ${name}`),
      ] as const,
  );
  return {
    ...schema,
    description: `${path} as somebody wants it. ${PROSE}`,
    ...(properties === undefined ? {} : { properties: Object.fromEntries(fields) }),
    ...(items === undefined ? {} : { items: described(items as JsonSchema, path) }),
    ...(typeof additionalProperties === "object"
      ? { additionalProperties: described(additionalProperties, path) }
      : {}),
  };
}

export const labelSelector: JsonSchema = {
  ...struct({
    matchExpressions: listOf(
      struct({ key: text, operator: text, values: listOf(text) }, "key", "operator"),
      { "x-kubernetes-list-type": "atomic" },
    ),
    matchLabels: mapOf(text),
  }),
  "x-kubernetes-map-type": "atomic",
};

export const conditions: JsonSchema = listOf(
  struct(
    {
      type: { ...text, maxLength: 316, pattern: "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$" },
      status: oneOfTexts("True", "False", "Unknown"),
      reason: { ...text, minLength: 1, maxLength: 1024 },
      message: { ...text, maxLength: 32768 },
      lastTransitionTime: time,
      observedGeneration: { type: "integer", format: "int64", minimum: 0 },
    },
    "lastTransitionTime",
    "message",
    "reason",
    "status",
    "type",
  ),
  { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"], maxItems: 16 },
);

const keyOf = struct({ key: text, name: { ...text, default: "" }, optional: flag }, "key");
const command = struct({ command: listOf(text) });
const request = struct(
  {
    host: text,
    path: text,
    port: intOrString,
    scheme: text,
    httpHeaders: listOf(struct({ name: text, value: text }, "name", "value")),
  },
  "port",
);
const handler = struct({
  exec: command,
  httpGet: request,
  tcpSocket: struct({ host: text, port: intOrString }, "port"),
  sleep: struct({ seconds: { type: "integer", format: "int64" } }, "seconds"),
});
const probe = struct({
  ...handler.properties,
  failureThreshold: integer,
  initialDelaySeconds: integer,
  periodSeconds: integer,
  successThreshold: integer,
  timeoutSeconds: integer,
});
const resources = struct({
  claims: named({ request: text }),
  limits: mapOf(quantity),
  requests: mapOf(quantity),
});
const security = struct({
  allowPrivilegeEscalation: flag,
  capabilities: struct({ add: listOf(text), drop: listOf(text) }),
  privileged: flag,
  readOnlyRootFilesystem: flag,
  runAsGroup: integer,
  runAsNonRoot: flag,
  runAsUser: integer,
  seLinuxOptions: struct({ level: text, role: text, type: text, user: text }),
  seccompProfile: struct({ localhostProfile: text, type: text }, "type"),
});

export const containers: JsonSchema = named({
  args: listOf(text),
  command: listOf(text),
  env: named({
    value: text,
    valueFrom: struct({
      configMapKeyRef: keyOf,
      fieldRef: struct({ apiVersion: text, fieldPath: text }, "fieldPath"),
      resourceFieldRef: struct(
        { containerName: text, divisor: quantity, resource: text },
        "resource",
      ),
      secretKeyRef: keyOf,
    }),
  }),
  image: text,
  imagePullPolicy: text,
  lifecycle: struct({ postStart: handler, preStop: handler }),
  livenessProbe: probe,
  ports: listOf(
    struct(
      { containerPort: integer, name: text, protocol: { ...text, default: "TCP" } },
      "containerPort",
    ),
    {
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
    },
  ),
  readinessProbe: probe,
  resources,
  securityContext: security,
  startupProbe: probe,
  volumeMounts: listOf(
    struct({ mountPath: text, name: text, readOnly: flag, subPath: text }, "mountPath", "name"),
  ),
});

const term = struct({
  labelSelector,
  namespaceSelector: labelSelector,
  namespaces: listOf(text),
  topologyKey: text,
});
const podAffinity = struct({
  preferred: listOf(
    struct({ podAffinityTerm: term, weight: integer }, "podAffinityTerm", "weight"),
  ),
  required: listOf(term),
});

export const podSpec: JsonSchema = struct(
  {
    affinity: struct({ podAffinity, podAntiAffinity: podAffinity }),
    containers,
    initContainers: containers,
    nodeSelector: mapOf(text),
    securityContext: security,
    serviceAccountName: text,
    tolerations: listOf(
      struct({ effect: text, key: text, operator: text, tolerationSeconds: integer, value: text }),
    ),
    topologySpreadConstraints: listOf(
      struct({ labelSelector, maxSkew: integer, topologyKey: text, whenUnsatisfiable: text }),
    ),
    volumes: named({
      configMap: struct({ items: listOf(struct({ key: text, path: text })), name: text }),
      emptyDir: struct({ medium: text, sizeLimit: quantity }),
      persistentVolumeClaim: struct({ claimName: text, readOnly: flag }, "claimName"),
      projected: struct({ defaultMode: integer, sources: listOf(anything) }),
      secret: struct({ items: listOf(struct({ key: text, path: text })), secretName: text }),
    }),
  },
  "containers",
);
