/**
 * ServedResource: one resource that a path can name under one group-version, with everything that
 * the verbs need to serve it. There are six forms:
 *
 *   main      objects that are stored                              pods, deployments
 *   part      a subresource that is a part of a stored object      pods/resize, deployments/scale
 *   action    a create that does something to stored objects       pods/eviction, bindings
 *   virtual   a create that computes an answer                     subjectaccessreviews
 *   computed  objects that are made when somebody reads them       componentstatuses
 *   connect   a way to a node, pod or service                      pods/exec, services/proxy
 *
 * All are immutable, and a changed definition makes new ones: data derived from a resource may be
 * cached by its identity, and is collected with it. The registry writes the objects.
 */
import { randomUUID } from "node:crypto";
import { type PartitionId, partitionId } from "../../storage/objects/keys.js";
import type { ApiObject } from "../api/meta.js";
import type { GroupVersion } from "../api/names.js";
import type { FieldError } from "../api/status.js";
import type { UserInfo } from "../request/user-info.js";
import type { ResourceFact } from "../schema/model.js";
import { type Conversion, SAME_SHAPE } from "./conversion.js";
import type { KindCodec } from "./kind-codec.js";
import type { ResourceStrategy, StrategyContext } from "./strategy.js";
import type { TablePrinter } from "./table-printer.js";

export type ServedResource =
  | StoredResource
  | ActionResource
  | VirtualResource
  | ComputedResource
  | ConnectResource;

/** Resources that accept a create, whether or not it stores anything. */
export type CreatableResource = Exclude<ServedResource, ComputedResource | ConnectResource>;

/** The resources of stored objects, which can be read and written. */
export type StoredResource = MainResource | PartResource;

/** Resources that stand alone in a path, not behind an object. */
export type RootResource = MainResource | ActionResource | VirtualResource | ComputedResource;

interface Resource {
  /** The entry in discovery: names, verbs, categories. */
  readonly fact: ResourceFact;
  readonly group: string;
  readonly version: string;
  /** "pods", also for its subresources. */
  readonly resource: string;
  /** The kind of request and answer bodies. */
  readonly kind: string;
  readonly isNamespaced: boolean;
  /** The codec of that kind, in the version of the request. */
  readonly codec: KindCodec;
}

interface OfStoredObjects {
  readonly partition: PartitionId;
  /** The codec of the stored group-version: that of the store and the view. */
  readonly storedCodec: KindCodec;
  /** undefined = the stored bytes are the served bytes. */
  readonly conversion: Conversion | undefined;
  readonly strategy: ResourceStrategy;
  /** The table columns; undefined = those that the endpoints have for its name. */
  readonly printer: TablePrinter | undefined;
  /** The subresources of its objects: "status", ... */
  readonly subresources: ReadonlyMap<string, Subresource>;
}

export interface MainResource extends Resource, OfStoredObjects {
  readonly form: "main";
  /** Distinguishes it from earlier resources of the same name. */
  readonly id: string;
  /** Whether it was added at run time, and may change or be removed. */
  readonly isCustom: boolean;
  /** What it shares with a successor that shows objects alike, so that watches go on; undefined = with none. */
  readonly shownAs: object | undefined;
  /** Whether objects are stored in its group-version. */
  readonly isStoredVersion: boolean;
}

export interface PartResource extends Resource, OfStoredObjects {
  readonly form: "part";
  readonly main: MainResource;
  readonly part: SubresourcePart;
}

export interface ActionResource extends Resource {
  readonly form: "action";
  /** The action's name in the registry: "/pods/eviction". */
  readonly action: string;
}

export interface VirtualResource extends Resource {
  readonly form: "virtual";
  readonly operation: VirtualOperation;
}

export interface ComputedResource extends Resource {
  readonly form: "computed";
  /** The source's name for reads: "/componentstatuses". */
  readonly source: string;
}

export interface ConnectResource extends Resource {
  readonly form: "connect";
  /** The connector's name for the handlers: "/pods/exec". */
  readonly connector: string;
  /** Whether it takes a subpath and every method. */
  readonly isProxy: boolean;
}

/** One subresource in discovery, and the resource that serves it. */
export interface Subresource {
  readonly fact: ResourceFact;
  /** The main resource itself if the subresource shares its shape and rules, as `status` does. */
  readonly resource: StoredResource | ActionResource | ConnectResource;
}

/** How updates and patches of a subresource change its main object (S1-CRUD-08). */
export interface SubresourcePart {
  /** Its objects have their own shape; the conversion makes them from the stored one (S1-GEN-03). */
  readonly isOwnShape?: true;
  /** Where its number stands in the main object of the served version: 0 is none in its own shape. */
  readonly replicas?: readonly string[];
  /**
   * The object to store: the current one, which stays unchanged, with the changes that this part
   * allows. `sent` is in the stored version, or in the part's own shape. @throws {StatusError} 422
   */
  merge(sent: ApiObject, current: ApiObject, context: StrategyContext): ApiObject;
  /** Replaces the strategy's `validateUpdate`, which would forbid this part's changes. */
  validate?(next: ApiObject, current: ApiObject, context: StrategyContext): FieldError[];
}

/** A request to a virtual resource (S1-CRUD-07). */
export interface VirtualRequest {
  readonly object: ApiObject;
  /** "" for cluster scope. */
  readonly namespace: string;
  readonly user: UserInfo;
}

/** Answers a create with an object that is not stored. */
export interface VirtualOperation {
  create(request: VirtualRequest, signal: AbortSignal): Promise<ApiObject>;
}

/** Makes the objects of a computed resource, completely and sorted by name. */
export type ComputedSource = () => Promise<readonly ApiObject[]>;

