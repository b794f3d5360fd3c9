/**
 * OpenAPI documents as values, built from the served resources: one v2 document of everything, and one
 * v3 document per group-version, per group and for the few other paths.
 *
 * The v2 document is large: 4 MB, and 80 MB with a definition of 5,000 versions. Its paths and schemas are made one after
 * the other while they are encoded, in short turns, so that no request waits for a whole document
 * (docs/dev/decisions/0005) and nobody holds one.
 */
import { inShortTurns, ShortTurns } from "../../../storage/base/short-turns.js";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import type { GroupVersion } from "../../api/names.js";
import { JSON_TYPE } from "../../codec/media-types.js";
import { quoteString, stringifyJson } from "../../schema/json-text.js";
import type { DefaultFact } from "../../schema/model.js";
import { groupVersionPath } from "../discovery/discovery.js";
import type {
  ServedGroup,
  ServedGroups,
  ServedGroupVersion,
  ServedResources,
} from "../discovery/served.js";
import { type BodyType, sharedType } from "./body-type.js";
import { createCodeDefaults } from "./code-defaults.js";
import {
  bodyTypes,
  documentPath,
  groupVersionPaths,
  type OperationContext,
  operationNames,
  type PathItem,
} from "./operations.js";
import { renderPathV2, renderPathV3, sharedParameters } from "./render.js";
import type { OpenApiVersion, SchemaObject } from "./schema-object.js";
import { createSchemaBuilder, type SchemaBuilder } from "./schemas.js";

/** Of one piece of a document's text; an entry is not cut. */
const PIECE_CHARS = 64 * 1024;

export interface OpenApiSource extends Omit<ServedResources, "catalog"> {
  /** Group-versions that are always served; a custom one would change every document. */
  readonly builtIn: readonly GroupVersion[];
  /** `info.title`, the product's name. */
  readonly title: string;
  /** `info.version`, for example "v1.36.0+keelson.0.1.0". */
  readonly apiVersion: string;
  /** Media types that the server writes objects in; JSON first. */
  readonly objectMediaTypes: readonly string[];
  /** Defaults set in code, which descriptions mention. */
  readonly defaults: readonly DefaultFact[];
  /** Names of the string members of `/version`. */
  readonly versionMembers: readonly string[];
}

/** What a document has under names, sorted by them; made anew, in short turns, each time it is read. */
export type Entries<Value> = AsyncIterable<readonly [name: string, value: Value]>;

/** A document: the two large members apart from the rest. */
export interface OpenApiDocument {
  readonly version: OpenApiVersion;
  /** All members but paths and schemas. */
  readonly head: JsonObject;
  readonly paths: Entries<JsonObject>;
  readonly schemas: Entries<SchemaObject>;
  /** One of the schemas. */
  schemaOf(name: string): SchemaObject | undefined;
}

/** One builder of schemas for all documents of a version of OpenAPI, made when somebody asks for one. */
export function createBuilders({
  model,
  defaults,
  builtIn,
}: OpenApiSource): (version: OpenApiVersion) => SchemaBuilder {
  const known = new Map<OpenApiVersion, SchemaBuilder>();
  return (version) => {
    const builder =
      known.get(version) ??
      createSchemaBuilder(model, version, createCodeDefaults(model, defaults), builtIn);
    known.set(version, builder);
    return builder;
  };
}

/** Builds the document of `/openapi/v2`. */
export async function buildV2Document(
  source: OpenApiSource,
  builder: SchemaBuilder,
  served: ServedGroups,
): Promise<OpenApiDocument> {
  // All paths of a part are below its own: in this order of the parts they are sorted.
  const parts = documentParts(source, served).toSorted((a, b) =>
    `${a.key}/` < `${b.key}/` ? -1 : 1,
  );
  const head: JsonObject = {
    swagger: "2.0",
    info: { title: source.title, version: source.apiVersion },
    parameters: sharedParameters(source.model),
    securityDefinitions: {
      BearerToken: {
        description: "Bearer token authentication",
        type: "apiKey",
        name: "authorization",
        in: "header",
      },
    },
    security: [{ BearerToken: [] }],
  };
  const paths = renderedPaths(parts, (item) => renderPathV2(item, builder));
  return { version: "v2", head, paths, ...(await schemasOf(parts, builder)) };
}

/** Builds the document of one part, for example "apis/apps/v1". */
export async function buildV3Document(
  source: OpenApiSource,
  builder: SchemaBuilder,
  part: DocumentPart,
): Promise<OpenApiDocument> {
  const head = { openapi: "3.0.0", info: { title: source.title, version: source.apiVersion } };
  const paths = renderedPaths([part], (item) => renderPathV3(item, builder));
  return { version: "v3", head, paths, ...(await schemasOf([part], builder)) };
}

/** The JSON text in pieces, sorted by path and by schema name. */
export async function* encodeJson(document: OpenApiDocument): AsyncGenerator<Buffer, void> {
  const isV2 = document.version === "v2";
  yield Buffer.from(`${JSON.stringify(document.head).slice(0, -1)},"paths":{`);
  yield* encodeEntries(document.paths);
  yield Buffer.from(isV2 ? `},"definitions":{` : `},"components":{"schemas":{`);
  yield* encodeEntries(document.schemas);
  yield Buffer.from(isV2 ? "}}\n" : "}}}\n");
}

