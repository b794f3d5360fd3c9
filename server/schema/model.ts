/**
 * The schema model: the definition of a type, from the facts of a built-in type or (later) from a
 * CustomResourceDefinition. It drives decoding, defaulting, pruning, patches, apply ownership, Protobuf
 * and OpenAPI. Pure data, frozen after loading.
 *
 * The terms are those of the facts: docs/dev/facts.md explains flags and attributes.
 */
import type { JsonValue } from "../api/meta.js";
import type { Deprecation, Lifecycle } from "./lifecycle.js";

/** Encodings of their own, usable everywhere. */
export type BuiltinName =
  | "Time"
  | "MicroTime"
  | "Duration"
  | "FieldsV1"
  | "Quantity"
  | "IntOrString"
  | "RawExtension"
  | "Unknown";

export type ScalarName = "string" | "bool" | "int32" | "int64" | "float64" | "bytes" | "any";

/** A field's type. `nullable` is the pointer of the facts' notation (`*T`). */
export type TypeRef =
  | { readonly kind: "scalar"; readonly name: ScalarName; readonly nullable: boolean }
  | { readonly kind: "builtin"; readonly name: BuiltinName; readonly nullable: boolean }
  /** `id` is "<base>.<version>.<Name>", such as "core.v1.PodSpec". */
  | { readonly kind: "named"; readonly id: string; readonly nullable: boolean }
  | { readonly kind: "list"; readonly items: TypeRef; readonly nullable: boolean }
  | {
      readonly kind: "map";
      readonly keys: TypeRef;
      readonly values: TypeRef;
      readonly nullable: boolean;
    };

/** How JSON output treats an empty value; the facts' second flag. */
export type EmptyRule = "always" | "omit" | "struct" | "omitZeroTime";

export interface Field {
  /** JSON name, or "<inline>". */
  readonly name: string;
  readonly number: number | undefined;
  readonly type: TypeRef;
  readonly requirement: "optional" | "required" | "none";
  readonly empty: EmptyRule;
  readonly listType?: "map" | "set" | "atomic";
  readonly listMapKeys?: readonly string[];
  readonly mapType?: "atomic" | "granular";
  readonly structType?: "atomic" | "granular";
  readonly patchStrategies?: readonly ("merge" | "replace" | "retainKeys")[];
  readonly patchMergeKey?: string;
  /** From the `default=` attribute; defaults set in code are with the strategies. */
  readonly default?: JsonValue;
  readonly noJson: boolean;
  readonly deprecated: boolean;
  readonly gates: readonly string[];
  readonly oneOf?: string;
  readonly zeroOrOneOf?: string;
  readonly discriminator: boolean;
  /** Enforced declarative rules, as written: "k8s-short-name" of `v:k8s-short-name`. */
  readonly rules: readonly string[];
  /** Rules that run in shadow (`va:`, `vb:`). */
  readonly shadowRules: readonly string[];
  /** Rules for CRD generators only (`kb:`); OpenAPI ignores them too. */
  readonly generatorRules: readonly string[];
}

interface NamedType {
  readonly id: string;
  readonly name: string;
  /** Its fact file, for example "core.v1". */
  readonly file: string;
}

export interface StructType extends NamedType {
  readonly form: "struct";
  readonly fields: readonly Field[];
  /** Registered as a kind of its group-version. */
  readonly isKind: boolean;
  readonly isOptions: boolean;
  readonly isUnion: boolean;
  readonly structType?: "atomic" | "granular";
  readonly mapType?: "atomic" | "granular";
  /** `json=custom`: its JSON form differs from its fields. */
  readonly customJson: boolean;
  readonly noProtobuf: boolean;
  readonly reserved: readonly { readonly number: number | undefined; readonly name: string }[];
  readonly rules: readonly string[];
  readonly shadowRules: readonly string[];
  /** Remaining attributes as written (scope, status, introduced, deprecated, removed, use, ...). */
  readonly attributes: Readonly<Record<string, string>>;
}

export interface EnumType extends NamedType {
  readonly form: "enum";
  /** `enum`: values are a closed set, published; `known`: open. */
  readonly closed: boolean;
  readonly values: readonly string[];
}

