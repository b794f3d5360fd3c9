/**
 * What the read verbs share: the pieces that wiring hands them, and the parts of a request that all
 * of them look at.
 */

import type { Naming } from "../../api/naming.js";
import { compileSelector, type Selector } from "../../api/selectors.js";
import { badRequest, notAcceptable } from "../../api/status.js";
import type { ServedResource } from "../../registry/generic/served-resource.js";
import type { RequestContext } from "../../request/request-state.js";
import type { Negotiator } from "../negotiation.js";
import {
  createRepresentation,
  type IncludeObject,
  type Representation,
} from "../representation.js";
import type { ViewReader } from "./view-reader.js";

export interface ReadServices {
  readonly naming: Naming;
  readonly reader: ViewReader;
  readonly representations: RepresentationSource;
  /** Counts events delivered to watchers: apiserver_watch_events_total. */
  countWatchEvents(resource: ServedResource, events: number): void;
}

export interface RepresentationSource {
  /** The form that the request asks for. @throws {StatusError} 406, 400 */
  of(ctx: RequestContext, resource: ServedResource, isCollection: boolean): Representation;
}

const INCLUDE_OBJECT: ReadonlySet<string> = new Set(["None", "Metadata", "Object"]);

/** Makes each representation of a resource once and shares it. */
export function createRepresentationSource(
  naming: Naming,
  negotiator: Negotiator,
): RepresentationSource {
  const made = new WeakMap<ServedResource, Map<string, Representation>>();
  return {
    of(ctx, resource, isCollection) {
      const negotiated = negotiator.negotiate(ctx.get("accept"));
      const include = includeObject(ctx);
      let ofResource = made.get(resource);
      if (ofResource === undefined) {
        ofResource = new Map();
        made.set(resource, ofResource);
      }
      // One single object has no list form (C-16).
      if (negotiated.form === "PartialObjectMetadataList" && !isCollection) {
        throw notAcceptable(["application/json"]);
      }
      const key = `${negotiated.contentType}/${include}`;
      let representation = ofResource.get(key);
      if (representation === undefined) {
        representation = createRepresentation(resource, negotiated, naming, include);
        ofResource.set(key, representation);
      }
      return representation;
    },
  };
}

function includeObject(ctx: RequestContext): IncludeObject {
  const { query } = ctx.state.info;
  const asked = query.isEmpty ? undefined : query.get("includeObject");
  if (asked === undefined || asked === "") return "Metadata";
  if (!INCLUDE_OBJECT.has(asked)) throw badRequest(`includeObject: ${asked} is not supported`);
  return asked as IncludeObject;
}

/** The namespace that the request is about: none for a cluster-scoped type, also for a Namespace. */
export function namespaceOf(ctx: RequestContext, resource: ServedResource): string {
  return resource.isNamespaced ? ctx.state.info.namespace : "";
}

/** The request's label and field selector, within its namespace. @throws {StatusError} 400 */
export function selectorOf(ctx: RequestContext, resource: ServedResource): Selector {
  const { query, name, isLegacyPath, depth } = ctx.state.info;
  const fieldSelector = query.get("fieldSelector") ?? "";
  // A legacy watch of one object names it in the path.
  const nameTerm = isLegacyPath && depth > 1 ? `metadata.name=${name}` : "";
  return compileSelector({
    namespace: namespaceOf(ctx, resource),
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: [fieldSelector, nameTerm].filter((term) => term !== "").join(","),
    selectableFieldNames: resource.strategy.selectableFieldNames ?? [],
  });
}
