/**
 * ResourceStrategy: what is particular to the objects of one resource, as a few pure functions and
 * constants. What all objects have in common is the registry's; the shape of a kind is its codec's.
 * Strategies of built-in resources are in server/registry, one file per API group.
 */
import type { PartitionId } from "../../storage/objects/keys.js";
import type { FieldExtractor } from "../../storage/objects/stored-object.js";
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import type { FieldError } from "../api/status.js";
import type { UserInfo } from "../request/user-info.js";
import type { Reservation } from "./reservation.js";

/** What a strategy may know about the request. */
export interface StrategyContext {
  readonly nowMs: number;
  /** The subresource that the request goes to; "" = the resource itself. */
  readonly subresource: string;
  readonly naming: Naming;
  readonly user: UserInfo;
  /** Tells the client what it should know, beside the answer; absent where no client waits. */
  readonly warn?: (text: string) => void;
}

/** Functions may change the object that they are given, and nothing else. */
export interface ResourceStrategy {
  /** Drops what a client may not set and sets what the server owns, before validation. */
  prepareForCreate?(next: ApiObject, context: StrategyContext): void;
  prepareForUpdate?(next: ApiObject, current: ApiObject, context: StrategyContext): void;
  validate?(next: ApiObject, context: StrategyContext): FieldError[];
  validateUpdate?(next: ApiObject, current: ApiObject, context: StrategyContext): FieldError[];
  /** Keys besides its own that the object holds for itself alone, such as its address. */
  reservations?(
    object: ApiObject,
    context: Pick<StrategyContext, "naming">,
  ): readonly Reservation[];
  /** Where those stand, each with `spec.parentRef`: for an object that cannot be asked any more. */
  reservationPartitions?(context: Pick<StrategyContext, "naming">): readonly PartitionId[];
  /** Why there may be no new object, such as that the type is going away; absent = there may. */
  readonly refusesCreate?: string;
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
  /** Fields of which the rules of the strategy tell alone, whatever the facts find there. */
  readonly ownFields?: RegExp;
  /** What a client should know of an object that is accepted; `current` is undefined for a new one. */
  warnings?(next: ApiObject, current: ApiObject | undefined): readonly string[];
  /**
   * Top-level fields (or "metadata.annotations") whose change moves `metadata.generation`; absent =
   * the type has no generation, empty = it stays 1 (S1-META-19).
   */
  readonly generationFields?: readonly string[] | AllFieldsBut;
  /** How names are checked. Default DNS-1123 subdomain. */
  validateName?(name: string, isPrefix: boolean): string[];
  /** Whether a status that is dropped from a new object may come back by defaults. */
  readonly hasStatusDefaults?: boolean;
  /** "any": its objects may have finalizers without a domain. */
  readonly finalizers?: "any";
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
  /** Set for a kind whose objects other writes are judged by (write/epochs.ts). */
  readonly judges?: RuleScope;
  /** Whether two versions of a rule judge alike, as where a status only reports; absent = never. */
  judgesAlike?(next: ApiObject, current: ApiObject): boolean;
  /** Rules besides those of the cluster and the namespace that writes of the kind are judged by. */
  readonly judgedBy?: TopicScope;
  /** Seconds after which the store forgets the object (events); undefined = never. */
  ttlSeconds?(object: ApiObject, lifetimes: Lifetimes): number | undefined;
}

/** Top-level fields, whatever they are, but for these and those that every object has. */
export interface AllFieldsBut {
  readonly allBut: readonly string[];
}

/**
 * Which writes a rule judges: all of the cluster, all in its own namespace, or only those of kinds that
 * say so. A scope is an epoch of its own, so that a change costs nobody whom it does not concern.
 */
export type RuleScope = "cluster" | "namespace" | TopicScope;

/**
 * `grants`: roles and bindings, which judge who may write others of them. `classes`: what pods, claims
 * and ingresses name or get by default.
 */
export type TopicScope = "grants" | "classes";

/** How long objects that end by themselves are kept, as the flags say. */
export interface Lifetimes {
  readonly eventTtlSeconds: number;
}

/** Strategies by "group/resource", groups without the domain: "rbac.authorization/roles", "/pods". */
export type StrategyTable = Readonly<Record<string, ResourceStrategy>>;

/** Of a resource that has nothing of its own. */
export const NO_STRATEGY: ResourceStrategy = Object.freeze({});