export interface AliasType extends NamedType {
  readonly form: "alias";
  readonly target: TypeRef;
  readonly wrapped: boolean;
  readonly listType?: "map" | "set" | "atomic";
  readonly attributes: Readonly<Record<string, string>>;
}

export interface BuiltinType {
  readonly form: "builtin";
  readonly name: string;
  readonly json: string;
  readonly fields: readonly {
    readonly name: string;
    readonly number: number;
    readonly type: TypeRef;
  }[];
}

export type ModelType = StructType | EnumType | AliasType;

/** One group-version of the facts. */
export interface ModelFile {
  /** "core.v1" */
  readonly base: string;
  /** In the spelling of the vendor's naming; "" = core. */
  readonly group: string;
  readonly version: string;
  readonly stability: "ga" | "beta" | "alpha";
  readonly served: "yes" | "removed" | "never";
  /** Prefix of the OpenAPI model name: "io.k8s.api.core.v1". */
  readonly modelPrefix: string;
  readonly protoPackage: string;
  readonly goPackage: string;
  readonly types: ReadonlyMap<string, ModelType>;
  readonly constants: ReadonlyMap<string, JsonValue>;
}

/** Descriptions of types and fields; undefined if there is none. */
export interface Words {
  ofType(type: StructType): string | undefined;
  /** `type` is the struct that declares the field, even if it is inlined elsewhere. */
  ofField(type: StructType, field: string): string | undefined;
}

/** All facts, loaded once at start and shared. */
export interface SchemaModel {
  readonly words: Words;
  readonly files: ReadonlyMap<string, ModelFile>;
  readonly builtins: ReadonlyMap<string, BuiltinType>;
  /** By id, such as "core.v1.Pod". */
  type(id: string): ModelType | undefined;
  /** The type of a kind of a group-version, such as ("apps", "v1", "Deployment"). */
  kind(group: string, version: string, kind: string): StructType | undefined;
}

/** One resource or subresource as discovery lists it; of built-in ones, a row of the facts. */
export interface ResourceFact {
  readonly group: string;
  readonly version: string;
  /** "deployments" */
  readonly resource: string;
  /** "status", or "" for the resource itself. */
  readonly subresource: string;
  readonly singular: string;
  readonly kind: string;
  /** The kind of lists, if it is not the kind plus "List". */
  readonly listKind?: string;
  /** Group-version of the kind, if it differs from the resource's ("autoscaling/v1" of Scale). */
  readonly kindGroupVersion?: { readonly group: string; readonly version: string };
  /** Whether a definition declares the kind. */
  readonly isCustom?: boolean;
  readonly namespaced: boolean;
  /** In the order of discovery. */
  readonly verbs: readonly string[];
  /** What discovery shows instead of `verbs`. */
  readonly shownVerbs?: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly onByDefault: boolean;
  /** Group-version written to the store; undefined = not stored. */
  readonly stored?: { readonly group: string; readonly version: string };
  readonly storageVersionHash: string;
  /** Of the kind, in its version. */
  readonly lifecycle?: Lifecycle;
  /** Set if requests need a warning; the table of served resources sets it for its release. */
  readonly deprecation?: Deprecation;
}

/** A row of the table of group-versions, in discovery order. */
export interface GroupVersionFact {
  readonly group: string;
  readonly version: string;
  readonly stability: "ga" | "beta" | "alpha";
  readonly onByDefault: boolean;
  /** Priorities of the group's automatic APIService; undefined where there is none. */
  readonly groupPriority?: number;
  readonly versionPriority?: number;
}

/** A row of the table of defaults set in code instead of by a `default=` attribute. */
export interface DefaultFact {
  /** File of the type, for example "core.v1"; the default also applies to other versions of its group. */
  readonly file: string;
  readonly type: string;
  /** Path below the type: "spec.ports[].protocol". */
  readonly field: string;
  /** The default; undefined if it is computed (`text` says how). */
  readonly value: JsonValue | undefined;
  /** The default as written. */
  readonly text: string;
  /** The condition in words; "unset" alone = whenever the field is empty. */
  readonly when: string;
}

/** All facts of the built-in types. */
export interface Facts {
  readonly model: SchemaModel;
  readonly resources: readonly ResourceFact[];
  /** In discovery order. */
  readonly groupVersions: readonly GroupVersionFact[];
  readonly defaults: readonly DefaultFact[];
}
