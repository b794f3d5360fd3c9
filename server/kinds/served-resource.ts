/**
 * ServedResource: one thing that a path can name under one group-version, with everything that the
 * verbs need to serve it. There are six forms:
 *
 *   main      objects that are stored                              pods, deployments
 *   part      a subresource that is a part of a stored object      pods/resize, deployments/scale
 *   action    a create that does something to stored objects       pods/eviction, bindings
 *   virtual   a create that computes an answer                     subjectaccessreviews
 *   computed  objects that are made when somebody reads them       componentstatuses
 *   connect   a way to a node, pod or service                      pods/exec, services/proxy
 *
 * All are immutable, and a changed definition makes new ones: what is derived of a resource may be
 * kept by its identity, and is forgotten with it. How objects are written is the registry's.
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

/** What can be created, whether or not that stores anything. */
export type CreatableResource = Exclude<ServedResource, ComputedResource | ConnectResource>;

/** What reads and writes of objects work on. */
export type StoredResource = MainResource | PartResource;

/** What stands for itself in a path, and not behind an object. */
export type RootResource = MainResource | ActionResource | VirtualResource | ComputedResource;

interface Resource {
  /** As discovery lists it: names, verbs, categories. */
  readonly fact: ResourceFact;
  readonly group: string;
  readonly version: string;
  /** "pods", also for its subresources. */
  readonly resource: string;
  /** Of what is sent and answered. */
  readonly kind: string;
  readonly isNamespaced: boolean;
  /** Of that kind, in the version that is sent. */
  readonly codec: KindCodec;
}

interface OfStoredObjects {
  readonly partition: PartitionId;
  /** Of the stored group-version: what lies in the store and in the view. */
  readonly storedCodec: KindCodec;
  /** undefined = the stored bytes are the served bytes. */
  readonly conversion: Conversion | undefined;
  readonly strategy: ResourceStrategy;
  /** Columns of its tables; undefined = those that the endpoints know for its name. */
  readonly printer: TablePrinter | undefined;
  /** What is served behind an object's name: "status", ... */
  readonly subresources: ReadonlyMap<string, Subresource>;
}

export interface MainResource extends Resource, OfStoredObjects {
  readonly form: "main";
  /** Tells it apart from whatever was served under its name before. */
  readonly id: string;
  /** Whether it came at run time, and may change or go. */
  readonly isCustom: boolean;
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
  /** What the registry knows the action by: "/pods/eviction". */
  readonly action: string;
}

export interface VirtualResource extends Resource {
  readonly form: "virtual";
  readonly operation: VirtualOperation;
}

export interface ComputedResource extends Resource {
  readonly form: "computed";
  /** What the reads know its source by: "/componentstatuses". */
  readonly source: string;
}

export interface ConnectResource extends Resource {
  readonly form: "connect";
  /** What the handlers know it by: "/pods/exec". */
  readonly connector: string;
  /** Whether the path goes on behind it, and every method goes through. */
  readonly isProxy: boolean;
}

/** One subresource in discovery, and what its requests work on. */
export interface Subresource {
  readonly fact: ResourceFact;
  /** The main resource itself where the subresource has its shape and rules, as `status` does. */
  readonly resource: StoredResource | ActionResource | ConnectResource;
}

/** What updates and patches of a subresource do to the object that it is a part of (S1-CRUD-08). */
export interface SubresourcePart {
  /** Its objects have a shape of their own; the conversion makes them of the stored one (S1-GEN-03). */
  readonly isOwnShape?: true;
  /**
   * The object to store: the current one, which stays as it is, with what this part may change of
   * it. `sent` is in the stored version, or in the part's own shape. @throws {StatusError} 422
   */
  merge(sent: ApiObject, current: ApiObject, context: StrategyContext): ApiObject;
  /** In place of the strategy's `validateUpdate`, which would forbid what this part is for. */
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

/** Makes the objects of a computed resource, whole and in the order of their names. */
export type ComputedSource = () => Promise<readonly ApiObject[]>;

/** How a subresource is defined beside its main resource. */
export interface SubresourceDefinition {
  readonly fact: ResourceFact;
  /** Of what is sent and answered; absent = as the main resource. */
  readonly codec?: KindCodec;
  /** Makes its objects of the stored one, where they have a shape of their own. */
  readonly conversion?: Conversion;
  /** Absent (and no action) = a part as stored, such as `status`. */
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
   * Absent = the stored version is served as it is stored, and other versions have the same shape. A
   * stored version may have one as well, when more is served than is stored.
   */
  readonly conversion?: Conversion | undefined;
  readonly strategy: ResourceStrategy;
  /** Absent = those that the endpoints know for its name. */
  readonly printer?: TablePrinter;
  /** Whether it came at run time, and may change or go. Default false. */
  readonly isCustom?: boolean;
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
  const { id: _id, isCustom: _isCustom, isStoredVersion: _isStoredVersion, ...common } = main;
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

/** What requests to a subresource work on; the resource itself where there is none of that name. */
export function subresourceOf(resource: RootResource, subresource: string): ServedResource {
  if (resource.form !== "main") return resource;
  return resource.subresources.get(subresource)?.resource ?? resource;
}

/** Whether its objects are stored, so that there is something to read. */
export function isStored(resource: ServedResource): resource is StoredResource {
  return resource.form === "main" || resource.form === "part";
}

/** The resource that a part is a part of. */
export function mainOf(resource: StoredResource): MainResource {
  return resource.form === "part" ? resource.main : resource;
}

/** What a write to the resource may change of the object; undefined = what is its own business. */
export function partOf(resource: StoredResource): SubresourcePart | undefined {
  return resource.form === "part" ? resource.part : undefined;
}

/** Whether its objects are not those of the main resource: `scale`. */
export function isOwnShape(resource: StoredResource): boolean {
  return partOf(resource)?.isOwnShape === true;
}

/** The kind of lists of its objects. */
export function listKindOf({ fact, kind }: ServedResource): string {
  return fact.listKind ?? `${kind}List`;
}

/** Whether it came at run time, itself or what it is a part of. */
export function isCustom(resource: ServedResource): boolean {
  return isStored(resource) && mainOf(resource).isCustom;
}

/** Group and version of the kind that is sent and answered: another one than the resource's for Scale. */
export function kindVersionOf({ fact, group, version }: ServedResource): GroupVersion {
  return fact.kindGroupVersion ?? { group, version };
}

function namesOf(fact: ResourceFact) {
  const { group, version, resource, kind, namespaced } = fact;
  return { fact, group, version, resource, kind, isNamespaced: namespaced };
}
