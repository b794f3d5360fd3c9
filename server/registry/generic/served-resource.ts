/**
 * ServedResource: one resource under one group-version, with everything that the verbs need to serve
 * it. The table of them (groups.ts) is all that differs between a server with more or fewer types.
 */

import type { PartitionId } from "../../../storage/objects/keys.js";
import type { FieldExtractor } from "../../../storage/objects/stored-object.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import type { FieldError } from "../../api/status.js";
import type { UserInfo } from "../../request/user-info.js";
import type { ResourceFact } from "../../schema/model.js";
import type { ObjectCodec } from "../../schema/object-codec.js";
import type { Claim } from "./claims.js";
import type { Registry, WriteOptions, WriteResult } from "./registry.js";

/** What a strategy may know about the request. */
export interface StrategyContext {
  readonly nowMs: number;
  /** The subresource that the request goes to; "" = the resource itself. */
  readonly subresource: string;
  readonly naming: Naming;
  readonly user: UserInfo;
}

/**
 * What is particular to one resource; the common part is registry/generic. All functions are pure:
 * they may change the object that they are given and nothing else.
 */
export interface ResourceStrategy {
  /** Drops what a client may not set and sets what the server owns, before validation. */
  prepareForCreate?(next: ApiObject, context: StrategyContext): void;
  prepareForUpdate?(next: ApiObject, current: ApiObject, context: StrategyContext): void;
  validate?(next: ApiObject, context: StrategyContext): FieldError[];
  validateUpdate?(next: ApiObject, current: ApiObject, context: StrategyContext): FieldError[];
  /** Keys besides its own that the object holds for itself alone, such as its address. */
  claims?(object: ApiObject, context: Pick<StrategyContext, "naming">): readonly Claim[];
  /** Where those stand, each with `spec.parentRef`: for an object that cannot be asked any more. */
  claimPartitions?(context: Pick<StrategyContext, "naming">): readonly PartitionId[];
  /** Whether a PUT on a missing object creates it (S1-GEN-18). Default false. */
  readonly allowCreateOnUpdate?: boolean;
  /** Whether a PUT without resourceVersion is accepted (S1-CRUD-04). Default true. */
  readonly allowUnconditionalUpdate?: boolean;
  /** Seconds that a delete waits by default; undefined = deletion is not graceful. */
  gracePeriodSeconds?(object: ApiObject): number | undefined;
  /** Whether a delete may not wait, whatever the client asks for: nobody would end the wait. */
  deletesAtOnce?(object: ApiObject): boolean;
  /** Changes an object whose deletion begins, beyond its metadata. */
  beginDeletion?(object: ApiObject): void;
  /** Whether an object in deletion may go once it has no finalizers. Default true. */
  isRemovable?(object: ApiObject): boolean;
  /** What a delete without a propagation policy means for dependents. Default "background". */
  readonly garbageCollection?: "background" | "orphan" | "unsupported";
  /** Told to who deletes without such a policy, where what happens may surprise. */
  readonly defaultPropagationWarning?: string;
  /**
   * Top-level fields (or "metadata.annotations") whose change moves `metadata.generation`; absent =
   * the type has no generation, empty = it stays 1 (S1-META-19).
   */
  readonly generationFields?: readonly string[];
  /** How names are checked. Default DNS-1123 subdomain. */
  validateName?(name: string, isPrefix: boolean): string[];
  /** Selectable fields besides metadata.name and metadata.namespace: path -> value. */
  readonly selectableFields?: FieldExtractor;
  /** Names of those fields: a selector on another one is a 400. */
  readonly selectableFieldNames?: readonly string[];
  /** Further names of such fields in selectors -> the name that `selectableFields` gives them. */
  readonly selectableFieldAliases?: Readonly<Record<string, string>>;
  /** The selectable field that watchers are indexed by. */
  readonly triggerField?: string;
  /** Whether a plain delete answers with the object instead of a Status (S1-DEL-12). */
  readonly returnsDeletedObject?: boolean;
  /** Seconds after which the store forgets the object (events); undefined = never. */
  ttlSeconds?(object: ApiObject, lifetimes: Lifetimes): number | undefined;
}

/** How long objects that end by themselves are kept, as the flags say. */
export interface Lifetimes {
  readonly eventTtlSeconds: number;
}

/** Strategies by "group/resource", groups without the domain: "rbac.authorization/roles", "/pods". */
export type StrategyTable = Readonly<Record<string, ResourceStrategy>>;

/** Between the served and the stored group-version, where they differ in shape. */
export interface Conversion {
  toStored(served: ApiObject): ApiObject;
  fromStored(stored: ApiObject): ApiObject;
}

/** A request to a virtual resource (S1-CRUD-07). */
export interface VirtualRequest {
  readonly object: ApiObject;
  /** "" for cluster scope. */
  readonly namespace: string;
  readonly user: UserInfo;
}

/** Answers a create with an object that is not stored. */
export interface VirtualResource {
  create(request: VirtualRequest, signal: AbortSignal): Promise<ApiObject>;
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

/** A request to an action. */
export interface ActionRequest {
  readonly object: ApiObject;
  readonly namespace: string;
  /** Of the object in the URL; "" where the action belongs to the collection. */
  readonly name: string;
  readonly options: WriteOptions;
}

/** A create that does something to an object and stores nothing of itself (S1-GEN-08). */
export interface ResourceAction {
  /** @throws {StatusError} */
  run(registry: Registry, request: ActionRequest, signal: AbortSignal): Promise<WriteResult>;
}

export interface ServedResource {
  readonly fact: ResourceFact;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly partition: PartitionId;
  /** Of the served group-version and kind. */
  readonly codec: ObjectCodec;
  /** Of the stored group-version: what lies in the store and in the view. */
  readonly storedCodec: ObjectCodec;
  /** undefined = the stored bytes are the served bytes. */
  readonly conversion: Conversion | undefined;
  readonly strategy: ResourceStrategy;
  /** Set for a resource that is an operation: nothing is stored, a create computes an answer. */
  readonly virtual?: VirtualResource;
  /** Subresources served beside it, by name: "status", ... */
  readonly subresources: ReadonlyMap<string, ResourceFact>;
  /** Those of them that differ in shape or effect, as the resources that their handlers work on. */
  readonly shapes?: ReadonlyMap<string, ServedResource>;
  /** Set for such a subresource when it is updated. */
  readonly part?: SubresourcePart;
  /** Set for a subresource or resource that is created without being stored. */
  readonly action?: ResourceAction;
}
