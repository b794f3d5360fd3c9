/**
 * OpenAPI documents over HTTP: `/openapi/v2` (everything), `/openapi/v3` (the list of parts with a
 * hash in each address) and `/openapi/v3/<part>`, in JSON and in the Protobuf form of gnostic
 * (S1-GEN-26).
 *
 * Documents describe the catalog at the time of the request. They are built on first use and cached as compressed bytes:
 * at most two encodings of the v2 document and of each part. Concurrent first requests share one build. A
 * change rebuilds the v2 document, the list of parts and the affected parts. The v2 document (merge-v2.ts)
 * and the list of parts include other servers' APIs.
 */
import { notAcceptable } from "../../api/status.js";
import { JSON_TYPE } from "../../codec/media-types.js";
import { remembered } from "../../kinds/remembered.js";
import { covers, parseAccept } from "../discovery/accept.js";
import {
  type Document,
  type DocumentHeaders,
  type DocumentResponse,
  finishDocument,
  redirect,
  respond,
} from "../discovery/document.js";
import type { ServedGroups, ServedResources } from "../discovery/served.js";
import {
  buildV2Document,
  buildV3Document,
  createBuilders,
  type DocumentPart,
  documentParts,
  encodeJson,
  FIXED,
  type OpenApiDocument,
  type OpenApiSource,
} from "./documents.js";
import { encodeGnostic } from "./gnostic.js";
import { mergeV2, type RemoteSpec } from "./merge-v2.js";
import type { OpenApiVersion } from "./schema-object.js";

const NO_PARTS: ReadonlyMap<string, string> = new Map();
const NO_SPECS: readonly RemoteSpec[] = Object.freeze([]);
const V2_PATH = "/openapi/v2";
const V3_PATH = "/openapi/v3";

/** The document at an address with a hash never changes, so caches may keep it for a year. */
const HASHED_CACHE_CONTROL = "public, immutable, max-age=31536000";

export interface OpenApi {
  /**
   * The answer to a GET of `path` (without the query); undefined for other paths.
   * @param hash the query parameter: the version of the document that the client wants
   * @throws {StatusError} 406 if there is no acceptable representation
   */
  handle(
    path: string,
    headers: DocumentHeaders,
    hash?: string,
  ): Promise<DocumentResponse | undefined>;
}

type Encoding = "json" | "protobuf";

/** The encodings of one document, each built on first request. */
export interface Encodings {
  get(encoding: Encoding): Promise<Document>;
}

/** What APIs of the same built-in types have alike, by the part's key. The first API fills it. */
export type SharedDocuments = Map<string, Encodings>;

export type OpenApiOptions = OpenApiSource &
  Pick<ServedResources, "catalog"> & {
    /** Absent = there is one API. */
    readonly shared?: SharedDocuments | undefined;
    /** Other servers' parts by key, with their hashes; requests for them are not handled here. */
    readonly remoteParts?: () => ReadonlyMap<string, string>;
    /** Other servers' additions to the v2 document; the same list until they change. */
    readonly remoteSpecs?: () => readonly RemoteSpec[];
  };

/** The documents of one catalog. */
interface Documents {
  v2(specs: readonly RemoteSpec[]): Encodings;
  readonly parts: ReadonlyMap<string, Encodings>;
  root(): Promise<Document>;
}

export function createOpenApi({
  catalog,
  remoteParts = () => NO_PARTS,
  remoteSpecs = () => NO_SPECS,
  shared,
  ...source
}: OpenApiOptions): OpenApi {
  const builderOf = createBuilders(source);
  const builtIn = documentParts(source, catalog.current);
  const ofBuiltIn = new WeakSet(builtIn.map(({ subject }) => subject));
  if (shared?.size === 0) shareParts(source, catalog.current, shared);
  const ofCatalog = new WeakMap<ServedGroups, Documents>();
  const ofSubject = new WeakMap<object, Encodings>();
  const fixed = new Map<string, Encodings>();

  function partOf(part: DocumentPart): Encodings {
    const same = ofBuiltIn.has(part.subject) ? shared?.get(part.key) : undefined;
    if (same !== undefined) return same;
    const make = () => createEncodings("v3", () => buildV3Document(source, builderOf("v3"), part));
    if (part.subject !== FIXED) return remembered(ofSubject, part.subject, make);
    const known = fixed.get(part.key) ?? make();
    fixed.set(part.key, known);
    return known;
  }

  function createDocuments(served: ServedGroups): Documents {
    const parts = new Map(
      documentParts(source, served).map((part) => [part.key, partOf(part)] as const),
    );
    const merged = new WeakMap<readonly RemoteSpec[], Encodings>();
    const same = new Set(shared?.values());
    const isBuiltIn =
      parts.size === builtIn.length && [...parts.values()].every((part) => same.has(part));
    let root: Promise<Document> | undefined;
    return {
      v2(specs) {
        const known = isBuiltIn && specs.length === 0 ? shared?.get(V2_PATH) : undefined;
        const build = async () =>
          mergeV2(await buildV2Document(source, builderOf("v2"), served), specs);
        return known ?? remembered(merged, specs, () => createEncodings("v2", build));
      },
      parts,
      root() {
        const forget = () => {
          root = undefined;
        };
        root = memoised(root, () => buildRoot(parts), forget);
        return root;
      },
    };
  }

  async function answerPart(key: string, part: Encodings, asked: string, headers: DocumentHeaders) {
    const document = await part.get(chooseEncoding("v3", headers.accept));
    if (asked === "") return respond(document, headers);
    const hash = unquote(document.etag);
    if (asked !== hash) return redirect(hashedAddress(key, hash));
    return respond(document, headers, { "Cache-Control": HASHED_CACHE_CONTROL });
  }

  return {
    async handle(path, headers, hash = "") {
      const { current } = catalog;
      const documents = remembered(ofCatalog, current, () => createDocuments(current));
      if (path === V2_PATH) {
        const encodings = documents.v2(remoteSpecs());
        return respond(await encodings.get(chooseEncoding("v2", headers.accept)), headers);
      }
      if (path === V3_PATH) {
        const root = await documents.root();
        const remote = remoteParts();
        return respond(remote.size === 0 ? root : await withParts(root, remote), headers);
      }
      if (!path.startsWith(`${V3_PATH}/`)) return undefined;
      const key = path.slice(V3_PATH.length + 1);
      const part = documents.parts.get(key);
      return part === undefined ? undefined : await answerPart(key, part, hash, headers);
    },
  };
}

