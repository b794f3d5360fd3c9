/**
 * Definitions written to the size and shape of those that no package carries: Argo's workflows, routes with
 * rules, certificates with selectable fields, a monitoring stack of half a mebibyte, Crossplane's claims,
 * composites and managed resources, and Cluster API's machines in three versions. Their words are our own.
 */
import type { JsonSchema } from "../../server/structural/json-schema.js";
import type { Definition, DefinitionVersion } from "./definition.js";
import { gatewaySpec, generatingSpec } from "./ruled-definitions.js";
import {
  anything,
  conditions,
  containers,
  described,
  flag,
  integer,
  intOrString,
  labelSelector,
  listOf,
  mapOf,
  named,
  oneOfTexts,
  podSpec,
  struct,
  text,
  time,
} from "./shaped-schemas.js";

export interface ShapedDefinition {
  readonly definition: Definition;
  /** Merge patches of its smallest object that its rules refuse, with what is said then. */
  readonly refused?: readonly (readonly [change: object, said: string])[];
}

const READY = {
  name: "Ready",
  type: "string",
  jsonPath: '.status.conditions[?(@.type=="Ready")].status',
};
const AGE = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };
const column = (name: string, jsonPath: string, more: object = {}) => ({
  name,
  type: "string",
  jsonPath,
  ...more,
});

interface Shape {
  readonly group: string;
  readonly kind: string;
  readonly scope?: "Cluster";
  readonly names?: object;
  readonly conversion?: object;
  readonly versions: readonly VersionShape[];
}

/** The first one is stored. */
interface VersionShape {
  readonly name: string;
  readonly spec: JsonSchema;
  readonly status?: JsonSchema;
  readonly scale?: object;
  readonly columns?: readonly object[];
  readonly more?: object;
}

