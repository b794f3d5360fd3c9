/**
 * scale of a custom resource: replicas and selector at the definition's paths, in the shape of
 * autoscaling/v1. A write changes the replicas in the spec and nothing else.
 */
import { invalidValue } from "../api/field-errors.js";
import { isJsonObject } from "../api/json-object.js";
import type { ApiObject, JsonObject, JsonValue, ObjectMeta } from "../api/meta.js";
import { invalid } from "../api/status.js";
import { type Conversion, SAME_SHAPE } from "../kinds/conversion.js";
import type { SubresourceDefinition, SubresourcePart } from "../kinds/served-resource.js";
import type { ScaleDefinition } from "../structural/definition/check-version.js";
import { valueAt } from "../structural/field-path.js";

interface ScaleObject extends ApiObject {
  spec?: { readonly replicas?: number };
}

/** The steps of ".spec.replicas". */
export function scaleSteps(path: string | null | undefined): readonly string[] {
  return (path ?? "").split(".").filter((step) => step !== "");
}

/** Undefined when there is no number. */
export function replicasAt(object: ApiObject, steps: readonly string[]): number | undefined {
  const value = valueAt(object as unknown as JsonValue, steps);
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : undefined;
}

/** What scale shares with the object that it is a part of. */
export interface ScaledObject {
  /** The strategy's: schema and rules judge the whole object, whichever part is written. */
  readonly validate: NonNullable<SubresourcePart["validate"]>;
  /** Of the object, as the paths are those of the served version. */
  readonly conversion: Conversion | undefined;
}

export function customScale(
  definition: ScaleDefinition,
  { validate, conversion = SAME_SHAPE }: ScaledObject,
): Required<Pick<SubresourceDefinition, "conversion" | "part">> {
  const wanted = scaleSteps(definition.specReplicasPath);
  const actual = scaleSteps(definition.statusReplicasPath);
  const selector = scaleSteps(definition.labelSelectorPath);
  const { renew, remote } = conversion;
  return {
    conversion: {
      // A Scale alone does not make an object; `merge` combines it with the stored one.
      toStored: (sent) => sent,
      fromStored(stored) {
        const object = conversion.fromStored(stored);
        return {
          kind: "Scale",
          apiVersion: "autoscaling/v1",
          metadata: identityOf(stored.metadata),
          spec: { replicas: replicasAt(object, wanted) ?? 0 },
          status: { replicas: replicasAt(object, actual) ?? 0, ...selectorOf(object, selector) },
        };
      },
      ...(renew && { renew }),
      ...(remote && { remote }),
    },
    part: {
      isOwnShape: true,
      merge(sent: ScaleObject, stored: ApiObject) {
        const replicas = sent.spec?.replicas ?? 0;
        if (replicas < 0) {
          const scaleKind = { group: "autoscaling", kind: "Scale" };
          const why = "should be a non-negative integer";
          throw invalid(scaleKind, stored.metadata.name ?? "", [
            invalidValue("spec.replicas", replicas, why),
          ]);
        }
        const object = conversion.fromStored(stored) as unknown as JsonObject;
        const changed = withValue(object, wanted, replicas) as unknown as ApiObject;
        return { ...conversion.toStored(changed), metadata: { ...stored.metadata } };
      },
      validate,
    },
  };
}

function selectorOf(stored: ApiObject, steps: readonly string[]): { readonly selector?: string } {
  if (steps.length === 0) return {};
  const selector = valueAt(stored as unknown as JsonValue, steps);
  return typeof selector === "string" ? { selector } : {};
}

/** A copy with the value at the path; missing objects on the way are created. */
function withValue(object: JsonObject, steps: readonly string[], value: JsonValue): JsonObject {
  const [step = "", ...rest] = steps;
  if (rest.length === 0) return { ...object, [step]: value };
  const child = object[step];
  const inner = child !== undefined && isJsonObject(child) ? child : {};
  return { ...object, [step]: withValue(inner, rest, value) };
}

/** The metadata that identifies the object; labels and owners stay the object's. */
function identityOf(metadata: ObjectMeta): ObjectMeta {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  return {
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
  };
}
