/**
 * Dispatch: from RequestInfo to the verb's handler. A resource's facts determine its paths and
 * methods; all others get a 404 or 405 (S1-PATH-10..16).
 */
import { inSpan } from "../../storage/base/trace.js";
import { internalError, methodNotAllowed, notFound, routeNotFound } from "../api/status.js";
import type { Catalog } from "../kinds/catalog.js";
import type { CatalogSource } from "../kinds/live-catalog.js";
import {
  type ComputedResource,
  type ConnectResource,
  type CreatableResource,
  isCustom,
  isStored,
  type RootResource,
  type ServedResource,
  type StoredResource,
  subresourceOf,
} from "../kinds/served-resource.js";
import { OutdatedKind } from "../registry/write/outdated-kind.js";
import { type Barrier, reachNow } from "../request/reach-now.js";
import type { RequestInfo } from "../request/request-info.js";
import type { RequestContext, RequestMiddleware } from "../request/request-state.js";

/** Handles one verb on a resource; `ctx.state.info.subresource` names the part. */
export type VerbHandler<Resource = StoredResource> = (
  ctx: RequestContext,
  resource: Resource,
) => Promise<void>;

/** The handlers by verb. */
export interface VerbHandlers {
  readonly get: VerbHandler;
  readonly list: VerbHandler;
  readonly watch: VerbHandler;
  readonly create: VerbHandler<CreatableResource>;
  /** get and list of computed resources. */
  readonly computed: VerbHandler<ComputedResource>;
  /** All verbs on connections to nodes, pods and services. */
  readonly connect: VerbHandler<ConnectResource>;
  readonly update: VerbHandler;
  readonly patch: VerbHandler;
  readonly delete: VerbHandler;
  readonly deletecollection: VerbHandler;
}

export interface DispatchParts {
  readonly catalog: CatalogSource;
  readonly freshness: Barrier;
  readonly handlers: VerbHandlers;
}

/**
 * The last step of the request chain.
 *
 * Built-in resources are always in the catalog. Another resource may be new, changed or gone in a state
 * that this replica has not seen yet. The request then waits once until the view, and so the catalog, is
 * as new as the request, unless it has waited before or accepts any state; the second lookup decides.
 *
 * @throws {StatusError} 404, 405, 503, and what the verbs throw
 */
export function withResourceVerbs({
  catalog,
  freshness,
  handlers,
}: DispatchParts): RequestMiddleware {
  return async function resourceVerbs(ctx) {
    const { state } = ctx;
    const { info } = state;
    // Authorization takes "//api" as what it seems to be, and nothing is served there, as in kube-apiserver.
    if (!info.isResourceRequest || info.path.startsWith("//")) throw routeNotFound();
    let resource = lookUp(catalog.current, info);
    if (!state.isFresh && mayBeStale(resource, info)) {
      await reachNow(freshness, state);
      resource = lookUp(catalog.current, info);
    }
    for (let changes = 0; changes < DEFINITION_CHANGES_MAX; changes++) {
      try {
        return await handle(ctx, resource, handlers);
      } catch (error) {
        // The write was refused because its definition has changed; nothing was sent yet.
        if (!(error instanceof OutdatedKind)) throw error;
        resource = lookUp(catalog.current, info);
      }
    }
    throw internalError(`the definition of ${info.resource} changes too often to write to it`);
  };
}

/** Definition changes that one write survives before it fails. */
const DEFINITION_CHANGES_MAX = 16;

function handle(
  ctx: RequestContext,
  resource: RootResource | undefined,
  handlers: VerbHandlers,
): Promise<void> {
  const { state } = ctx;
  const { info } = state;
  if (resource === undefined) throw routeNotFound();
  refuseBadPath(resource, info);
  const verbs = verbsOf(resource, info);
  const target = subresourceOf(resource, info.subresource);
  // A proxy passes methods without a verb too, for users with all permissions.
  const isPassed = target.form === "connect" && target.isProxy && info.method === "OPTIONS";
  const isKnown = verbs.includes(info.verb) || refusesCreate(resource, info);
  if (!isPassed && !(isKnown && fitsDepth(info, resource))) {
    throw methodNotAllowed();
  }
  if (target.fact.deprecation !== undefined) state.noteDeprecation(target.fact.deprecation);
  const { trace } = state;
  if (trace?.isDetailed !== true) return answer(ctx, target, handlers);
  return inSpan(trace, SPAN_NAMES[info.verb] ?? info.verb, () => answer(ctx, target, handlers));
}

