/**
 * Shared by the read verbs: the services from the wiring, and the common parts of requests.
 */

import type { Naming } from "../../api/naming.js";
import { compileSelector, type Selector, type SelectorOptions } from "../../api/selectors.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { RequestContext } from "../../request/request-state.js";
import type { Compression } from "../../response/compression.js";
import type { ChunkPool } from "../chunk-pool.js";
import type { ListIdentity } from "../continue-token.js";
import type { RepresentationSource } from "../representations/representation-source.js";
import type { CompressedRuns } from "./compressed-runs.js";
import type { ViewReader } from "./view-reader.js";

/** Compression for clients that accept gzip. */
export interface ListCompression extends Compression {
  readonly runs: CompressedRuns;
}

export interface ReadServices {
  readonly naming: Naming;
  readonly reader: ViewReader;
  /** Memory for large answers. */
  readonly chunks: ChunkPool;
  readonly representations: RepresentationSource;
  /** Absent = get and list are never compressed (S1-NEG-18). */
  readonly compression?: ListCompression;
  /** The counter of events delivered to a resource's watchers: apiserver_watch_events_total. */
  watchEvents(resource: StoredResource): { value: number };
}

/** The request's namespace; "" for cluster-scoped types, including Namespace. */
export function namespaceOf(ctx: RequestContext, resource: StoredResource): string {
  return resource.isNamespaced ? ctx.state.info.namespace : "";
}

/** The request's label and field selector, within its namespace. @throws {StatusError} 400 */
export function selectorOf(ctx: RequestContext, resource: StoredResource): Selector {
  const { query, name, isLegacyPath, depth } = ctx.state.info;
  const fieldSelector = query.get("fieldSelector") ?? "";
  // A legacy watch of one object has its name in the path.
  const nameTerm = isLegacyPath && depth > 1 ? `metadata.name=${name}` : "";
  return compileSelector({
    namespace: namespaceOf(ctx, resource),
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: [fieldSelector, nameTerm].filter((term) => term !== "").join(","),
    ...selectableOf(resource),
  });
}

/** The query of a list, that tokens of its further pages are bound to. */
export function listIdentityOf(ctx: RequestContext, resource: StoredResource): ListIdentity {
  const { query } = ctx.state.info;
  return {
    group: resource.group,
    resource: resource.resource,
    namespace: namespaceOf(ctx, resource),
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: query.get("fieldSelector") ?? "",
  };
}

/** What field selectors may ask of a resource's objects. */
export function selectableOf({
  strategy,
}: StoredResource): Pick<
  SelectorOptions,
  "selectableFieldNames" | "selectableFieldAliases" | "fieldsOf"
> {
  const { selectableFieldNames, selectableFieldAliases, servedFields } = strategy;
  // Objects of resources with fields of their version are those of the view.
  const fieldsOf = servedFields as SelectorOptions["fieldsOf"];
  return { selectableFieldNames, selectableFieldAliases, fieldsOf };
}