/** How a subresource is defined beside its main resource. */
export interface SubresourceDefinition {
  readonly fact: ResourceFact;
  /** The codec of request and answer bodies; absent = the main resource's. */
  readonly codec?: KindCodec;
  /** Makes its objects from the stored one, if they have their own shape. */
  readonly conversion?: Conversion;
  /** Absent (and no action) = a stored part, such as `status`. */
  readonly part?: SubresourcePart;
  readonly action?: string;
  readonly connector?: string;
}

/** How a resource with stored objects is defined. */
export interface MainDefinition {
  readonly fact: ResourceFact;
  readonly codec: KindCodec;
  readonly storedCodec: KindCodec;
  /** The group-version that is stored. */
  readonly stored: GroupVersion;
  /**
   * Absent = the stored version is served as stored, and other versions have the same shape. A
   * stored version may have a conversion as well, when it serves more than it stores.
   */
  readonly conversion?: Conversion | undefined;
  readonly strategy: ResourceStrategy;
  /** Absent = the printer that the endpoints have for its name. */
  readonly printer?: TablePrinter;
  /** Whether it was added at run time, and may change or be removed. Default false. */
  readonly isCustom?: boolean;
  readonly shownAs?: object | undefined;
  readonly subresources: readonly SubresourceDefinition[];
}

export function createMainResource(definition: MainDefinition): MainResource {
  const { fact, codec, storedCodec, stored, strategy, printer } = definition;
  const { isCustom = false } = definition;
  const isStoredVersion = stored.group === fact.group && stored.version === fact.version;
  const name = `${fact.group}/${fact.version}/${fact.resource}`;
  const subresources = new Map<string, Subresource>();
  const main: MainResource = Object.freeze({
    form: "main",
    id: isCustom ? `${name}/${randomUUID()}` : name,
    isCustom,
    isStoredVersion,
    shownAs: definition.shownAs,
    ...namesOf(fact),
    codec,
    partition: partitionId(stored.group, fact.resource),
    storedCodec,
    conversion: definition.conversion ?? (isStoredVersion ? undefined : SAME_SHAPE),
    strategy,
    printer,
    subresources,
  });
  for (const subresource of definition.subresources) {
    const { fact } = subresource;
    subresources.set(fact.subresource, { fact, resource: createSubresource(main, subresource) });
  }
  return main;
}

function createSubresource(
  main: MainResource,
  { fact, codec = main.codec, conversion, part, action, connector }: SubresourceDefinition,
): StoredResource | ActionResource | ConnectResource {
  if (action !== undefined) return createActionResource(fact, codec, action);
  if (connector !== undefined) return createConnectResource(fact, codec, connector);
  if (part === undefined) return main;
  const { id: _id, isCustom: _isCustom, isStoredVersion: _isStoredVersion, ...shared } = main;
  const { shownAs: _shownAs, ...common } = shared;
  return Object.freeze({
    ...common,
    form: "part",
    fact,
    kind: fact.kind,
    codec,
    main,
    part,
    conversion: conversion ?? main.conversion,
  });
}

export function createActionResource(
  fact: ResourceFact,
  codec: KindCodec,
  action: string,
): ActionResource {
  return Object.freeze({ form: "action", ...namesOf(fact), codec, action });
}

function createConnectResource(
  fact: ResourceFact,
  codec: KindCodec,
  connector: string,
): ConnectResource {
  const isProxy = fact.subresource === "proxy";
  return Object.freeze({ form: "connect", ...namesOf(fact), codec, connector, isProxy });
}

export function createVirtualResource(
  fact: ResourceFact,
  codec: KindCodec,
  operation: VirtualOperation,
): VirtualResource {
  return Object.freeze({ form: "virtual", ...namesOf(fact), codec, operation });
}

export function createComputedResource(
  fact: ResourceFact,
  codec: KindCodec,
  source: string,
): ComputedResource {
  return Object.freeze({ form: "computed", ...namesOf(fact), codec, source });
}

/** The resource of a subresource; the resource itself if there is none of that name. */
export function subresourceOf(resource: RootResource, subresource: string): ServedResource {
  if (resource.form !== "main") return resource;
  return resource.subresources.get(subresource)?.resource ?? resource;
}

/** Whether it has stored objects to read. */
export function isStored(resource: ServedResource): resource is StoredResource {
  return resource.form === "main" || resource.form === "part";
}

/** The main resource of a part. */
export function mainOf(resource: StoredResource): MainResource {
  return resource.form === "part" ? resource.main : resource;
}

/** How a write to the resource may change the object; undefined = the strategy decides. */
export function partOf(resource: StoredResource): SubresourcePart | undefined {
  return resource.form === "part" ? resource.part : undefined;
}

/** Whether its objects differ from the main resource's: `scale`. */
export function isOwnShape(resource: StoredResource): boolean {
  return partOf(resource)?.isOwnShape === true;
}

/** The kind of its lists. */
export function listKindOf({ fact, kind }: ServedResource): string {
  return fact.listKind ?? `${kind}List`;
}

/** Whether it, or its main resource, was added at run time. */
export function isCustom(resource: ServedResource): boolean {
  return isStored(resource) && mainOf(resource).isCustom;
}

/** Group and version of the kind in bodies: for Scale they differ from the resource's. */
export function kindVersionOf({ fact, group, version }: ServedResource): GroupVersion {
  return fact.kindGroupVersion ?? { group, version };
}

function namesOf(fact: ResourceFact) {
  const { group, version, resource, kind, namespaced } = fact;
  return { fact, group, version, resource, kind, isNamespaced: namespaced };
}
