/**
 * The encodings of discovery's first form beside JSON (S1-GEN-24): YAML and Protobuf. Documents are
 * kept, so each is encoded once, when the first client asks for it.
 */
import { InvariantError } from "../../../storage/base/assert.js";
import type { JsonObject } from "../../api/meta.js";
import { createProtobufCodecs } from "../../codec/protobuf.js";
import { toYaml } from "../representations/yaml-encoding.js";
import type { ServedResources } from "./served.js";

export interface ObjectEncoder {
  /** "application/yaml" */
  readonly mediaType: string;
  encode(object: JsonObject): Uint8Array;
}

/** In the order in which they are offered. */
export function createObjectEncoders({
  naming,
  model,
}: Pick<ServedResources, "naming" | "model">): readonly ObjectEncoder[] {
  const codecs = createProtobufCodecs({ model });
  return [
    { mediaType: "application/yaml", encode: (object) => Buffer.from(toYaml(object)) },
    {
      mediaType: naming.protobufMediaType,
      encode(object) {
        // All are of v1, also those that do not say so in JSON.
        const codec = codecs.forKind("", "v1", String(object.kind));
        if (codec === undefined) throw new InvariantError(`${object.kind} is a kind of the facts`);
        return codec.encodeObject(object);
      },
    },
  ];
}
