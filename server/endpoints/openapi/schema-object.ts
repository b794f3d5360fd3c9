/**
 * The subset of schema objects that this server publishes: the common part of OpenAPI v2 and v3 with
 * this API's extensions. Pure data.
 */
import type { JsonValue } from "../../api/meta.js";

export interface SchemaObject {
  readonly $ref?: string;
  readonly allOf?: readonly SchemaObject[];
  readonly oneOf?: readonly SchemaObject[];
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly default?: JsonValue;
  readonly enum?: readonly string[];
  readonly items?: SchemaObject;
  readonly additionalProperties?: SchemaObject;
  readonly properties?: Readonly<Record<string, SchemaObject>>;
  readonly required?: readonly string[];
  readonly "x-kubernetes-group-version-kind"?: readonly GroupVersionKindExtension[];
  readonly "x-kubernetes-selectable-fields"?: readonly { readonly fieldPath: string }[];
  readonly "x-kubernetes-list-type"?: string;
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: string;
  readonly "x-kubernetes-patch-strategy"?: string;
  readonly "x-kubernetes-patch-merge-key"?: string;
  readonly "x-kubernetes-unions"?: readonly UnionExtension[];
}

export interface GroupVersionKindExtension {
  readonly group: string;
  readonly kind: string;
  readonly version: string;
}

export interface UnionExtension {
  readonly discriminator?: string;
  /** Field name -> the discriminator value that selects it. */
  readonly "fields-to-discriminateBy": Readonly<Record<string, string>>;
}

/** The document of a schema; v2 and v3 differ in references, defaults and a few builtins. */
export type OpenApiVersion = "v2" | "v3";

/** The place of schemas in a document. */
export function schemaReference(version: OpenApiVersion, name: string): string {
  return version === "v2" ? `#/definitions/${name}` : `#/components/schemas/${name}`;
}
