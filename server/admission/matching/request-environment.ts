/**
 * The variables of rule expressions: `object`, `oldObject`, `request` and `authorizer`, for policies
 * also `namespaceObject`, and their binding. Types have the fields of kube-apiserver; objects are
 * dyn, because one rule may match many kinds.
 */

import { formatGroupVersion } from "../../api/names.js";
import type { Naming } from "../../api/naming.js";
import {
  type CelEnvironment,
  type CelObjectType,
  type CelType,
  createCelEnvironment,
  Late,
  type StructShapes,
} from "../../cel/environment.js";
import {
  AUTHORIZER_TYPE,
  type AuthorizerValue,
  RESOURCE_CHECK_TYPE,
} from "../../cel/functions/authorization.js";
import { parseType } from "../../cel/types.js";
import { kindVersionOf, type ServedResource } from "../../kinds/served-resource.js";
import type { AdmissionAttributes } from "../admission.js";
import type { WriteSubject } from "./write-subject.js";

const OF_WRITE: Readonly<Record<string, CelType>> = {
  object: "dyn",
  oldObject: "dyn",
  request: { object: "kubernetes.AdmissionRequest" },
};

const AUTHORIZER: Readonly<Record<string, CelType>> = {
  authorizer: { known: parseType(AUTHORIZER_TYPE) },
  "authorizer.requestResource": { known: parseType(RESOURCE_CHECK_TYPE) },
};

const NAMESPACE: Readonly<Record<string, CelType>> = {
  namespaceObject: { object: "kubernetes.Namespace" },
};

const kindFields = { group: "string", version: "string", kind: "string" } as const;
const resourceFields = { group: "string", version: "string", resource: "string" } as const;

const TYPES: readonly CelObjectType[] = [
  { name: "kubernetes.GroupVersionKind", fields: kindFields },
  { name: "kubernetes.GroupVersionResource", fields: resourceFields },
  {
    name: "kubernetes.UserInfo",
    fields: {
      username: "string",
      uid: "string",
      groups: { list: "string" },
      extra: { map: { list: "string" } },
    },
  },
  {
    name: "kubernetes.AdmissionRequest",
    fields: {
      kind: { object: "kubernetes.GroupVersionKind" },
      resource: { object: "kubernetes.GroupVersionResource" },
      subResource: "string",
      requestKind: { object: "kubernetes.GroupVersionKind" },
      requestResource: { object: "kubernetes.GroupVersionResource" },
      requestSubResource: "string",
      name: "string",
      namespace: "string",
      operation: "string",
      userInfo: { object: "kubernetes.UserInfo" },
      dryRun: "bool",
      options: "dyn",
    },
  },
  {
    name: "kubernetes.NamespaceMetadata",
    fields: {
      name: "string",
      generateName: "string",
      namespace: "string",
      labels: { map: "string" },
      annotations: { map: "string" },
      UID: "string",
      uid: "string",
      creationTimestamp: "string",
      deletionGracePeriodSeconds: "int",
      deletionTimestamp: "string",
      generation: "int",
      resourceVersion: "string",
      finalizers: { list: "string" },
    },
  },
  { name: "kubernetes.NamespaceSpec", fields: { finalizers: { list: "string" } } },
  { name: "kubernetes.NamespaceStatus", fields: { phase: "string" } },
  {
    name: "kubernetes.Namespace",
    fields: {
      metadata: { object: "kubernetes.NamespaceMetadata" },
      spec: { object: "kubernetes.NamespaceSpec" },
      status: { object: "kubernetes.NamespaceStatus" },
    },
  },
];

/** The environment of webhooks' match conditions, where `namespaceObject` is declared and always null. */
export const CONDITION_ENVIRONMENT: CelEnvironment = createCelEnvironment({
  variables: { ...OF_WRITE, ...AUTHORIZER, ...NAMESPACE },
  types: TYPES,
});

/** Declarations that a policy adds. */
export interface PolicyEnvironmentOptions {
  readonly variables: Readonly<Record<string, CelType>>;
  readonly types: readonly CelObjectType[];
  readonly makesObjects: boolean;
  readonly hasAuthorizer: boolean;
}

