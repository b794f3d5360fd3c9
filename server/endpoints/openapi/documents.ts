/**
 * OpenAPI documents as values, built from the served resources: one v2 document of everything, and one
 * v3 document per group-version, per group and for the few other paths.
 *
 * The v2 document is large. It is built and encoded in slices with a turn of the event loop in between,
 * so that no request waits for a whole document (docs/dev/decisions/0005).
 */
import { nextTurn } from "../../../storage/base/next-turn.js";
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
import { sharedType } from "./body-type.js";
import { createCodeDefaults } from "./code-defaults.js";
import {
  bodyTypes,
  documentPath,
  groupVersionPaths,
  type OperationContext,
  operationNames,
  type PathItem,
} from "./operations.js";
import { renderPathV2, renderPathV3, type SharedParameters } from "./render.js";
import type { OpenApiVersion, SchemaObject } from "./schema-object.js";
import { createSchemaBuilder, type SchemaBuilder } from "./schemas.js";

/** Entries (paths or schemas) per slice: about 1 ms of work once the code is warm. */
const ENTRIES_PER_SLICE = 16;

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

/** A document under construction: the two large members apart from the rest. */
export interface OpenApiDocument {
  readonly version: OpenApiVersion;
  /** All members but paths and schemas. */
  readonly head: JsonObject;
  readonly paths: ReadonlyMap<string, JsonObject>;
  readonly schemas: ReadonlyMap<string, SchemaObject>;
}

/** Slices of a map's entries, small enough not to stall other requests. */
export function* slicesOf<Value>(
  entries: ReadonlyMap<string, Value>,
): Generator<readonly [string, Value][]> {
  let slice: [string, Value][] = [];
  for (const entry of entries) {
    slice.push(entry);
    if (slice.length < ENTRIES_PER_SLICE) continue;
    yield slice;
    slice = [];
  }
  if (slice.length > 0) yield slice;
}

/** Builds the document of `/openapi/v2`. */
export async function buildV2Document(
  source: OpenApiSource,
  served: ServedGroups,
): Promise<OpenApiDocument> {
  const builder = builderOf(source, "v2");
  const items: PathItem[] = [];
  const parts = documentParts(source, served).toSorted((a, b) => (a.key < b.key ? -1 : 1));
  for (const part of parts) {
    items.push(...part.paths());
    await nextTurn();
  }
  const shared: SharedParameters = new Map();
  const paths = await renderPaths(items, (item) => renderPathV2(item, builder, shared));
  const schemas = await buildSchemas(items, builder);
  const parameters = [...shared].sort(([a], [b]) => (a < b ? -1 : 1));
  const head: JsonObject = {
    swagger: "2.0",
    info: { title: source.title, version: source.apiVersion },
    parameters: Object.fromEntries(parameters),
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
  return { version: "v2", head, paths, schemas };
}

/** Builds the document of one part, for example "apis/apps/v1". */
export async function buildV3Document(
  source: OpenApiSource,
  part: DocumentPart,
): Promise<OpenApiDocument> {
  const builder = builderOf(source, "v3");
  const items = [...part.paths()];
  await nextTurn();
  const paths = await renderPaths(items, (item) => renderPathV3(item, builder));
  const schemas = await buildSchemas(items, builder);
  const head = { openapi: "3.0.0", info: { title: source.title, version: source.apiVersion } };
  return { version: "v3", head, paths, schemas };
}

/** The JSON text, sorted by path and by schema name. */
export async function encodeJson(document: OpenApiDocument): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const head = JSON.stringify(document.head).slice(0, -1);
  chunks.push(Buffer.from(`${head},"paths":{`));
  await encodeEntries(document.paths, chunks);
  const isV2 = document.version === "v2";
  chunks.push(Buffer.from(isV2 ? `},"definitions":{` : `},"components":{"schemas":{`));
  await encodeEntries(document.schemas, chunks);
  chunks.push(Buffer.from(isV2 ? "}}\n" : "}}}\n"));
  return Buffer.concat(chunks);
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

function builderOf(source: OpenApiSource, version: OpenApiVersion): SchemaBuilder {
  const defaults = createCodeDefaults(source.model, source.defaults);
  return createSchemaBuilder(source.model, version, defaults, source.builtIn);
}

async function renderPaths(
  items: readonly PathItem[],
  render: (item: PathItem) => JsonObject,
): Promise<Map<string, JsonObject>> {
  const sorted = new Map(
    items.map((item) => [item.path, item] as const).sort(([a], [b]) => (a < b ? -1 : 1)),
  );
  const rendered = new Map<string, JsonObject>();
  for (const slice of slicesOf(sorted)) {
    for (const [path, item] of slice) rendered.set(path, render(item));
    await nextTurn();
  }
  return rendered;
}

async function buildSchemas(
  items: readonly PathItem[],
  builder: SchemaBuilder,
): Promise<Map<string, SchemaObject>> {
  const closure = builder.closure(bodyTypes(items));
  const named = new Map(closure.map((schema) => [builder.nameOf(schema), schema]));
  await nextTurn();
  const schemas = new Map<string, SchemaObject>();
  for (const slice of slicesOf(named)) {
    for (const [name, schema] of slice) schemas.set(name, builder.build(schema));
    await nextTurn();
  }
  return schemas;
}

async function encodeEntries(
  entries: ReadonlyMap<string, unknown>,
  chunks: Buffer[],
): Promise<void> {
  let separator = "";
  for (const slice of slicesOf(entries)) {
    const text = slice.map(
      ([name, value]) => `${quoteString(name)}:${stringifyJson(value as JsonValue)}`,
    );
    chunks.push(Buffer.from(separator + text.join(",")));
    separator = ",";
    await nextTurn();
  }
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
