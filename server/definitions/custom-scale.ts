/**
 * scale of a custom resource: replicas and selector at the definition's paths, in the shape of
 * autoscaling/v1. A write changes the replicas in the spec and nothing else. The scale of an object without
 * replicas cannot be read, as none would say that it is scaled to zero.
 */
import type { StoredObject } from "../../storage/objects/stored-object.js";
import { withValueAt } from "../api/json-object.js";
import type { ApiObject, JsonObject, JsonValue, ObjectMeta } from "../api/meta.js";
import { badRequest, internalError } from "../api/status.js";
import { type Conversion, SAME_SHAPE } from "../kinds/conversion.js";
import type { KindCodec } from "../kinds/kind-codec.js";
import type { SubresourceDefinition, SubresourcePart } from "../kinds/served-resource.js";
import { parseJson } from "../schema/parse-json.js";
import type { ScaleDefinition } from "../structural/definition/check-version.js";
import { replicasAt, scaleSteps, selectorAt } from "./scale-paths.js";
import { reencoded, remembered } from "./stored-under-older-schemas.js";

interface ScaleObject extends ApiObject {
  spec?: { readonly replicas?: number };
}

/** What scale shares with the object that it is a part of. */
export interface ScaledObject {
  /** The strategy's: schema and rules judge the whole object, whichever part is written. */
  readonly validate: NonNullable<SubresourcePart["validate"]>;
  /** Of the object, as the paths are those of the served version. */
  readonly conversion: Conversion | undefined;
}

/** Stands for the replicas of an object that has none, until a write has set them. */
const UNSET = -(2 ** 31);

export function customScale(
  definition: ScaleDefinition,
  codec: KindCodec,
  { validate, conversion: main = SAME_SHAPE }: ScaledObject,
): Required<Pick<SubresourceDefinition, "conversion" | "part">> {
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = definition;
  const path = JSON.stringify(specReplicasPath ?? "");
  const wanted = scaleSteps(specReplicasPath);
  const { renew, remote, ofView = (object: StoredObject) => object } = main;
  const known = new WeakMap<StoredObject, StoredObject>();
  const scaleOf = (served: ApiObject) => {
    const object = served as unknown as JsonValue;
    const replicas = replicasAt(object, specReplicasPath ?? "") ?? UNSET;
    const running = replicasAt(object, statusReplicasPath ?? "") ?? 0;
    const selector = selectorAt(object, labelSelectorPath ?? "");
    return {
      kind: "Scale",
      apiVersion: "autoscaling/v1",
      metadata: identityOf(served.metadata),
      spec: { replicas },
      status: { replicas: running, ...(selector !== undefined && { selector }) },
    };
  };
  return {
    conversion: {
      // A Scale alone does not make an object; `merge` combines it with the stored one.
      toStored: (sent) => sent,
      fromStored: (stored) => scaleOf(main.fromStored(stored)),
      ofView: (object) =>
        remembered(known, object, () => {
          const scale = scaleOf(parseJson(ofView(object).bytes) as unknown as ApiObject);
          if (scale.spec.replicas !== UNSET) return reencoded(object, codec.encode(scale));
          throw internalError(`the spec replicas field ${path} does not exist`);
        }),
      ...(renew && { renew }),
      ...(remote && { remote }),
    },
    part: {
      isOwnShape: true,
      replicas: wanted,
      merge(sent: ScaleObject, stored: ApiObject) {
        const replicas = sent.spec?.replicas ?? 0;
        if (replicas === UNSET) throw badRequest(`the spec replicas field ${path} cannot be empty`);
        const served = main.fromStored({ ...stored }) as unknown as JsonObject;
        const changed = withValueAt(served, wanted, replicas);
        return {
          ...main.toStored(changed as unknown as ApiObject),
          metadata: { ...stored.metadata },
        };
      },
      validate,
    },
  };
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
