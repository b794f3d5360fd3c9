/**
 * The other encodings of discovery's first form (S1-GEN-24): YAML and Protobuf. Documents are cached,
 * so each is encoded once, on first request.
 */
import { InvariantError } from "../../../storage/base/assert.js";
import type { JsonObject } from "../../api/meta.js";
import { createProtobufCodecs, type ProtobufCodecs } from "../../codec/protobuf.js";
import { toYaml } from "../representations/yaml-encoding.js";
import type { ServedResources } from "./served.js";

export interface ObjectEncoder {
  /** "application/yaml" */
  readonly mediaType: string;
  encode(object: JsonObject): Uint8Array;
}

/** In order of preference. */
export function createObjectEncoders({
  naming,
  model,
  protobuf: codecs = createProtobufCodecs({ model }),
}: Pick<ServedResources, "naming" | "model"> & {
  readonly protobuf?: ProtobufCodecs;
}): readonly ObjectEncoder[] {
  return [
    { mediaType: "application/yaml", encode: (object) => Buffer.from(toYaml(object)) },
    {
      mediaType: naming.protobufMediaType,
      encode(object) {
        // All of them are v1, including those without an apiVersion in JSON.
        const codec = codecs.forKind("", "v1", String(object.kind));
        if (codec === undefined) throw new InvariantError(`${object.kind} is a kind of the facts`);
        return codec.encodeObject(object);
      },
    },
  ];
}
