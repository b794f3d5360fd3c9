/**
 * ResourceStrategy: the behaviour specific to one resource's objects, as a few pure functions and
 * constants. The registry has the behaviour common to all objects; the codec has a kind's shape.
 * Strategies of built-in resources are in server/registry, one file per API group.
 */
import type { Steps } from "../../storage/base/steps.js";
import type { PartitionId } from "../../storage/objects/keys.js";
import type {
  FieldExtractor,
  FieldValues,
  StoredObject,
} from "../../storage/objects/stored-object.js";
import type { LongWork } from "../api/long-work.js";
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import type { FieldError } from "../api/status.js";
import type { UserInfo } from "../request/user-info.js";
import type { Reservation } from "./reservation.js";

/** The request's data that a strategy may use. */
export interface StrategyContext {
  readonly nowMs: number;
  /** The subresource of the request; "" = the resource itself. */
  readonly subresource: string;
  readonly naming: Naming;
  readonly user: UserInfo;
  /** Adds a warning to the answer; absent when no client waits. */
  readonly warn?: (text: string) => void;
  /** Takes long lists of a large object; absent = rules look at everything at once. */
  readonly long?: LongWork | undefined;
}

/** Functions may change only the object that they are given. */
export interface ResourceStrategy {
  /** Fills in what belongs to reading the new object, so that admission sees it, such as decoded `stringData`. */
  prepareForAdmission?(next: ApiObject, context: Pick<StrategyContext, "naming">): void;
  /** Finds out in steps what the preparation needs to know of the object, and may take long. */
  readAhead?(next: ApiObject, context: Pick<StrategyContext, "subresource">): Steps<void>;
  /** Drops fields that clients may not set and sets server-owned fields, before validation. */
  prepareForCreate?(next: ApiObject, context: StrategyContext): void;
  prepareForUpdate?(next: ApiObject, current: ApiObject, context: StrategyContext): void;
  validate?(next: ApiObject, context: StrategyContext): FieldError[];
  validateUpdate?(next: ApiObject, current: ApiObject, context: StrategyContext): FieldError[];
  /** Keys besides its own that the object holds exclusively, such as its address. */
  reservations?(
    object: ApiObject,
    context: Pick<StrategyContext, "naming">,
  ): readonly Reservation[];
  /**
   * Where reservations are stored, each with `spec.parentRef`: for an object that has become
   * unreadable.
   */
  reservationPartitions?(context: Pick<StrategyContext, "naming">): readonly PartitionId[];
  /** Why no object can be created, such as that the type is being removed; absent = it can. */
  readonly refusesCreate?: string;
  /** Why clients may not delete the object of a name; undefined = they may. Collections are not asked about. */
  refusesDelete?(name: string): string | undefined;
  /** Whether a PUT on a missing object creates it (S1-GEN-18). Default false. */
  readonly allowCreateOnUpdate?: boolean;
  /** Whether a PUT without resourceVersion is accepted (S1-CRUD-04). Default true. */
  readonly allowUnconditionalUpdate?: boolean;
  /** Default grace period of a delete in seconds; undefined = deletion is not graceful. */
  gracePeriodSeconds?(object: ApiObject): number | undefined;
  /**
   * Whether a delete is immediate, whatever the client requests, as nobody would confirm its end.
   */
  deletesAtOnce?(object: ApiObject): boolean;
  /** Changes an object whose deletion begins; that alone is then no new generation of it. */
  beginDeletion?(object: ApiObject): void;
  /** Whether an object in deletion may go once it has no finalizers. Default true. */
  isRemovable?(object: ApiObject): boolean;
  /** How a delete without a propagation policy treats dependents. Default "background". */
  readonly garbageCollection?: "background" | "orphan" | "unsupported";
  /** A warning for deletes without such a policy, when the default may surprise. */
  readonly defaultPropagationWarning?: string;
  /** Fields that only the strategy's rules report, whatever the facts find there. */
  readonly ownFields?: RegExp;
  /** Warnings about an accepted object; `current` is undefined for a new one. */
  warnings?(
    next: ApiObject,
    current: ApiObject | undefined,
    context: Pick<StrategyContext, "naming">,
  ): readonly string[];
  /** Warnings about an accepted status. */
  statusWarnings?(next: ApiObject): readonly string[];
  /**
   * Top-level fields (or "metadata.annotations", "metadata.labels") whose change moves `metadata.generation`; absent =
   * the type has no generation, empty = it stays 1 (S1-META-19).
   */
  readonly generationFields?: readonly string[] | AllFieldsBut;
  /** Whether a new object has no generation: its first change is generation 1. */
  readonly isGenerationLate?: boolean;
  /**
   * By subresource ("" = the object itself): fields ("metadata.labels") that a write to it does not reach, so
   * that it neither conflicts over them nor owns them. Default: the object does not reach its status, nor `status` the spec.
   */
  readonly resetFields?: Readonly<Record<string, readonly string[]>>;
  /** How names are checked. Default DNS-1123 subdomain. */
  validateName?(name: string, isPrefix: boolean): string[];
  /** Whether defaults may restore a status that is dropped from a new object. */
  readonly hasStatusDefaults?: boolean;
  /** "any": its objects may have finalizers without a domain. */
  readonly finalizers?: "any";
  /** Selectable fields besides metadata.name and metadata.namespace: path -> value. */
  readonly selectableFields?: FieldExtractor;
  /**
   * The same of an object in the view, as the served version has them; absent = the stored object's.
   * @throws {NotConverted} when a webhook has to convert it first
   */
  readonly servedFields?: (object: StoredObject) => FieldValues;
  /** Whether what its rules take has little to do with the object's size: they get `long` always. */
  readonly isCostly?: boolean;
  /** Names of those fields: a selector on any other field is a 400. */
  readonly selectableFieldNames?: readonly string[];
  /** Aliases of such fields in selectors -> the name in `selectableFields`. */
  readonly selectableFieldAliases?: Readonly<Record<string, string>>;
  /** The selectable field that watchers are indexed by. */
  readonly triggerField?: string;
  /** Whether a plain delete answers with the object instead of a Status (S1-DEL-12). */
  readonly returnsDeletedObject?: boolean;
  /** Set for a kind whose objects judge other writes (write/epochs.ts). */
  readonly judges?: RuleScope;
  /**
   * Whether two versions of a rule judge alike, such as after a status report; undefined = there is none
   * then. Absent = never.
   */
  judgesAlike?(next: ApiObject | undefined, current: ApiObject | undefined): boolean;
  /** Rules that judge writes of the kind, besides those of the cluster and the namespace. */
  readonly judgedBy?: readonly TopicScope[];
  /** Seconds after which the store forgets the object (events); undefined = never. */
  ttlSeconds?(object: ApiObject, lifetimes: Lifetimes): number | undefined;
}

/** All top-level fields, except these and those that every object has. */
export interface AllFieldsBut {
  readonly allBut: readonly string[];
}

/**
 * The writes that a rule judges: all in the cluster, all in its namespace, or only those of kinds with
 * that topic. A scope is an epoch of its own, so that a change only affects the writes it judges.
 */
export type RuleScope = "cluster" | "namespace" | TopicScope;

/**
 * `grants`: roles and bindings, which judge writes of roles and bindings. `classes`: classes that
 * pods, claims and ingresses name or get by default. `accounts`: service accounts of the namespace,
 * which pods in it name.
 */
export type TopicScope = "grants" | "classes" | "accounts";

/** Lifetimes of expiring objects, from the flags. */
export interface Lifetimes {
  readonly eventTtlSeconds: number;
}

/** Strategies by "group/resource", groups without the domain: "rbac.authorization/roles", "/pods". */
export type StrategyTable = Readonly<Record<string, ResourceStrategy>>;

/** For a resource without specific behaviour. */
export const NO_STRATEGY: ResourceStrategy = Object.freeze({});
