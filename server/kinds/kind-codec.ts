/**
 * KindCodec: the shape of one kind in one version. Reads, writes, patches and ownership use nothing
 * else, so a kind may come from the facts (facts-codecs.ts) or from any other implementation, such as
 * the structural schema of a custom resource.
 *
 * A codec is made with its kind, and compiles its parts on first use: a server has more kinds than
 * anybody uses. It is immutable; another schema is another codec.
 */
import type { ApiObject, JsonObject, JsonValue } from "../api/meta.js";
import type { MergeSchema } from "../apply/merge-schema.js";
import type { DeclarativeFindings } from "../schema/declarative.js";
import type { ObjectCodec } from "../schema/object-codec.js";

/** Merges a patch into an object of one kind (S1-PATCH-05). @throws {StatusError} 400, 422 */
export type StrategicMerge = (current: JsonObject, patch: JsonValue) => JsonObject;

/** Declarative rules of a kind, in addition to hand-written ones. */
export interface DeclarativeRules {
  /** @param previous undefined for a create */
  check(object: JsonObject, previous: JsonObject | undefined): DeclarativeFindings;
  /** The shadow rules at the path of a problem, such as "spec.rules[0].verbs". */
  shadowRulesAt(path: string): readonly string[];
}

/** How a kind without facts is published in OpenAPI. */
export interface PublishedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /**
   * The name of its definition, such as "com.example.v1.Car"; its list's name is the same with
   * "List".
   */
  readonly name: string;
  /**
   * The schema without kind, apiVersion and metadata, which all kinds have. A new object on each
   * call. @param ofResources those three, for the resources that objects embed
   */
  schema(document: "v2" | "v3", ofResources: JsonObject): JsonObject;
  /** "spec.color": what field selectors may name besides the metadata. */
  readonly selectableFields: readonly string[];
}

export interface KindCodec extends ObjectCodec {
  /** The schema for ownership and server-side apply. */
  mergeSchema(): MergeSchema;
  /** undefined: the kind does not support strategic merge patches. */
  strategicMerge(): StrategicMerge | undefined;
  /** undefined: there are none. */
  declarativeRules(): DeclarativeRules | undefined;
  /** undefined: the facts define it. */
  published(): PublishedKind | undefined;
}

/** Codecs of kinds that are known by name. */
export interface KindCodecs {
  /** undefined: there is no such kind. */
  forKind(group: string, version: string, kind: string): KindCodec | undefined;
}

/** An object as JSON for codecs, rules and patches; nothing is copied. */
export function asJson(object: ApiObject): JsonObject {
  return object as unknown as JsonObject;
}
