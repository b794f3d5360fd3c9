/**
 * Definitions of the projects whose schemas the npm packages @kubernetes-models carry as data: in the
 * releases named here, as later ones carry compiled code. The packages widen what optional fields take, for
 * a validator of their own, and leave out markers: both is undone, so that a schema is again what its project
 * published. What the packages have nothing of (scope, subresources, columns) is as the projects have it.
 */
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { JsonSchema } from "../../server/structural/json-schema.js";
import type { Definition, DefinitionVersion } from "./definition.js";
import { unpackPackage } from "./unpack-package.js";

const PACKAGES = [
  "argo-cd@2.0.2",
  "argo-rollouts@0.3.2",
  "cert-manager@4.3.1",
  "flux-cd@2.1.0",
  "gateway-api@0.5.1",
  "istio@2.3.0",
  "keda@0.3.1",
  "knative@2.1.0",
  "prometheus-operator@4.0.0",
];

const CLUSTER_KINDS = /^(AWSPCA)?Cluster|^(GatewayClass|CertificateRequestPolicy|Bundle)$/;

/** Where the replicas of kinds are that autoscalers scale. */
const SCALES: Readonly<Record<string, object>> = {
  Rollout: {
    specReplicasPath: ".spec.replicas",
    statusReplicasPath: ".status.HPAReplicas",
    labelSelectorPath: ".status.selector",
  },
  Prometheus: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
};

const COLUMNS = [
  { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
];

/** Groups below k8s.io say who has approved of them, or that nobody has. */
const APPROVALS: Readonly<Record<string, string>> = {
  "gateway.networking.k8s.io": "https://github.com/kubernetes-sigs/gateway-api/pull/2466",
  "certmanager.k8s.io": "unapproved, of before there was a policy",
};

/** A schema as the packages have it. */
const SCHEMA = /^const schema = (\{.*?^\});/ms;

/** @param folder where the packages are unpacked */
export async function readModelPackages(folder: string): Promise<Definition[]> {
  const definitions: Definition[] = [];
  for (const name of PACKAGES) {
    const target = join(folder, name);
    await mkdir(target);
    const root = await unpackPackage(`@kubernetes-models/${name}`, target);
    const entries = await readdir(root, { withFileTypes: true });
    for (const group of entries.filter((one) => one.isDirectory() && one.name.includes("."))) {
      definitions.push(...(await readGroup(join(root, group.name), group.name)));
    }
  }
  return definitions;
}

/** A folder has folders for versions, these a file for each kind. */
async function readGroup(folder: string, group: string): Promise<Definition[]> {
  const kinds = new Map<string, DefinitionVersion[]>();
  for (const version of (await readdir(folder)).sort(byMaturity)) {
    if (version.includes(".")) continue;
    for (const file of (await readdir(join(folder, version))).sort()) {
      const [kind = "", suffix, ...more] = file.split(".");
      if (kind === "index" || suffix !== "js" || more.length > 0) continue;
      const text = SCHEMA.exec(await readFile(join(folder, version, file), "utf8"))?.[1] ?? "";
      const versions = kinds.get(kind) ?? [];
      versions.push(
        versionOf(version, kind, JSON.parse(text) as JsonSchema, versions.length === 0),
      );
      kinds.set(kind, versions);
    }
  }
  return [...kinds].map(([kind, versions]) => definitionOf(group, kind, versions));
}

/** The most mature first: v1, v1beta2, v1beta1, v1alpha1. */
function byMaturity(one: string, other: string): number {
  const rank = (name: string) =>
    name
      .replace("alpha", "0")
      .replace("beta", "1")
      .replace(/^(v\d+)$/, "$19");
  return rank(other).localeCompare(rank(one));
}

function versionOf(
  name: string,
  kind: string,
  published: JsonSchema,
  storage: boolean,
): DefinitionVersion {
  const schema = asPublished(published);
  const { apiVersion: _, kind: __, metadata: ___, ...properties } = schema.properties ?? {};
  const required = schema.required?.filter((one) => properties[one] !== undefined);
  const text = { type: "string" };
  const openAPIV3Schema: JsonSchema = {
    ...schema,
    properties: { apiVersion: text, kind: text, metadata: { type: "object" }, ...properties },
    ...(required === undefined ? {} : { required }),
  };
  const scale = SCALES[kind];
  const subresources = {
    ...(properties.status === undefined ? {} : { status: {} }),
    ...(scale === undefined ? {} : { scale }),
  };
  return {
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema },
    subresources,
    additionalPrinterColumns: COLUMNS,
  };
}

function definitionOf(group: string, kind: string, versions: DefinitionVersion[]): Definition {
  const plural = pluralOf(kind.toLowerCase());
  const approval = APPROVALS[group];
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${plural}.${group}`,
      ...(approval === undefined
        ? {}
        : { annotations: { "api-approved.kubernetes.io": approval } }),
    },
    spec: {
      group,
      scope: CLUSTER_KINDS.test(kind) ? "Cluster" : "Namespaced",
      names: { plural, kind },
      versions,
    },
  };
}

function pluralOf(singular: string): string {
  if (/[^aeiou]y$/.test(singular)) return `${singular.slice(0, -1)}ies`;
  return /(s|x|ch)$/.test(singular) ? `${singular}es` : `${singular}s`;
}

/** Undoes what the packages did to the schema of a field. */
function asPublished(schema: JsonSchema): JsonSchema {
  const { oneOf, ...rest } = schema;
  const [first, second] = oneOf ?? [];
  if (first !== undefined && second?.type === "null") return asPublished(first);
  const { properties, items, additionalProperties, required = [], anyOf } = schema;
  const children = {
    ...(properties === undefined ? {} : { properties: fieldsAsPublished(properties, required) }),
    ...(items === undefined ? {} : { items: asPublished(items as JsonSchema) }),
    ...(typeof additionalProperties === "object"
      ? { additionalProperties: asPublished(additionalProperties) }
      : {}),
  };
  const marker = anyOf?.some(({ type }) => type === "integer")
    ? { "x-kubernetes-int-or-string": true }
    : { "x-kubernetes-preserve-unknown-fields": true };
  return {
    ...rest,
    ...(oneOf === undefined ? {} : { oneOf }),
    ...children,
    ...(schema.type === undefined ? marker : {}),
  };
}

/** Every optional field was made nullable. */
function fieldsAsPublished(
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
): Record<string, JsonSchema> {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const { nullable, ...rest } = asPublished(schema);
    return [name, required.includes(name) && nullable ? { ...rest, nullable } : rest];
  });
  return Object.fromEntries(fields) as Record<string, JsonSchema>;
}