/** Span names of kube-apiserver. */
const SPAN_NAMES: Readonly<Record<string, string>> = {
  get: "Get",
  list: "List",
  watch: "Watch",
  create: "Create",
  update: "Update",
  patch: "Patch",
  delete: "Delete",
  deletecollection: "DeleteCollection",
};

function answer(
  ctx: RequestContext,
  target: ServedResource,
  handlers: VerbHandlers,
): Promise<void> {
  const { info } = ctx.state;
  if (target.form === "computed") return handlers.computed(ctx, target);
  if (target.form === "connect") return handlers.connect(ctx, target);
  if (info.verb === "create") return handlers.create(ctx, target);
  const handler = handlers[
    info.verb as Exclude<keyof VerbHandlers, "create" | "computed" | "connect">
  ] as VerbHandler | undefined;
  if (handler === undefined || !isStored(target)) throw methodNotAllowed();
  return handler(ctx, target);
}

/** Whether a path names a served resource; only such paths become metric labels. */
export function isServedPath(catalog: Catalog, info: RequestInfo): boolean {
  const resource = lookUp(catalog, info);
  if (resource === undefined) return false;
  return info.subresource === "" || hasSubresource(resource, info.subresource);
}

function lookUp(catalog: Catalog, { group, version, resource }: RequestInfo) {
  return catalog.find(group, version, resource);
}

/** Whether a newer catalog may differ. */
function mayBeStale(resource: RootResource | undefined, { verb, query }: RequestInfo): boolean {
  if (resource === undefined) return true;
  if (resource.form !== "main" || !resource.isCustom) return false;
  const isRead = verb === "get" || verb === "list" || verb === "watch";
  return !isRead || query.get("resourceVersion") !== "0";
}

function hasSubresource(resource: RootResource, subresource: string): boolean {
  return resource.form === "main" && resource.subresources.has(subresource);
}

function refuseBadPath(resource: RootResource, info: RequestInfo): void {
  const { namespace, depth } = info;
  const target = subresourceOf(resource, info.subresource);
  const goesOn = target.form === "connect" && target.isProxy;
  if (depth > 3 && !goesOn) throw routeNotFound();
  if (!resource.isNamespaced && namespace !== "" && !isNamespaceItself(info)) throw routeNotFound();
  // A namespaced object needs its namespace in the path.
  if (resource.isNamespaced && namespace === "") {
    // For custom kinds only lists and watches go beyond a namespace.
    const isOneObject = depth > 1 && info.name !== "";
    if (isOneObject || (!isRead(info) && isCustom(resource))) throw routeNotFound();
  }
  if (info.isLegacyPath && info.verb !== "watch") throw routeNotFound();
}

function isRead({ method }: RequestInfo): boolean {
  return method === "GET" || method === "HEAD";
}

/** Whether creates have a reason of their own for their refusal, which the write gives. */
function refusesCreate(resource: RootResource, { verb, subresource }: RequestInfo): boolean {
  if (verb !== "create" || subresource !== "" || resource.form !== "main") return false;
  return resource.strategy.refusesCreate !== undefined;
}

/** For "/api/v1/namespaces/shop" the request info sets the namespace to the object itself. */
function isNamespaceItself(info: RequestInfo): boolean {
  return info.group === "" && info.resource === "namespaces";
}

function verbsOf(resource: RootResource, info: RequestInfo): readonly string[] {
  if (info.subresource === "") return resource.fact.verbs;
  const subresource =
    resource.form === "main" ? resource.subresources.get(info.subresource) : undefined;
  if (subresource === undefined) {
    // kube-apiserver says of a custom resource's unknown part that the object is not there.
    throw resource.form === "main" && resource.isCustom
      ? notFound(resource, info.name)
      : routeNotFound();
  }
  return subresource.fact.verbs;
}

/** Creates need a collection, for namespaced types within a namespace (S1-PATH-10). */
function fitsDepth(info: RequestInfo, resource: RootResource): boolean {
  const needsNamespace = resource.isNamespaced && info.namespace === "";
  if (info.verb === "create" && info.subresource === "") return info.depth === 1 && !needsNamespace;
  // A collection cannot be updated or patched (S1-PATH-16).
  if (info.verb === "update" || info.verb === "patch") return info.depth > 1;
  if (info.verb === "deletecollection") return info.depth === 1 && !needsNamespace;
  // The legacy path says "watch" whatever the method is.
  if (info.verb === "watch") return isRead(info) && (info.depth === 1 || info.isLegacyPath);
  return true;
}
