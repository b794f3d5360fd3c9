/**
 * Operations: the paths of a served resource and their methods, in a form independent of the OpenAPI
 * version. Client generators and kubectl know the names, actions and parameters. Pure functions of the
 * served facts.
 */
import type { Naming } from "../../api/naming.js";
import type { PublishedKind } from "../../kinds/kind-codec.js";
import type { ResourceFact, SchemaModel, StructType } from "../../schema/model.js";
import { groupVersionPath } from "../discovery/discovery.js";
import type { ServedGroupVersion } from "../discovery/served.js";
import { type BodyType, sharedType } from "./body-type.js";
import {
  optionParameters,
  type Parameter,
  pathParameter,
  prettyParameter,
  verbParameters,
} from "./parameters.js";
import type { GroupVersionKindExtension } from "./schema-object.js";

export type Method = "get" | "put" | "post" | "delete" | "options" | "head" | "patch";

/** The content of a body: an object of a type, text, or an object of strings. */
export type Body =
  | { readonly form: "type"; readonly type: BodyType }
  | { readonly form: "text" }
  | { readonly form: "strings"; readonly members: readonly string[] };

export interface OperationResponse {
  readonly code: string;
  readonly description: string;
  readonly body?: Body;
}

export interface Operation {
  readonly method: Method;
  readonly id: string;
  readonly description: string;
  readonly tag: string;
  readonly action?: string;
  readonly groupVersionKind?: GroupVersionKindExtension;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: {
    readonly type: BodyType;
    readonly required: boolean;
    /** Media types; the wildcard stands for every type that the server decodes. */
    readonly consumes: readonly string[];
  };
  readonly produces: readonly string[];
  readonly responses: readonly OperationResponse[];
}

export interface PathItem {
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly operations: readonly Operation[];
}

const PATCH_MEDIA_TYPES = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
] as const;

/** Methods by verb of a connecting subresource; a proxy passes every method. */
const CONNECT_METHODS: Readonly<Record<string, readonly Method[]>> = {
  create: ["post"],
  delete: ["delete"],
  get: ["get"],
  patch: ["patch"],
  update: ["put"],
};

/** List options that have no meaning for deletecollection. */
const WATCH_OPTIONS = ["watch", "allowWatchBookmarks"] as const;

/** Subresources that return text, and the type of their query parameters. */
const TEXT_SUBRESOURCES: Readonly<Record<string, string>> = { log: "PodLogOptions" };

export interface OperationContext {
  readonly naming: Naming;
  readonly model: SchemaModel;
  /** Media types that the server writes objects in, for example JSON, YAML and Protobuf. */
  readonly objectMediaTypes: readonly string[];
}

/** All paths of a group-version, its resource list first. */
export function* groupVersionPaths(
  context: OperationContext,
  groupVersion: ServedGroupVersion,
): Generator<PathItem> {
  yield resourceListPath(context, groupVersion);
  const kinds = new Map(
    groupVersion.facts
      .filter(({ subresource }) => subresource === "")
      .map(({ resource, kind }) => [resource, kind]),
  );
  for (const fact of groupVersion.facts) {
    const parentKind = kinds.get(fact.resource) ?? fact.kind;
    const scope = scopeOf(context, groupVersion, fact, parentKind);
    if (fact.subresource === "") yield* resourcePaths(scope);
    else yield* subresourcePaths(scope);
  }
}

/** The types in the bodies of a path's operations. */
export function* bodyTypes({ operations }: PathItem): Generator<BodyType, void> {
  for (const { requestBody, responses } of operations) {
    if (requestBody !== undefined) yield requestBody.type;
    for (const { body } of responses) if (body?.form === "type") yield body.type;
  }
}

/** A path that returns one document, for example "/apis/apps/" with an APIGroup. */
export function documentPath(
  path: string,
  body: Body,
  names: { readonly id: string; readonly tag: string; readonly description: string },
  produces: readonly string[],
): PathItem {
  const responses = [responseOf("200", body), unauthorized];
  const operation = { method: "get" as const, ...names, parameters: [], produces, responses };
  return { path, parameters: [], operations: [operation] };
}

function resourceListPath(context: OperationContext, groupVersion: ServedGroupVersion): PathItem {
  const { identifier, tag } = operationNames(context.naming, groupVersion);
  const base = groupVersionPath({ name: groupVersion.group }, groupVersion.version);
  const body: Body = { form: "type", type: sharedType(context.model, "APIResourceList") };
  const id = `get${identifier}APIResources`;
  const names = { id, tag, description: "get available resources" };
  return documentPath(`${base}/`, body, names, context.objectMediaTypes);
}

