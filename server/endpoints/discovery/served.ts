/**
 * The groups that discovery and OpenAPI publish: those of the current catalog, in its order, and their
 * types. An unchanged group or group-version is the same object in the next catalog, so derived
 * documents may be cached by identity.
 */
import type { Naming } from "../../api/naming.js";
import type { CatalogGroupVersion } from "../../kinds/catalog.js";
import type { SchemaModel } from "../../schema/model.js";

export type ServedGroupVersion = Pick<
  CatalogGroupVersion,
  "group" | "version" | "resources" | "facts"
> & {
  /** Whether the other server that serves it has confirmed it lately; absent = served by this server. */
  readonly freshness?: "Current" | "Stale";
};

export interface ServedGroup {
  /** "" = core. */
  readonly name: string;
  /** In order of preference; never empty. */
  readonly versions: readonly ServedGroupVersion[];
}

/** The published part of a catalog. */
export interface ServedGroups {
  readonly groups: readonly ServedGroup[];
}

export interface ServedResources {
  readonly naming: Naming;
  readonly model: SchemaModel;
  /** The catalog at the moment. */
  readonly catalog: { readonly current: ServedGroups };
}