export function createPolicyEnvironment({
  variables,
  types,
  makesObjects,
  hasAuthorizer,
}: PolicyEnvironmentOptions): CelEnvironment {
  return createCelEnvironment({
    variables: { ...OF_WRITE, ...(hasAuthorizer && AUTHORIZER), ...NAMESPACE, ...variables },
    types: [...TYPES, ...types],
    ...(makesObjects && { structs: mutationStructs }),
  });
}

const JSON_PATCH_FIELDS = new Map(
  Object.entries({ op: "string", path: "string", from: "string", value: "dyn" }).map(
    ([name, type]) => [name, parseType(type)],
  ),
);

/** Types that mutations create: parts of the object, named by their path, and operations of a JSON patch. */
const mutationStructs: StructShapes = (name) => {
  if (name === "JSONPatch") return JSON_PATCH_FIELDS;
  return name === "Object" || name.startsWith("Object.") ? "nested" : undefined;
};

/**
 * Binds the variables that all rules share, with the objects in one version. Policies replace
 * `namespaceObject`, which is null in match conditions of webhooks.
 */
export function bindingsOf(
  subject: WriteSubject,
  resource: ServedResource,
  request: () => Readonly<Record<string, unknown>>,
  authorizer: AuthorizerValue,
): Record<string, unknown> {
  return {
    object: subject.object(resource) ?? null,
    oldObject: subject.oldObject(resource) ?? null,
    namespaceObject: null,
    request: new Late(request),
    authorizer,
    "authorizer.requestResource": new Late(() => requestResource(subject, authorizer)),
  };
}

function requestResource(
  { attributes, served, name, namespace }: WriteSubject,
  authorizer: AuthorizerValue,
) {
  const { group, resource } = served;
  return authorizer.about({
    group,
    resource,
    subresource: attributes.subresource,
    namespace,
    name,
  });
}

/**
 * The request as reviews and expressions see it, without its uid and objects.
 * @param resource the version that the rule wants
 */
export function requestOf(
  { attributes, served, name, namespace }: WriteSubject,
  resource: ServedResource,
  naming: Naming,
): Record<string, unknown> {
  const { operation, subresource, user, options } = attributes;
  return {
    kind: kindOf(resource),
    resource: resourceOf(resource),
    ...(subresource !== "" && { subResource: subresource }),
    requestKind: kindOf(served),
    requestResource: resourceOf(served),
    ...(subresource !== "" && { requestSubResource: subresource }),
    ...(name !== "" && { name }),
    ...(namespace !== "" && { namespace }),
    operation,
    userInfo: {
      username: user.name,
      ...(user.uid !== "" && { uid: user.uid }),
      groups: user.groups,
      ...(Object.keys(user.extra).length > 0 && { extra: user.extra }),
    },
    dryRun: options.isDryRun,
    options: optionsOf(attributes, naming),
  };
}

function kindOf(resource: ServedResource) {
  const { group, version } = kindVersionOf(resource);
  return { group, version, kind: resource.kind };
}

function resourceOf({ group, version, resource }: ServedResource) {
  return { group, version, resource };
}

const OPTIONS_KINDS: Readonly<Partial<Record<AdmissionAttributes["operation"], string>>> = {
  CREATE: "CreateOptions",
  UPDATE: "UpdateOptions",
  DELETE: "DeleteOptions",
};

function optionsOf({ operation, options }: AdmissionAttributes, naming: Naming) {
  const kind = OPTIONS_KINDS[operation];
  if (kind === undefined) return null;
  const { isDryRun, fieldManager, fieldValidation } = options;
  const { gracePeriodSeconds, preconditions, orphanDependents, propagationPolicy } = options;
  return {
    kind,
    apiVersion: formatGroupVersion({ group: `meta.${naming.groupDomain}`, version: "v1" }),
    ...(isDryRun && { dryRun: ["All"] }),
    ...(fieldManager && { fieldManager }),
    ...(fieldValidation && { fieldValidation }),
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    ...(preconditions !== undefined && { preconditions: defined(preconditions) }),
    ...(orphanDependents !== undefined && { orphanDependents }),
    ...(propagationPolicy !== undefined && { propagationPolicy }),
  };
}

function defined(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