/** Of the built-in types, which the first API serves; built when somebody asks for them. */
function shareParts(source: OpenApiSource, served: ServedGroups, shared: SharedDocuments): void {
  const builderOf = createBuilders(source);
  for (const part of documentParts(source, served)) {
    shared.set(
      part.key,
      createEncodings("v3", () => buildV3Document(source, builderOf("v3"), part)),
    );
  }
  shared.set(
    V2_PATH,
    createEncodings("v2", () => buildV2Document(source, builderOf("v2"), served)),
  );
}

/**
 * The Protobuf form has the ETag of the JSON form: the list of parts holds one hash for both, and
 * `Vary: Accept` keeps them apart in caches.
 */
function createEncodings(
  version: OpenApiVersion,
  build: () => Promise<OpenApiDocument>,
): Encodings {
  const documents = new Map<Encoding, Promise<Document>>();

  async function makeJson(): Promise<Document> {
    return await finishDocument(JSON_TYPE, encodeJson(await build()));
  }

  async function makeProtobuf(): Promise<Document> {
    const { etag } = await get("json");
    const pieces = await encodeGnostic(await build());
    return await finishDocument(protobufTypes(version).answered, pieces, { hash: unquote(etag) });
  }

  function get(encoding: Encoding): Promise<Document> {
    const document = memoised(
      documents.get(encoding),
      encoding === "json" ? makeJson : makeProtobuf,
      () => documents.delete(encoding),
    );
    documents.set(encoding, document);
    return document;
  }

  return { get };
}

/** The pending promise, or a new one, which `forget` removes if it fails. */
function memoised<Value>(
  known: Promise<Value> | undefined,
  make: () => Promise<Value>,
  forget: () => void,
): Promise<Value> {
  if (known !== undefined) return known;
  const made = make();
  made.catch(forget);
  return made;
}

/** Builds the parts one after another: the hashes need every document, and the event loop needs pauses. */
async function buildRoot(parts: ReadonlyMap<string, Encodings>): Promise<Document> {
  const paths: PartAddresses = {};
  for (const key of [...parts.keys()].sort()) {
    const document = await parts.get(key)?.get("json");
    if (document === undefined) continue;
    paths[key] = { serverRelativeURL: hashedAddress(key, unquote(document.etag)) };
  }
  return await finishRoot(paths);
}

type PartAddresses = Record<string, { serverRelativeURL: string }>;

/** The list of parts with those of other servers; a small document, requested rarely. */
async function withParts(root: Document, remote: ReadonlyMap<string, string>): Promise<Document> {
  const { paths } = JSON.parse(String(root.plain)) as { paths: PartAddresses };
  for (const [key, hash] of remote) paths[key] = { serverRelativeURL: hashedAddress(key, hash) };
  const sorted = Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1));
  return await finishRoot(Object.fromEntries(sorted));
}

function finishRoot(paths: PartAddresses): Promise<Document> {
  const body = Buffer.from(`${JSON.stringify({ paths })}\n`);
  return finishDocument(JSON_TYPE, [body], { plainBytesMax: body.length });
}

function hashedAddress(key: string, hash: string): string {
  return `${V3_PATH}/${key}?hash=${hash}`;
}

/** Clients ask for two spellings; answers have the second, registered one. */
function protobufTypes(version: OpenApiVersion) {
  const prefix = `com.github.proto-openapi.spec.${version}`;
  const subtypes = [`${prefix}@v1.0+protobuf`, `${prefix}.v1.0+protobuf`];
  return { subtypes, answered: `application/${prefix}.v1.0+protobuf` };
}

function chooseEncoding(version: OpenApiVersion, accept: string | undefined): Encoding {
  const { subtypes, answered } = protobufTypes(version);
  for (const range of parseAccept(accept)) {
    if (covers(range, "application", "json")) return "json";
    if (subtypes.some((subtype) => covers(range, "application", subtype))) return "protobuf";
  }
  throw notAcceptable([JSON_TYPE, answered]);
}

function unquote(etag: string): string {
  return etag.slice(1, -1);
}
