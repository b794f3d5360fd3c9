/**
 * Dispatch: from RequestInfo to the verb's handler. Which paths and methods a resource has follows
 * from its facts; everything else is a clear 404 or 405 (S1-PATH-10..16).
 */
import { methodNotAllowed, routeNotFound } from "../api/status.js";
import type { ServedResource } from "../registry/generic/served-resource.js";
import type { RequestInfo } from "../request/request-info.js";
import type { RequestContext, RequestMiddleware } from "../request/request-state.js";

/** Handles one verb on a resource; `ctx.state.info.subresource` says on which part of it. */
export type VerbHandler = (ctx: RequestContext, resource: ServedResource) => Promise<void>;

/** The handlers by verb. */
export interface VerbHandlers {
  readonly get: VerbHandler;
  readonly list: VerbHandler;
  readonly watch: VerbHandler;
  readonly create: VerbHandler;
  readonly update: VerbHandler;
  readonly patch: VerbHandler;
  readonly delete: VerbHandler;
  readonly deletecollection: VerbHandler;
}

/** The table of what is served. */
export interface ResourceLookup {
  find(group: string, version: string, resource: string): ServedResource | undefined;
}

/** The last step of the request chain. @throws {StatusError} 404, 405, and what the verbs throw */
export function withResourceVerbs(
  table: ResourceLookup,
  handlers: VerbHandlers,
): RequestMiddleware {
  return async function resourceVerbs(ctx) {
    const { info } = ctx.state;
    if (!info.isResourceRequest) throw routeNotFound();
    const resource = table.find(info.group, info.version, info.resource);
    if (resource === undefined) throw routeNotFound();
    refuseBadPath(resource, info);
    const verbs = verbsOf(resource, info);
    const handler = handlers[info.verb as keyof VerbHandlers] as VerbHandler | undefined;
    if (handler === undefined || !verbs.includes(info.verb) || !fitsDepth(info, resource)) {
      throw methodNotAllowed();
    }
    await handler(ctx, resource.shapes?.get(info.subresource) ?? resource);
  };
}

/** Whether a path names something that is served; metrics take labels only from those. */
export function isServedPath(table: ResourceLookup, info: RequestInfo): boolean {
  const resource = table.find(info.group, info.version, info.resource);
  if (resource === undefined) return false;
  return info.subresource === "" || resource.subresources.has(info.subresource);
}

function refuseBadPath(resource: ServedResource, info: RequestInfo): void {
  const { namespace, depth } = info;
  if (depth > 3) throw routeNotFound();
  if (!resource.isNamespaced && namespace !== "" && !isNamespaceItself(info)) throw routeNotFound();
  // One object of a namespaced type cannot be named without its namespace.
  const isOneObject = depth > 1 && info.name !== "";
  if (resource.isNamespaced && namespace === "" && isOneObject) throw routeNotFound();
  if (info.isLegacyPath && info.verb !== "watch") throw routeNotFound();
}

/** "/api/v1/namespaces/shop": the request info fills in the namespace that the object is. */
function isNamespaceItself(info: RequestInfo): boolean {
  return info.group === "" && info.resource === "namespaces";
}

function verbsOf(resource: ServedResource, info: RequestInfo): readonly string[] {
  if (info.subresource === "") return resource.fact.verbs;
  const subresource = resource.subresources.get(info.subresource);
  if (subresource === undefined) throw routeNotFound();
  return subresource.verbs;
}

/** Creation goes to collections; in a namespace, for namespaced types (S1-PATH-10). */
function fitsDepth(info: RequestInfo, resource: ServedResource): boolean {
  const needsNamespace = resource.isNamespaced && info.namespace === "";
  if (info.verb === "create" && info.subresource === "") return info.depth === 1 && !needsNamespace;
  // On a collection there is nothing to replace (S1-PATH-16).
  if (info.verb === "update" || info.verb === "patch") return info.depth > 1;
  if (info.verb === "deletecollection") return info.depth === 1 && !needsNamespace;
  if (info.verb === "watch") return info.depth === 1 || info.isLegacyPath;
  return true;
}
