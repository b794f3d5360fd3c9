/**
 * For tests: a kind without a schema, as a second implementation of KindCodec. It keeps every object as
 * it is, including nulls and the order of members. Its default is a mark in the spec, so that a test
 * sees which definition handled an object.
 */
import type { ApiObject, JsonObject, JsonValue } from "../../api/meta.js";
import { formatGroupVersion, type GroupVersionKind } from "../../api/names.js";
import { badRequest } from "../../api/status.js";
import { createMergeSchemas } from "../../apply/merge-schema-facts.js";
import { stringifyJson } from "../../schema/json-text.js";
import type { Facts, ResourceFact } from "../../schema/model.js";
import type { KindCodec } from "../kind-codec.js";
import { createMainResource, type MainResource } from "../served-resource.js";

export interface PlainKind extends GroupVersionKind {
  readonly plural: string;
  /** The default of `spec.mark`. */
  readonly mark: string;
  /** A selectable field: "spec.colour". */
  readonly selectableField?: string;
}

const VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/** The main resource and its status, in the stored version. */
export function createPlainResource(facts: Facts, definition: PlainKind): MainResource {
  const { group, version, plural, kind, selectableField } = definition;
  const fact: ResourceFact = {
    group,
    version,
    resource: plural,
    subresource: "",
    singular: kind.toLowerCase(),
    kind,
    namespaced: true,
    verbs: VERBS,
    shortNames: [],
    categories: [],
    onByDefault: true,
    stored: { group, version },
    storageVersionHash: "",
  };
  const codec = createPlainCodec(facts, definition);
  return createMainResource({
    fact,
    codec,
    storedCodec: codec,
    stored: { group, version },
    strategy: {
      generationFields: ["spec"],
      ...(selectableField !== undefined && {
        selectableFieldNames: [selectableField],
        selectableFields: (object) => ({ [selectableField]: textAt(object, selectableField) }),
      }),
    },
    isCustom: true,
    subresources: [{ fact: { ...fact, subresource: "status", verbs: ["get", "patch", "update"] } }],
  });
}

function createPlainCodec(facts: Facts, definition: PlainKind): KindCodec {
  const { group, version, kind, mark } = definition;
  const apiVersion = formatGroupVersion({ group, version });
  return {
    decode(input) {
      if (!isMembers(input)) throw badRequest(`${kind} is an object`);
      const metadata = isMembers(input.metadata) ? input.metadata : {};
      const object = { ...structuredClone(input), kind, apiVersion, metadata: { ...metadata } };
      return { object: object as unknown as ApiObject, unknownFields: [] };
    },
    applyDefaults(object) {
      object.spec = { mark, ...(object.spec as JsonObject | undefined) };
    },
    validate: () => [],
    encode({ kind: _kind, apiVersion: _apiVersion, metadata, ...rest }) {
      return stringifyJson({ kind, apiVersion, metadata, ...rest } as unknown as JsonValue);
    },
    mergeSchema: () => createMergeSchemas(facts.model).schemaless(),
    strategicMerge: () => undefined,
    declarativeRules: () => undefined,
    published: () => ({
      ...{ group, version, kind },
      name: [...group.split(".").reverse(), version, kind].join("."),
      selectableFields: [],
      schema: () => ({ type: "object", "x-kubernetes-preserve-unknown-fields": true }),
    }),
  };
}

function textAt(object: Readonly<Record<string, unknown>>, path: string): string {
  let value: unknown = object;
  for (const name of path.split(".")) value = (value as Record<string, unknown> | null)?.[name];
  return value === undefined ? "" : String(value);
}

function isMembers(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
