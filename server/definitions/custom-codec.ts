/**
 * Codecs of custom resources: made with their kind, compiled from the definition's bytes on first
 * use, and evicted when other kinds are used instead. Thousands of unused definitions therefore
 * cost only their bytes. What all control planes of a process have alike is compiled once: what is kept is
 * known by its content.
 */
import { createHash } from "node:crypto";
import { SharedCache } from "../../storage/base/shared-cache.js";
import type { JsonValue } from "../api/meta.js";
import { formatGroupVersion } from "../api/names.js";
import type { MergeSchema } from "../apply/merge-schema.js";
import { createMergeSchemas } from "../apply/merge-schema-facts.js";
import { stringifyJson } from "../codec/json.js";
import type { KindCodec, PublishedKind } from "../kinds/kind-codec.js";
import type { Facts } from "../schema/model.js";
import { createCodecCompiler, type StructCodec } from "../schema/struct-codec.js";
import type { JsonSchema } from "../structural/json-schema.js";
import { structType } from "../structural/merge-type.js";
import { publishedSchema } from "../structural/published-schema.js";
import type { Structural } from "../structural/structural.js";
import { toStructural } from "../structural/structural.js";
import { createStructuralCodec, type StructuralCodec } from "../structural/structural-codec.js";

/** Of all compiled schemas of the process: some 200 kinds of 25 KiB. */
const COMPILED_BYTES_MAX = 256 * 1024 * 1024;
/** Memory of a compiled schema for each character of its text: 48 where none has rules and 58 where all have, of 25 KiB with a pattern for each object. */
const BYTES_PER_CHAR = 50;
/** Of one without any text. */
const OVERHEAD_BYTES = 2 * 1024;

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
  /** Of cached compiled schemas. */
  readonly bytes: number;
  readonly bytesMax: number;
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
  const cache = new SharedCache<string, Compiled>({ bytesMax: COMPILED_BYTES_MAX });
  /** What is known of a kind without its schema. */
  const read = new WeakMap<CustomKind, Content>();

  const mergeSchemaOf = (structural: Structural | undefined) =>
    structural === undefined
      ? mergeSchemas.schemaless()
      : mergeSchemas.ofCustom(structType(structural));

  const compiledOf = (kind: CustomKind): Compiled => {
    let content = read.get(kind);
    let schema: JsonSchema | undefined;
    if (content === undefined) {
      schema = kind.schema();
      content = contentOf(kind, schema);
      read.set(kind, content);
    }
    const known = cache.get(content.digest);
    if (known !== undefined) return known;
    const compiled = compile(kind, schema ?? kind.schema(), metadata, mergeSchemaOf);
    cache.set(content.digest, compiled, content.chars * BYTES_PER_CHAR + OVERHEAD_BYTES);
    return compiled;
  };

  return {
    get bytes() {
      return cache.bytes;
    },
    bytesMax: COMPILED_BYTES_MAX,
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

/** All that a compiled schema depends on, by its digest, and how much it is. */
interface Content {
  readonly digest: string;
  readonly chars: number;
}

function contentOf(
  { kind, group, version, keepsUnknown }: CustomKind,
  schema: JsonSchema | undefined,
): Content {
  // Its numbers may have more digits than JSON.stringify takes.
  const shape = (schema ?? null) as unknown as JsonValue;
  const text = stringifyJson([kind, group, version, keepsUnknown, shape]);
  return { digest: createHash("sha256").update(text).digest("base64"), chars: text.length };
}

function compile(
  { kind, group, version, keepsUnknown }: CustomKind,
  found: JsonSchema | undefined,
  metadata: StructCodec,
  mergeSchemaOf: (structural: Structural | undefined) => MergeSchema,
): Compiled {
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