/** "RbacAuthorizationV1" for operation ids and "rbacAuthorization_v1" for tags. */
export function operationNames(
  naming: Naming,
  { group, version }: { readonly group: string; readonly version: string },
): { readonly identifier: string; readonly groupIdentifier: string; readonly tag: string } {
  const domain = `.${naming.groupDomain}`;
  const short = group.endsWith(domain) ? group.slice(0, -domain.length) : group;
  const words = (short === "" ? "core" : short).split(".");
  const groupIdentifier = words.map(capitalise).join("");
  const groupTag = groupIdentifier.charAt(0).toLowerCase() + groupIdentifier.slice(1);
  return {
    identifier: groupIdentifier + capitalise(version),
    groupIdentifier,
    tag: version === "" ? groupTag : `${groupTag}_${version}`,
  };
}

const unauthorized: OperationResponse = { code: "401", description: "Unauthorized" };

/** The context of one resource or subresource for the functions below. */
interface ResourceScope extends OperationContext {
  readonly fact: ResourceFact;
  readonly names: ReturnType<typeof operationNames>;
  /** Kind of the resource, also used to name the operations of its subresources. */
  readonly parentKind: string;
  readonly groupVersionKind: GroupVersionKindExtension;
  /** Type of `groupVersionKind`. */
  readonly bodyType: BodyType;
  /** Type of a list of them; undefined for a built-in kind. */
  readonly custom: PublishedKind | undefined;
  /** "/apis/apps/v1" */
  readonly groupVersionBase: string;
  /** "/apis/apps/v1/namespaces/{namespace}/deployments" */
  readonly collectionPath: string;
  /** "NamespacedPod" or "Node", the middle of operation ids. */
  readonly scopedKind: string;
}

function scopeOf(
  context: OperationContext,
  groupVersion: ServedGroupVersion,
  fact: ResourceFact,
  parentKind: string,
): ResourceScope {
  const { group, version } = fact.kindGroupVersion ?? fact;
  const groupVersionBase = groupVersionPath({ name: groupVersion.group }, groupVersion.version);
  const custom = publishedOf(groupVersion, fact);
  const ownCustom = fact.kindGroupVersion === undefined ? custom : undefined;
  return {
    ...context,
    ...(custom && {
      objectMediaTypes: context.objectMediaTypes.filter(
        (mediaType) => mediaType !== context.naming.protobufMediaType,
      ),
    }),
    fact,
    names: operationNames(context.naming, groupVersion),
    parentKind,
    groupVersionKind: { group, kind: fact.kind, version },
    bodyType:
      ownCustom === undefined
        ? typeOf(context.model, { group, version }, fact.kind)
        : { form: "custom", kind: ownCustom, isList: false },
    custom,
    groupVersionBase,
    collectionPath: `${groupVersionBase}${fact.namespaced ? "/namespaces/{namespace}" : ""}/${fact.resource}`,
    scopedKind: `${fact.namespaced ? "Namespaced" : ""}${parentKind}`,
  };
}

function* resourcePaths(scope: ResourceScope): Generator<PathItem> {
  const { fact, names, parentKind, scopedKind, collectionPath, groupVersionBase } = scope;
  if (fact.namespaced && fact.verbs.includes("list")) {
    const id = `list${names.identifier}${parentKind}ForAllNamespaces`;
    const path = `${groupVersionBase}/${fact.resource}`;
    yield { path, parameters: [prettyParameter], operations: [list(scope, id)] };
    yield* watchPath(scope, path, { id: `${parentKind}ListForAllNamespaces`, parameters: [] });
  }
  const collection = collectionOperations(scope);
  if (collection.length > 0) {
    const parameters = [...namespaceParameters(scope), prettyParameter];
    yield { path: collectionPath, parameters, operations: collection };
    const id = `${scopedKind}List`;
    yield* watchPath(scope, collectionPath, { id, parameters: namespaceParameters(scope) });
  }
  const item = itemOperations(scope);
  if (item.length > 0) {
    const path = `${collectionPath}/{name}`;
    yield { path, parameters: itemParameters(scope), operations: item };
    yield* watchPath(scope, path, { id: scopedKind, parameters: objectParameters(scope) });
  }
}

/** The legacy watch path, which generated clients call (S1-GEN-04). */
function* watchPath(
  scope: ResourceScope,
  watched: string,
  { id, parameters }: { readonly id: string; readonly parameters: readonly Parameter[] },
): Generator<PathItem> {
  const { fact, names, model, objectMediaTypes, groupVersionBase } = scope;
  if (!fact.verbs.includes("watch")) return;
  const isOne = watched.endsWith("/{name}");
  const what = isOne ? `an object of kind ${fact.kind}` : `objects of kind ${fact.kind}`;
  const body: Body = { form: "type", type: sharedType(model, "WatchEvent") };
  const watch: Operation = {
    ...common(scope, "get", isOne ? "watch" : "watchlist"),
    id: `watch${names.identifier}${id}`,
    description: `watch ${what}; deprecated: list with the parameter watch instead`,
    parameters: verbParameters(scope.model, ["ListOptions"]),
    produces: [...objectMediaTypes, ...streamsOf(objectMediaTypes)],
    responses: [responseOf("200", body), unauthorized],
  };
  const path = `${groupVersionBase}/watch${watched.slice(groupVersionBase.length)}`;
  yield { path, parameters: [...parameters, prettyParameter], operations: [watch] };
}

