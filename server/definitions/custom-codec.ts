/**
 * Codecs of custom resources: made with their kind, compiled from the definition's bytes on first
 * use, and evicted when other kinds are used instead. Thousands of unused definitions therefore
 * cost only their bytes.
 */
import { LRUCache } from "lru-cache";
import { formatGroupVersion } from "../api/names.js";
import type { MergeSchema } from "../apply/merge-schema.js";
import { createMergeSchemas } from "../apply/merge-schema-facts.js";
import type { KindCodec, PublishedKind } from "../kinds/kind-codec.js";
import type { Facts } from "../schema/model.js";
import { createCodecCompiler, type StructCodec } from "../schema/struct-codec.js";
import type { JsonSchema } from "../structural/json-schema.js";
import { structType } from "../structural/merge-type.js";
import { publishedSchema } from "../structural/published-schema.js";
import type { Structural } from "../structural/structural.js";
import { toStructural } from "../structural/structural.js";
import { createStructuralCodec, type StructuralCodec } from "../structural/structural-codec.js";

/** Maximum number of cached compiled schemas: more kinds than any one client uses. */
const COMPILED_MAX = 256;

export interface CustomKind {
  readonly kind: string;
  readonly group: string;
  readonly version: string;
  /** Keeps all unknown fields, whatever the schema says: for old definitions. */
  readonly keepsUnknown: boolean;
  /** ".spec.color" */
  readonly selectableFields?: readonly string[];
  /** Reads the definition's schema; undefined = there is none. */
  schema(): JsonSchema | undefined;
}

/** A KindCodec that also takes the previous object. */
export interface CustomCodec extends KindCodec {
  /** Checks the schema's rules; earlier, unchanged errors are ignored. */
  judge: StructuralCodec["validate"];
}

export interface CustomCodecs {
  create(kind: CustomKind): CustomCodec;
  /** Number of cached compiled schemas. */
  readonly compiledCount: number;
}

interface Compiled {
  readonly codec: StructuralCodec;
  readonly mergeSchema: () => MergeSchema;
}

/** @throws {TypeError} when the facts lack the type of metadata */
export function createCustomCodecs({ model }: Facts): CustomCodecs {
  const metaType = model.type("meta.v1.ObjectMeta");
  if (metaType?.form !== "struct") throw new TypeError("no type meta.v1.ObjectMeta");
  const metadata = createCodecCompiler(model).struct(metaType);
  const mergeSchemas = createMergeSchemas(model);
  const cache = new LRUCache<CustomKind, Compiled>({ max: COMPILED_MAX });

  const mergeSchemaOf = (structural: Structural | undefined) =>
    structural === undefined
      ? mergeSchemas.schemaless()
      : mergeSchemas.ofCustom(structType(structural));

  const compiledOf = (kind: CustomKind): Compiled => {
    let compiled = cache.get(kind);
    if (compiled === undefined) {
      compiled = compile(kind, metadata, mergeSchemaOf);
      cache.set(kind, compiled);
    }
    return compiled;
  };

  return {
    get compiledCount() {
      return cache.size;
    },
    create: (kind) =>
      Object.freeze({
        decode: (input, options) => compiledOf(kind).codec.decode(input, options),
        applyDefaults: (object) => compiledOf(kind).codec.applyDefaults(object),
        applyDefaultsInSteps: (object, grew) =>
          compiledOf(kind).codec.applyDefaultsInSteps(object, grew),
        // The strategy checks the schema's rules, on the object as it will be stored.
        validate: () => [],
        judge: (object, current, options) =>
          compiledOf(kind).codec.validate(object, current, options),
        encode: (object) => compiledOf(kind).codec.encode(object),
        encodeInSteps: (object) => compiledOf(kind).codec.encodeInSteps(object),
        mergeSchema: () => compiledOf(kind).mergeSchema(),
        strategicMerge: () => undefined,
        declarativeRules: () => undefined,
        published: () => publishedKind(kind),
      } satisfies CustomCodec),
  };
}

/** Read from the definition for each document: documents are cached, schemas are not. */
function publishedKind(custom: CustomKind): PublishedKind {
  const { kind, group, version, schema, selectableFields = [] } = custom;
  const reversed = group.split(".").reverse().join(".");
  return {
    group,
    version,
    kind,
    name: `${reversed}.${version}.${kind}`,
    schema: (document, ofResources) => publishedSchema(schema(), document, ofResources),
    selectableFields: selectableFields.map((path) => path.replace(/^\./, "")),
  };
}

function compile(
  { kind, group, version, keepsUnknown, schema }: CustomKind,
  metadata: StructCodec,
  mergeSchemaOf: (structural: Structural | undefined) => MergeSchema,
): Compiled {
  const found = schema();
  const kept =
    found !== undefined && keepsUnknown
      ? { ...found, "x-kubernetes-preserve-unknown-fields": true }
      : found;
  const structural = kept === undefined ? undefined : toStructural(kept);
  let mergeSchema: MergeSchema | undefined;
  return {
    codec: createStructuralCodec({
      kind,
      apiVersion: formatGroupVersion({ group, version }),
      structural,
      metadata,
    }),
    mergeSchema() {
      mergeSchema ??= mergeSchemaOf(structural);
      return mergeSchema;
    },
  };
}