/** The subject of paths outside of any group. */
export const FIXED = Symbol("fixed");

/** A part of the API with its own v3 document. */
export interface DocumentPart {
  /** The document is valid as long as its subject is in the catalog. */
  readonly subject: ServedGroup | ServedGroupVersion | typeof FIXED;
  /** The path below `/openapi/v3/`: the API path without the leading slash. */
  readonly key: string;
  paths(): Iterable<PathItem>;
}

/** Every served part; a group-version without served resources has none. */
export function documentParts(
  source: OpenApiSource,
  { groups }: ServedGroups,
): readonly DocumentPart[] {
  const context: OperationContext = source;
  const parts: DocumentPart[] = [
    { subject: FIXED, key: "api", paths: () => [apiVersionsPath(context)] },
    { subject: FIXED, key: "apis", paths: () => [apiGroupsPath(context)] },
    { subject: FIXED, key: "version", paths: () => [versionPath(source)] },
  ];
  for (const group of groups) {
    if (group.name !== "") {
      const paths = () => [apiGroupPath(context, group)];
      parts.push({ subject: group, key: `apis/${group.name}`, paths });
    }
    for (const groupVersion of group.versions) {
      const key = groupVersionPath(group, groupVersion.version).slice(1);
      const paths = () => groupVersionPaths(context, groupVersion);
      parts.push({ subject: groupVersion, key, paths });
    }
  }
  return parts;
}

/** @param parts in the order of their paths */
function renderedPaths(
  parts: readonly DocumentPart[],
  render: (item: PathItem) => JsonObject,
): Entries<JsonObject> {
  return {
    async *[Symbol.asyncIterator]() {
      const turns = new ShortTurns();
      for (const part of parts) {
        const items = new Map<string, PathItem>();
        for (const item of part.paths()) {
          items.set(item.path, item);
          await turns.yieldIfLong();
        }
        for (const [path, item] of [...items].sort(byName)) {
          yield [path, render(item)];
          await turns.yieldIfLong();
        }
      }
    },
  };
}

/** The schemas of all types that the parts' bodies refer to. */
async function schemasOf(
  parts: readonly DocumentPart[],
  builder: SchemaBuilder,
): Promise<Pick<OpenApiDocument, "schemas" | "schemaOf">> {
  const turns = new ShortTurns();
  const types = new Set<BodyType>();
  for (const part of parts) {
    for (const item of part.paths()) {
      for (const type of bodyTypes(item)) types.add(type);
      await turns.yieldIfLong();
    }
  }
  const named = await inShortTurns(builder.closure(types), turns);
  const schemas = {
    async *[Symbol.asyncIterator]() {
      const reading = new ShortTurns();
      for (const [name, schema] of named) {
        yield [name, builder.build(schema)] as const;
        await reading.yieldIfLong();
      }
    },
  };
  return {
    schemas,
    schemaOf(name) {
      const schema = named.get(name);
      return schema && builder.build(schema);
    },
  };
}

/** What there is already, in its order. */
export function entriesOf<Value>(known: Iterable<readonly [string, Value]>): Entries<Value> {
  return {
    async *[Symbol.asyncIterator]() {
      const turns = new ShortTurns();
      for (const entry of known) {
        yield entry;
        await turns.yieldIfLong();
      }
    },
  };
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

async function* encodeEntries(entries: Entries<unknown>): AsyncGenerator<Buffer, void> {
  let text = "";
  let separator = "";
  for await (const [name, value] of entries) {
    text += `${separator}${quoteString(name)}:${stringifyJson(value as JsonValue)}`;
    separator = ",";
    if (text.length < PIECE_CHARS) continue;
    yield Buffer.from(text);
    text = "";
  }
  if (text !== "") yield Buffer.from(text);
}

function apiVersionsPath({ model, objectMediaTypes }: OperationContext): PathItem {
  const body = { form: "type" as const, type: sharedType(model, "APIVersions") };
  const names = {
    id: "getCoreAPIVersions",
    tag: "core",
    description: "get available API versions",
  };
  return documentPath("/api/", body, names, objectMediaTypes);
}

function apiGroupsPath({ model, objectMediaTypes }: OperationContext): PathItem {
  const body = { form: "type" as const, type: sharedType(model, "APIGroupList") };
  const names = { id: "getAPIVersions", tag: "apis", description: "get available API groups" };
  return documentPath("/apis/", body, names, objectMediaTypes);
}

function apiGroupPath(context: OperationContext, group: ServedGroup): PathItem {
  const { model, naming, objectMediaTypes } = context;
  const body = { form: "type" as const, type: sharedType(model, "APIGroup") };
  const { groupIdentifier, tag } = operationNames(naming, { group: group.name, version: "" });
  const description = "get information of a group";
  const names = { id: `get${groupIdentifier}APIGroup`, tag, description };
  return documentPath(`/apis/${group.name}/`, body, names, objectMediaTypes);
}

function versionPath({ versionMembers }: OpenApiSource): PathItem {
  const body = { form: "strings" as const, members: versionMembers };
  const names = { id: "getCodeVersion", tag: "version", description: "get the version" };
  return documentPath("/version/", body, names, [JSON_TYPE]);
}
