/**
 * KindCodec: all that the server knows of the shape of one kind in one version. Reads, writes, patches
 * and ownership use nothing else, so a kind may come from the facts (facts-codecs.ts) or from anything
 * that implements this, such as the structural schema of a custom resource.
 *
 * A codec is made with its kind, and compiles its parts when they are first asked for: a server has
 * more kinds than anybody uses. It never changes; another schema is another codec.
 */
import type { ApiObject, JsonObject, JsonValue } from "../api/meta.js";
import type { MergeSchema } from "../apply/merge-schema.js";
import type { DeclarativeFindings } from "../schema/declarative.js";
import type { ObjectCodec } from "../schema/object-codec.js";

/** Merges a patch into an object of one kind (S1-PATCH-05). @throws {StatusError} 400, 422 */
export type StrategicMerge = (current: JsonObject, patch: JsonValue) => JsonObject;

/** Rules of a kind that are data, beside those written by hand. */
export interface DeclarativeRules {
  /** @param previous undefined for a create */
  check(object: JsonObject, previous: JsonObject | undefined): DeclarativeFindings;
  /** The rules in shadow at the path of a problem, such as "spec.rules[0].verbs". */
  shadowRulesAt(path: string): readonly string[];
}

/** How a kind that has no facts is published in OpenAPI. */
export interface PublishedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Of its definition, such as "com.example.v1.Car"; that of its list is the same with "List". */
  readonly name: string;
  /** The schema object without kind, apiVersion and metadata, which all kinds have. Made anew. */
  schema(document: "v2" | "v3"): JsonObject;
}

export interface KindCodec extends ObjectCodec {
  /** What ownership and server-side apply go by. */
  mergeSchema(): MergeSchema;
  /** undefined: the kind takes no strategic merge patches. */
  strategicMerge(): StrategicMerge | undefined;
  /** undefined: there are none. */
  declarativeRules(): DeclarativeRules | undefined;
  /** undefined: the facts say what is published. */
  published(): PublishedKind | undefined;
}

/** Codecs of kinds that are known by name. */
export interface KindCodecs {
  /** undefined: there is no such kind. */
  forKind(group: string, version: string, kind: string): KindCodec | undefined;
}

/** An object as the JSON that codecs, rules and patches work on; nothing is copied. */
export function asJson(object: ApiObject): JsonObject {
  return object as unknown as JsonObject;
}