function streamsOf(objectMediaTypes: readonly string[]): string[] {
  return objectMediaTypes
    .filter((mediaType) => !mediaType.endsWith("yaml"))
    .map((mediaType) => `${mediaType};stream=watch`);
}

function* subresourcePaths(scope: ResourceScope): Generator<PathItem> {
  const { fact, model, bodyType, collectionPath } = scope;
  const path = `${collectionPath}/{name}/${fact.subresource}`;
  if (bodyType.form === "custom" || !bodyType.isOptions) {
    yield { path, parameters: itemParameters(scope), operations: itemOperations(scope) };
    return;
  }
  // The body comes from the other end, so `pretty` has no meaning.
  const parameters = [
    ...objectParameters(scope),
    ...optionParameters(model, [bodyType], { isShared: false }),
  ];
  yield { path, parameters, operations: connect(scope, "") };
  if (fact.subresource !== "proxy") return;
  const rest = [...parameters, pathParameter("path")];
  yield { path: `${path}/{path}`, parameters: rest, operations: connect(scope, "WithPath") };
}

function collectionOperations(scope: ResourceScope): Operation[] {
  const { verbs, kind } = scope.fact;
  const operations: Operation[] = [];
  if (verbs.includes("list")) operations.push(list(scope, idOf(scope, "list")));
  if (verbs.includes("create")) operations.push(create(scope, `create a ${kind}`));
  if (verbs.includes("deletecollection")) {
    operations.push({
      ...common(scope, "delete", "deletecollection"),
      id: `delete${scope.names.identifier}Collection${scope.scopedKind}`,
      description: `delete collection of ${kind}`,
      parameters: verbParameters(scope.model, ["ListOptions", "DeleteOptions"], WATCH_OPTIONS),
      requestBody: deleteOptionsBody(scope),
      responses: statusResponses(scope, "200"),
    });
  }
  return operations;
}

function itemOperations(scope: ResourceScope): Operation[] {
  const { fact, parentKind, model, bodyType } = scope;
  const { verbs, subresource } = fact;
  const what =
    subresource === ""
      ? `the specified ${parentKind}`
      : `${subresource} of the specified ${parentKind}`;
  const operations: Operation[] = [];
  if (verbs.includes("get")) operations.push(read(scope, `read ${what}`));
  if (verbs.includes("update")) {
    operations.push({
      ...common(scope, "put", "put"),
      id: idOf(scope, "replace"),
      description: `replace ${what}`,
      parameters: verbParameters(scope.model, ["UpdateOptions"]),
      requestBody: { type: bodyType, required: true, consumes: ["*/*"] },
      responses: objectResponses(scope, "200", "201"),
    });
  }
  if (verbs.includes("patch")) {
    const patch = sharedType(model, "Patch");
    operations.push({
      ...common(scope, "patch", "patch"),
      id: idOf(scope, "patch"),
      description: `partially update ${what}`,
      parameters: verbParameters(scope.model, ["PatchOptions"]),
      requestBody: { type: patch, required: true, consumes: patchTypesOf(scope) },
      responses: objectResponses(scope, "200", "201"),
    });
  }
  if (subresource !== "" && verbs.includes("create")) {
    operations.push(create(scope, `create ${subresource} of a ${parentKind}`));
  }
  if (verbs.includes("delete")) {
    operations.push({
      ...common(scope, "delete", "delete"),
      id: idOf(scope, "delete"),
      description: `delete a ${parentKind}`,
      parameters: verbParameters(scope.model, ["DeleteOptions"]),
      requestBody: deleteOptionsBody(scope),
      responses: statusResponses(scope, "200", "202"),
    });
  }
  return operations;
}

function list(scope: ResourceScope, id: string): Operation {
  const { fact, model, objectMediaTypes, custom } = scope;
  const canWatch = fact.verbs.includes("watch");
  const body: Body = {
    form: "type",
    type:
      custom === undefined
        ? typeOf(model, fact, `${fact.kind}List`)
        : { form: "custom", kind: custom, isList: true },
  };
  return {
    ...common(scope, "get", "list"),
    id,
    description: `${canWatch ? "list or watch" : "list"} objects of kind ${fact.kind}`,
    parameters: verbParameters(scope.model, ["ListOptions"]),
    produces: [...objectMediaTypes, ...(canWatch ? streamsOf(objectMediaTypes) : [])],
    responses: [responseOf("200", body), unauthorized],
  };
}

