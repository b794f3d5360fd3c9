/**
 * A definition as kube-apiserver stores it (apiextensions.k8s.io/v1beta1), in the shape of v1. What all versions have
 * alike stands beside them there, the webhook's settings beside the strategy, and a column's path has another name.
 * Pure; what is of no such shape is left to the codec of v1, which refuses it.
 */
import { isJsonObject } from "../../api/json-object.js";
import type { JsonObject, JsonValue } from "../../api/meta.js";

export function fromV1beta1({ spec, ...object }: JsonObject): JsonObject {
  return spec !== undefined && isJsonObject(spec)
    ? { ...object, spec: specOf(spec) }
    : { ...object };
}

function specOf(sent: JsonObject): JsonObject {
  const { version, validation, subresources, additionalPrinterColumns, selectableFields } = sent;
  const { group, names, scope, conversion, preserveUnknownFields } = sent;
  const shared = present({
    schema: validation,
    subresources,
    additionalPrinterColumns,
    selectableFields,
  });
  const listed = Array.isArray(sent.versions) ? sent.versions : [];
  const isNamed = listed.length === 0 && typeof version === "string" && version !== "";
  const versions = isNamed ? [{ name: version, served: true, storage: true }] : listed;
  return present({
    group,
    names,
    scope,
    versions: versions.map((one) => (isJsonObject(one) ? withPaths({ ...one, ...shared }) : one)),
    conversion: isJsonObject(conversion ?? null)
      ? conversionOf(conversion as JsonObject)
      : conversion,
    // The older version keeps them unless it says otherwise.
    preserveUnknownFields: preserveUnknownFields ?? true,
  });
}

function withPaths(version: JsonObject): JsonObject {
  const { additionalPrinterColumns: columns } = version;
  if (!Array.isArray(columns)) return version;
  return { ...version, additionalPrinterColumns: columns.map(columnOf) };
}

function columnOf(column: JsonValue): JsonValue {
  if (!isJsonObject(column)) return column;
  const { JSONPath, ...rest } = column;
  return JSONPath === undefined ? rest : { ...rest, jsonPath: JSONPath };
}

function conversionOf({ strategy, ...sent }: JsonObject): JsonObject {
  const { webhookClientConfig: clientConfig, conversionReviewVersions } = sent;
  const webhook = present({ clientConfig, conversionReviewVersions });
  return present({ strategy, webhook: Object.keys(webhook).length > 0 ? webhook : undefined });
}

/** Without members that are null or not there. */
function present(object: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(object).filter(
      (entry): entry is [string, JsonValue] => (entry[1] ?? null) !== null,
    ),
  );
}
