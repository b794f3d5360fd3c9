/**
 * Strategy of a custom resource: the definition's settings beside the schema, and the schema's
 * rules, checked on the object to be stored together with the one it replaces.
 */
import type {
  FieldExtractor,
  FieldValues,
  StoredObject,
} from "../../storage/objects/stored-object.js";
import { isJsonObject } from "../api/json-object.js";
import type { ApiObject, JsonObject, JsonValue } from "../api/meta.js";
import type { FieldError } from "../api/status.js";
import { STANDARD_FINALIZERS } from "../api/validation-metadata.js";
import { NotConverted } from "../kinds/conversion.js";
import type { ResourceStrategy, StrategyContext } from "../kinds/strategy.js";
import { statusOnly } from "../registry/generic/status-parts.js";
import { parseJson } from "../schema/parse-json.js";
import type { Subresources } from "../structural/definition/check-version.js";
import { valueAt } from "../structural/field-path.js";
import type { CustomCodec } from "./custom-codec.js";
import { checkReplicas, checkSelector, scaleSteps } from "./scale-paths.js";

export interface CustomStrategyOptions {
  /** The codec of the served version, whose rules apply. */
  readonly codec: CustomCodec;
  /** Converts from the stored version to the codec's, if their shapes differ. @throws {NotConverted} */
  readonly toServed: ((stored: ApiObject) => ApiObject) | undefined;
  /** Whether the definition is terminating. */
  readonly isTerminating: boolean;
  readonly subresources: Subresources;
  /** An object of the view in the codec's version, if it is served otherwise than stored. @throws {NotConverted} */
  readonly ofView: ((object: StoredObject) => StoredObject) | undefined;
  /** In the definition's spelling: ".spec.color". */
  readonly selectableFields: readonly string[];
}

const TERMINATING = "create not allowed while custom resource definition is terminating";

interface CustomStrategy extends ResourceStrategy {
  validateUpdate(next: ApiObject, current: ApiObject, context: StrategyContext): FieldError[];
}

export function customStrategy(options: CustomStrategyOptions): CustomStrategy {
  const { codec, subresources } = options;
  const hasStatus = Boolean(subresources.status);
  const { toServed = (object: ApiObject) => object } = options;
  const judge = (next: ApiObject, context: StrategyContext, current?: ApiObject): FieldError[] => {
    const served = toServed(next);
    const errors = codec.judge(served, current && toServed(current), context);
    // Behind those of the schema, also where these are found later.
    const { long, subresource } = context;
    if (long?.isOfLarge !== true) errors.push(...checkScale(served, subresources, subresource));
    else if (subresources.scale) {
      long.leave(function* (found) {
        yield;
        found.push(...checkScale(served, subresources, subresource));
      });
    }
    return errors;
  };
  return {
    allowUnconditionalUpdate: false,
    ...(options.isTerminating ? { refusesCreate: TERMINATING } : {}),
    // Everything except the status, if that is a subresource.
    generationFields: { allBut: hasStatus ? ["status"] : [] },
    hasStatusDefaults: hasStatus,
    finalizers: "any",
    warnings: finalizerWarnings,
    ...selectable(options.selectableFields, options.ofView),
    prepareForCreate(next) {
      if (hasStatus) delete next.status;
    },
    ...(hasStatus ? statusOnly : {}),
    validate: (next, context) => judge(next, context),
    validateUpdate: (next, current, context) => judge(next, context, current),
  };
}

/** Warns of new finalizers without a domain. */
function finalizerWarnings(next: ApiObject, current: ApiObject | undefined): string[] {
  const { finalizers = [] } = next.metadata;
  const known = new Set(current?.metadata.finalizers);
  return finalizers
    .filter((name) => !known.has(name) && !name.includes("/") && !STANDARD_FINALIZERS.has(name))
    .toSorted()
    .map((name) => {
      const path = name.includes(".") ? " including a path (/)" : "";
      return `metadata.finalizers: ${JSON.stringify(name)}: prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`;
    });
}

/** What scale shows of an object must be of its types. */
function checkScale(next: ApiObject, { scale }: Subresources, subresource: string): FieldError[] {
  if (!scale) return [];
  const object = next as unknown as JsonValue;
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = scale;
  return [
    ...(subresource === "status" ? [] : checkReplicas(object, specReplicasPath ?? "")),
    ...checkReplicas(object, statusReplicasPath ?? ""),
    ...(labelSelectorPath ? checkSelector(object, labelSelectorPath) : []),
  ];
}

/** Selectors name fields without the leading dot. */
function selectable(
  paths: readonly string[],
  ofView: CustomStrategyOptions["ofView"],
): Pick<ResourceStrategy, "selectableFields" | "selectableFieldNames" | "servedFields"> {
  if (paths.length === 0) return { selectableFieldNames: [] };
  const fields = paths.map((path) => ({ name: path.replace(/^\./, ""), steps: scaleSteps(path) }));
  const selectableFields = (object: Readonly<Record<string, unknown>>) => {
    const values: Record<string, string> = {};
    for (const { name, steps } of fields) {
      const value = valueAt(object as JsonValue, steps);
      values[name] = typeof value === "object" || value === undefined ? "" : String(value);
    }
    return values;
  };
  return {
    selectableFields: Object.assign(selectableFields, { parse: parseJson }),
    selectableFieldNames: fields.map(({ name }) => name),
    ...(ofView && { servedFields: servedFieldsBy(ofView, selectableFields) }),
  };
}

/** Without members when it cannot be read: whoever shows it says why. @throws {NotConverted} */
function readBy(ofView: (object: StoredObject) => StoredObject, object: StoredObject): JsonObject {
  if (object.corruption !== undefined) return {};
  try {
    const served = parseJson(ofView(object).bytes);
    return isJsonObject(served) ? served : {};
  } catch (error) {
    if (error instanceof NotConverted) throw error;
    return {};
  }
}

/** They are read once for each version of an object. */
function servedFieldsBy(
  ofView: (object: StoredObject) => StoredObject,
  extract: FieldExtractor,
): (object: StoredObject) => FieldValues {
  const known = new WeakMap<StoredObject, FieldValues>();
  return (object) => {
    let values = known.get(object);
    if (values === undefined) {
      values = extract(readBy(ofView, object));
      known.set(object, values);
    }
    return values;
  };
}
