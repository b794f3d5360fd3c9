/**
 * What discovery and OpenAPI publish: the groups of the current catalog, in the catalog's order, and
 * words for them. A group or group-version that did not change is the same object in the next
 * catalog, so what is made of it may be kept by its identity.
 */
import type { Naming } from "../../api/naming.js";
import type { CatalogGroupVersion } from "../../kinds/catalog.js";
import type { SchemaModel } from "../../schema/model.js";

export type ServedGroupVersion = Pick<
  CatalogGroupVersion,
  "group" | "version" | "resources" | "facts"
> & {
  /** Whether another server, whose it is, has said so lately; absent = it is this server's. */
  readonly freshness?: "Current" | "Stale";
};

export interface ServedGroup {
  /** "" = core. */
  readonly name: string;
  /** In order of preference; never empty. */
  readonly versions: readonly ServedGroupVersion[];
}

/** The groups of one moment: the part of a catalog that is published. */
export interface ServedGroups {
  readonly groups: readonly ServedGroup[];
}

export interface ServedResources {
  readonly naming: Naming;
  readonly model: SchemaModel;
  /** What is served now. */
  readonly catalog: { readonly current: ServedGroups };
}
