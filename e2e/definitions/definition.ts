/** A CustomResourceDefinition, as far as the tests here read it. */
import type { JsonSchema } from "../../server/structural/json-schema.js";

export interface DefinitionVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema: { readonly openAPIV3Schema: JsonSchema };
  readonly subresources?: { readonly status?: object; readonly scale?: object };
  readonly additionalPrinterColumns?: readonly object[];
}

export interface Definition {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: {
      readonly kind: string;
      readonly plural: string;
      readonly categories?: readonly string[];
      readonly shortNames?: readonly string[];
      readonly singular?: string;
      readonly listKind?: string;
    };
    readonly versions: readonly DefinitionVersion[];
    readonly conversion?: object;
  };
}

/** The one that objects are stored in. */
export function storageVersion({ spec }: Definition): DefinitionVersion {
  const version = spec.versions.find(({ storage }) => storage);
  if (version === undefined) throw new Error(`${spec.names.kind} has no storage version`);
  return version;
}

/** Where the objects of a definition are, in the namespace default if they have one. */
export function collectionOf(definition: Definition): string {
  const { group, scope, names } = definition.spec;
  const within = scope === "Cluster" ? "" : "/namespaces/default";
  return `/apis/${group}/${storageVersion(definition).name}${within}/${names.plural}`;
}