function create(scope: ResourceScope, description: string): Operation {
  return {
    ...common(scope, "post", "post"),
    id: idOf(scope, "create"),
    description,
    parameters: verbParameters(scope.model, ["CreateOptions"]),
    requestBody: { type: scope.bodyType, required: true, consumes: ["*/*"] },
    responses: objectResponses(scope, "200", "201", "202"),
  };
}

function read(scope: ResourceScope, description: string): Operation {
  const { fact, model, objectMediaTypes } = scope;
  const base = { ...common(scope, "get", "get"), id: idOf(scope, "read"), description };
  const textOptions = TEXT_SUBRESOURCES[fact.subresource];
  if (textOptions === undefined) {
    return { ...base, parameters: [], responses: objectResponses(scope, "200") };
  }
  const options = typeOf(model, fact, textOptions);
  return {
    ...base,
    parameters: optionParameters(model, [options], { isShared: false }),
    produces: ["text/plain", ...objectMediaTypes],
    responses: [responseOf("200", { form: "text" }), unauthorized],
  };
}

function connect(scope: ResourceScope, suffix: string): Operation[] {
  const { fact, names, parentKind, scopedKind } = scope;
  const { verbs, subresource } = fact;
  const methods = verbs.flatMap((verb) => CONNECT_METHODS[verb] ?? []);
  // A proxy also passes methods without a verb.
  const passed: readonly Method[] = subresource === "proxy" ? ["options", "head"] : [];
  return [...methods, ...passed].map((method) => ({
    ...common(scope, method, "connect"),
    id: `connect${names.identifier}${capitalise(method)}${scopedKind}${capitalise(subresource)}${suffix}`,
    description: `connect ${method.toUpperCase()} requests to ${subresource} of ${parentKind}`,
    parameters: [],
    produces: ["*/*"],
    responses: [responseOf("200", { form: "text" }), unauthorized],
  }));
}

function common(scope: ResourceScope, method: Method, action: string) {
  return {
    method,
    tag: scope.names.tag,
    action,
    groupVersionKind: scope.groupVersionKind,
    produces: scope.objectMediaTypes,
  };
}

function idOf({ names, scopedKind, fact }: ResourceScope, verb: string): string {
  return `${verb}${names.identifier}${scopedKind}${capitalise(fact.subresource)}`;
}

function namespaceParameters({ fact }: ResourceScope): Parameter[] {
  return fact.namespaced ? [pathParameter("namespace")] : [];
}

function objectParameters(scope: ResourceScope): Parameter[] {
  return [pathParameter("name"), ...namespaceParameters(scope)];
}

function itemParameters(scope: ResourceScope): Parameter[] {
  return [...objectParameters(scope), prettyParameter];
}

function deleteOptionsBody({ model }: ResourceScope) {
  return { type: sharedType(model, "DeleteOptions"), required: false, consumes: ["*/*"] };
}

function objectResponses({ bodyType }: ResourceScope, ...codes: string[]): OperationResponse[] {
  const body: Body = { form: "type", type: bodyType };
  return [...codes.map((code) => responseOf(code, body)), unauthorized];
}

function statusResponses({ model }: ResourceScope, ...codes: string[]): OperationResponse[] {
  const body: Body = { form: "type", type: sharedType(model, "Status") };
  return [...codes.map((code) => responseOf(code, body)), unauthorized];
}

/** A type of a group-version by name, even if it is not a kind (a subresource's options). */
function typeOf(
  model: SchemaModel,
  { group, version }: { readonly group: string; readonly version: string },
  name: string,
): StructType {
  for (const file of model.files.values()) {
    if (file.group !== group || file.version !== version) continue;
    const type = file.types.get(name);
    if (type?.form === "struct") return type;
  }
  throw new RangeError(`no type ${name} in ${group}/${version}`);
}

/** The custom kind of a resource or of a subresource's parent. */
function publishedOf(
  { resources }: ServedGroupVersion,
  fact: ResourceFact,
): PublishedKind | undefined {
  return resources.find(({ resource }) => resource === fact.resource)?.codec.published();
}

/** A custom kind does not define how lists are merged (S1-PATCH-05). */
function patchTypesOf({ custom }: ResourceScope): readonly string[] {
  if (custom === undefined) return PATCH_MEDIA_TYPES;
  return PATCH_MEDIA_TYPES.filter((mediaType) => !mediaType.includes("strategic"));
}

function responseOf(code: string, body: Body): OperationResponse {
  const descriptions: Readonly<Record<string, string>> = {
    "200": "OK",
    "201": "Created",
    "202": "Accepted",
  };
  return { code, description: descriptions[code] ?? code, body };
}

function capitalise(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
