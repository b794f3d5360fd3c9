/**
 * CustomResourceDefinition as stored. The facts describe the type, and they have decoded the object:
 * each member has its type or is missing.
 */
import type { ApiObject } from "../../api/meta.js";
import type { Maybe } from "../../api/validation-values.js";
import type { WebhookClientConfig } from "../../client/webhook-places.js";
import type { ColumnDefinition, Subresources } from "../../structural/definition/check-version.js";
import { type JsonSchema, withFloatBounds } from "../../structural/json-schema.js";

export interface Definition extends ApiObject {
  spec?: DefinitionSpec;
  status?: DefinitionStatus;
}

export interface DefinitionSpec {
  readonly group?: string;
  readonly scope?: string;
  readonly names?: Maybe<DefinitionNames>;
  readonly versions?: Maybe<readonly DefinitionVersion[]>;
  readonly conversion?: Maybe<DefinitionConversion>;
  readonly preserveUnknownFields?: boolean;
}

export interface DefinitionNames {
  readonly plural?: string;
  readonly singular?: string;
  readonly kind?: string;
  readonly listKind?: string;
  readonly shortNames?: Maybe<readonly string[]>;
  readonly categories?: Maybe<readonly string[]>;
}

export interface DefinitionVersion {
  readonly name: string;
  readonly served?: boolean;
  readonly storage?: boolean;
  readonly deprecated?: boolean;
  readonly deprecationWarning?: Maybe<string>;
  readonly schema?: Maybe<{ readonly openAPIV3Schema?: Maybe<JsonSchema> }>;
  readonly subresources?: Maybe<Subresources>;
  readonly additionalPrinterColumns?: Maybe<readonly ColumnDefinition[]>;
  readonly selectableFields?: Maybe<readonly { readonly jsonPath?: string }[]>;
}

export interface DefinitionConversion {
  readonly strategy?: string;
  readonly webhook?: Maybe<{
    readonly clientConfig?: Maybe<WebhookClientConfig>;
    readonly conversionReviewVersions?: Maybe<readonly string[]>;
  }>;
}

export interface DefinitionStatus {
  readonly conditions?: Maybe<readonly DefinitionCondition[]>;
  readonly acceptedNames?: DefinitionNames;
  readonly storedVersions?: Maybe<readonly string[]>;
  readonly observedGeneration?: number;
}

export interface DefinitionCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string | null;
  readonly observedGeneration?: number;
}

/** Whether it is being deleted: it takes no new objects, also once the old ones are gone. */
export function isEnding(definition: Definition): boolean {
  return (
    isConditionTrue(definition, "Terminating") ||
    definition.metadata.deletionTimestamp !== undefined
  );
}

export function isConditionTrue({ status }: Definition, type: string): boolean {
  return (status?.conditions ?? []).some(
    (condition) => condition.type === type && condition.status === "True",
  );
}

/** The schema of a version; undefined if it has none. */
export function schemaOf(version: DefinitionVersion): JsonSchema | undefined {
  const schema = version.schema?.openAPIV3Schema ?? undefined;
  return schema && withFloatBounds(schema);
}