function definitionOf({ group, kind, scope, names, conversion, versions }: Shape): Definition {
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: scope ?? "Namespaced",
      names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List`, ...names },
      versions: versions.map(versionOf),
      ...(conversion === undefined ? {} : { conversion }),
    },
  };
}

function versionOf(shape: VersionShape, index: number): DefinitionVersion {
  const { name, spec, status = struct({ conditions }), scale, columns = [READY], more } = shape;
  const openAPIV3Schema = described({
    ...struct({ apiVersion: text, kind: text, metadata: { type: "object" }, spec, status }),
    required: ["spec"],
  });
  return {
    name,
    served: true,
    storage: index === 0,
    schema: { openAPIV3Schema },
    subresources: { status: {}, ...(scale === undefined ? {} : { scale }) },
    additionalPrinterColumns: [...columns, AGE],
    ...more,
  };
}

const withRules = (schema: JsonSchema, ...rules: (readonly [rule: string, message: string])[]) => ({
  ...schema,
  "x-kubernetes-validations": rules.map(([rule, message]) => ({ rule, message })),
});

// Steps are lists of lists, and a template may hold templates: that deep, everything is kept.
const argument = struct({ name: text, value: intOrString, valueFrom: anything }, "name");
const workflowSpec = struct({
  entrypoint: text,
  arguments: struct({ parameters: listOf(argument), artifacts: listOf(anything) }),
  templates: named({
    container: containers.items as JsonSchema,
    steps: listOf(listOf(anything)),
    dag: struct({
      failFast: flag,
      tasks: named({ template: text, inline: anything, depends: text }),
    }),
    inputs: struct({ parameters: listOf(argument) }),
    resource: struct({ action: text, manifest: text }, "action"),
    retryStrategy: struct({ limit: intOrString, expression: text }),
    metrics: anything,
  }),
  workflowTemplateRef: struct({ name: text, clusterScope: flag }),
  podSpecPatch: text,
  affinity: anything,
});
const workflow: ShapedDefinition = {
  definition: definitionOf({
    group: "workflows.shaped.example",
    kind: "Workflow",
    names: { shortNames: ["shwf"], categories: ["shapedall"] },
    versions: [
      {
        name: "v1alpha1",
        spec: workflowSpec,
        status: { ...anything, properties: { phase: text, message: text, nodes: mapOf(anything) } },
        columns: [
          column("Status", ".status.phase"),
          column("Message", ".status.message", { priority: 1 }),
        ],
      },
    ],
  }),
};

const bounded = (items: JsonSchema, maxItems: number) => listOf(items, { maxItems });
const match = struct({
  path: withRules(
    {
      ...struct({
        type: { ...oneOfTexts("Exact", "PathPrefix", "RegularExpression"), default: "PathPrefix" },
        value: { ...text, maxLength: 1024, default: "/" },
      }),
      default: { type: "PathPrefix", value: "/" },
    },
    [
      "self.type in ['Exact', 'PathPrefix'] ? self.value.startsWith('/') : true",
      "a path starts with a slash",
    ],
    [
      "self.type in ['Exact', 'PathPrefix'] ? !self.value.contains('//') : true",
      "a path has no two slashes in a row",
    ],
  ),
  headers: {
    ...bounded(
      struct({ name: { ...text, maxLength: 256 }, value: { ...text, maxLength: 4096 } }, "name"),
      16,
    ),
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
  },
});
const filter = withRules(
  struct(
    {
      type: oneOfTexts("Redirect", "Rewrite", "Headers"),
      redirect: struct({ hostname: { ...text, maxLength: 253 }, statusCode: integer }),
      rewrite: struct({ path: { ...text, maxLength: 1024 } }),
    },
    "type",
  ),
  ["!(self.type != 'Redirect' && has(self.redirect))", "redirect belongs to the type Redirect"],
  ["!(self.type == 'Redirect' && !has(self.redirect))", "the type Redirect wants redirect"],
);
const backend = struct({
  name: { ...text, minLength: 1, maxLength: 253 },
  port: { ...integer, minimum: 1, maximum: 65535 },
  weight: { ...integer, minimum: 0, maximum: 1_000_000, default: 1 },
});
const routeRule = withRules(
  struct({
    name: { ...text, maxLength: 253 },
    matches: bounded(match, 8),
    filters: withRules(
      bounded(filter, 16) as JsonSchema,
      [
        "!(self.exists(f, f.type == 'Redirect') && self.exists(f, f.type == 'Rewrite'))",
        "a redirect cannot be rewritten",
      ],
      ["self.filter(f, f.type == 'Redirect').size() <= 1", "one redirect is enough"],
    ),
    backends: bounded(backend, 16),
  }),
  [
    "(has(self.backends) && size(self.backends) > 0) ? (!has(self.filters) || self.filters.all(f, !has(f.redirect))) : true",
    "a redirect has no backends",
  ],
);
const route: ShapedDefinition = {
  definition: definitionOf({
    group: "routes.shaped.example",
    kind: "Route",
    names: { categories: ["shapedall"] },
    versions: [
      {
        name: "v1",
        spec: struct({
          parents: withRules(bounded(struct({ name: { ...text, maxLength: 253 } }, "name"), 32), [
            "self.all(p1, self.exists_one(p2, p1.name == p2.name))",
            "a parent is named once",
          ]),
          hostnames: bounded({ ...text, minLength: 1, maxLength: 253 }, 16),
          rules: withRules(bounded(routeRule, 16), [
            "self.all(l1, !has(l1.name) || self.exists_one(l2, has(l2.name) && l1.name == l2.name))",
            "names of rules are unique",
          ]),
        }),
        columns: [column("Hostnames", ".spec.hostnames")],
      },
    ],
  }),
  refused: [
    [{ spec: { parents: [{ name: "a" }, { name: "a" }] } }, "a parent is named once"],
    [{ spec: { rules: [{ matches: [{ path: { value: "x" } }] }] } }, "a path starts with a slash"],
    [{ spec: { rules: [{ filters: [{ type: "Redirect" }] }] } }, "wants redirect"],
    [{ spec: { rules: [{ name: "a" }, { name: "a" }] } }, "names of rules are unique"],
  ],
};

const certificate: ShapedDefinition = {
  definition: definitionOf({
    group: "certificates.shaped.example",
    kind: "Certificate",
    names: { shortNames: ["shcert"], categories: ["shapedall"] },
    versions: [
      {
        name: "v1",
        spec: withRules(
          struct(
            {
              secretName: withRules({ ...text, maxLength: 253 }, [
                "self == oldSelf",
                "the name of the secret stays",
              ]),
              issuerRef: struct({ name: { ...text, default: "main" }, kind: text, group: text }),
              duration: { ...text, format: "duration", maxLength: 64, default: "2160h" },
              renewBefore: { ...text, format: "duration", maxLength: 64 },
              dnsNames: listOf(
                { ...text, maxLength: 253 },
                { "x-kubernetes-list-type": "set", maxItems: 64 },
              ),
              privateKey: struct({
                algorithm: { ...oneOfTexts("RSA", "ECDSA", "Ed25519"), default: "RSA" },
                size: integer,
              }),
              usages: listOf(oneOfTexts("signing", "server auth", "client auth")),
            },
            "secretName",
          ),
          [
            "!has(self.renewBefore) || duration(self.renewBefore) < duration(self.duration)",
            "it is renewed before it ends",
          ],
        ),
        status: struct({ conditions, notAfter: time, revision: integer }),
        columns: [
          READY,
          column("Secret", ".spec.secretName"),
          column("Issuer", ".spec.issuerRef.name"),
        ],
        more: {
          selectableFields: [
            { jsonPath: ".spec.secretName" },
            { jsonPath: ".spec.issuerRef.name" },
          ],
        },
      },
    ],
  }),
  refused: [
    [{ spec: { secretName: "other" } }, "the name of the secret stays"],
    [{ spec: { renewBefore: "9000h" } }, "it is renewed before it ends"],
    [{ spec: { dnsNames: ["a", "a"] } }, "Duplicate value"],
  ],
};

const monitoring: ShapedDefinition = {
  definition: definitionOf({
    group: "monitoring.shaped.example",
    kind: "Monitor",
    names: { shortNames: ["shmon"], categories: ["shapedall"] },
    versions: [
      {
        name: "v1",
        spec: struct({
          ...podSpec.properties,
          template: struct({ metadata: anything, spec: podSpec }),
          thanos: struct({ template: struct({ spec: podSpec }) }),
          replicas: { ...integer, minimum: 0, default: 1 },
          ruleSelector: labelSelector,
          scrapeInterval: {
            ...text,
            pattern:
              "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$",
            default: "30s",
          },
          additionalConfigs: anything,
        }),
        status: struct({ conditions, replicas: integer, selector: text }),
        scale: {
          specReplicasPath: ".spec.replicas",
          statusReplicasPath: ".status.replicas",
          labelSelectorPath: ".status.selector",
        },
        columns: [column("Desired", ".spec.replicas", { type: "integer" }), READY],
      },
    ],
  }),
  refused: [[{ spec: { replicas: -1 } }, "greater than or equal to 0"]],
};

const reference = struct({ name: text, namespace: text, kind: text, apiVersion: text }, "name");
const crossplane = {
  compositionRef: struct({ name: text }, "name"),
  compositionSelector: struct({ matchLabels: mapOf(text) }, "matchLabels"),
  compositionUpdatePolicy: { ...oneOfTexts("Automatic", "Manual"), default: "Automatic" },
  writeConnectionSecretToRef: struct({ name: text, namespace: text }, "name"),
};
const parameters = withRules(
  struct({ region: text, storageGB: { ...integer, minimum: 10, default: 20 }, engine: text }),
  [
    "!has(oldSelf.engine) || (has(self.engine) && self.engine == oldSelf.engine)",
    "the engine stays",
  ],
);
const composed = (kind: string, category: string, scope: { scope?: "Cluster" }, more: object) =>
  definitionOf({
    group: "platform.shaped.example",
    kind,
    ...scope,
    names: { categories: [category, "shapedall"] },
    versions: [
      {
        name: "v1alpha1",
        spec: struct({ ...crossplane, parameters, ...more }),
        status: { ...anything, properties: { conditions, claimConditionTypes: listOf(text) } },
        columns: [
          column("Synced", '.status.conditions[?(@.type=="Synced")].status'),
          READY,
          column("Connection-Secret", ".spec.writeConnectionSecretToRef.name", { priority: 1 }),
        ],
      },
    ],
  });
const claim: ShapedDefinition = {
  definition: composed("Database", "shclaim", {}, { resourceRef: reference }),
};
const composite: ShapedDefinition = {
  definition: composed(
    "XDatabase",
    "shcomposite",
    { scope: "Cluster" },
    {
      claimRef: reference,
      resourceRefs: listOf(reference, { "x-kubernetes-list-type": "atomic" }),
    },
  ),
};
const POLICIES = ["*", "Create", "Observe", "Update", "Delete", "LateInitialize"];
const unlessObserved =
  "!('*' in self.managementPolicies || 'Create' in self.managementPolicies || 'Update' in self.managementPolicies)";
const managed: ShapedDefinition = {
  definition: definitionOf({
    group: "cloud.shaped.example",
    kind: "Bucket",
    scope: "Cluster",
    names: { categories: ["shmanaged", "shapedall"] },
    versions: [
      {
        name: "v1beta1",
        spec: withRules(
          struct({
            deletionPolicy: { ...oneOfTexts("Orphan", "Delete"), default: "Delete" },
            forProvider: struct({ region: text, tags: mapOf(text), acl: text }),
            initProvider: struct({ acl: text }),
            managementPolicies: listOf(oneOfTexts(...POLICIES), { default: ["*"] }),
            providerConfigRef: {
              ...struct({ name: text, policy: struct({ resolution: text }) }, "name"),
              default: { name: "default" },
            },
          }),
          [
            `${unlessObserved} || !has(self.forProvider) || has(self.forProvider.acl) || (has(self.initProvider) && has(self.initProvider.acl))`,
            "spec.forProvider.acl is a required parameter",
          ],
        ),
        columns: [
          READY,
          column("External-Name", ".metadata.annotations.crossplane\\.io/external-name"),
        ],
      },
    ],
  }),
  refused: [[{ spec: { forProvider: { region: "a" } } }, "acl is a required parameter"]],
};

const machineSpec = (more: Readonly<Record<string, JsonSchema>>): JsonSchema =>
  struct(
    {
      clusterName: { ...text, minLength: 1 },
      replicas: { ...integer, default: 1 },
      selector: labelSelector,
      template: struct({
        metadata: struct({ labels: mapOf(text), annotations: mapOf(text) }),
        spec: struct({ bootstrap: anything, infrastructureRef: reference, version: text }),
      }),
      ...more,
    },
    "clusterName",
  );
const machineScale = {
  specReplicasPath: ".spec.replicas",
  statusReplicasPath: ".status.replicas",
  labelSelectorPath: ".status.selector",
};
const machineStatus = struct({ conditions, replicas: integer, selector: text, phase: text });
const machines: ShapedDefinition = {
  definition: definitionOf({
    group: "cluster.shaped.example",
    kind: "MachinePool",
    names: { shortNames: ["shmp"], categories: ["shapedall"] },
    versions: (
      [
        ["v1beta2", { deletion: struct({ order: text, drainTimeoutSeconds: integer }) }, {}],
        ["v1beta1", { nodeDrainTimeout: text, strategy: anything }, { deprecated: true }],
        [
          "v1alpha4",
          { strategy: anything },
          { deprecated: true, deprecationWarning: "v1alpha4 goes with the next release" },
        ],
      ] as const
    ).map(([name, fields, more]) => ({
      name,
      spec: machineSpec(fields),
      status: machineStatus,
      scale: machineScale,
      columns: [column("Cluster", ".spec.clusterName"), column("Phase", ".status.phase")],
      more,
    })),
    // Objects are asked for as they are stored: nobody is called.
    conversion: {
      strategy: "Webhook",
      webhook: {
        conversionReviewVersions: ["v1", "v1beta1"],
        clientConfig: { service: { namespace: "default", name: "converter", path: "/convert" } },
      },
    },
  }),
};

export const gateway: ShapedDefinition = {
  definition: definitionOf({
    group: "gateways.shaped.example",
    kind: "Entrance",
    names: { shortNames: ["shen"], categories: ["shapedall"] },
    versions: [{ name: "v1", spec: gatewaySpec }],
  }),
  refused: [
    [
      { spec: { listeners: [{ name: "a", port: 80, protocol: "TCP", hostname: "a" }] } },
      "TCP and UDP have no hostname",
    ],
    [
      { spec: { infrastructure: { labels: { "a b": "c" } } } },
      "keys have letters, digits and ./_-",
    ],
  ],
};
export const generating: ShapedDefinition = {
  definition: definitionOf({
    group: "policies.shaped.example",
    kind: "MakingPolicy",
    scope: "Cluster",
    names: { shortNames: ["shmpol"], categories: ["shapedall"] },
    versions: [{ name: "v1alpha1", spec: generatingSpec }],
  }),
  refused: [
    [
      { spec: { rules: [{ name: "a", generate: { kind: "B" } }] } },
      "what is made has data, a clone or a list of clones",
    ],
  ],
};

export const SHAPED_DEFINITIONS: readonly ShapedDefinition[] = [
  workflow,
  route,
  certificate,
  monitoring,
  claim,
  composite,
  managed,
  machines,
  gateway,
  generating,
];
