/**
 * What is known of the stored objects of a resource, for who decodes them: their selectable fields, and how one
 * is tidied that this server would not have stored so: by an older or another server, or by hand.
 *
 *   {"kind":"ConfigMap",...,"data":{"a":"b"}}            taken as it is: the walk finds nothing
 *   {"kind":"ConfigMap",...,"data":{"a":"b"},"x":1}      without x
 *   {"kind":"ConfigMap",...,"data":"a"}                  unreadable, for itself
 *
 * So whoever follows objects of a built-in kind finds the types of the kind in them, whatever is stored.
 */
import type { ObjectKnowledge, ObjectTidier } from "../../storage/objects/decode-object.js";
import { parseJson } from "../schema/parse-json.js";
import type { KindCodec } from "./kind-codec.js";
import type { MainResource } from "./served-resource.js";

export function knowledgeOf({
  strategy: { selectableFields },
  storedCodec,
  isCustom,
}: Pick<MainResource, "strategy" | "storedCodec" | "isCustom">): ObjectKnowledge {
  return {
    ...(selectableFields === undefined ? {} : { extractFields: selectableFields }),
    ...(isCustom ? {} : { tidy: tidierOf(storedCodec) }),
  };
}

function tidierOf(codec: KindCodec): ObjectTidier {
  return (object, value) => {
    if (codec.fits?.(object) !== false) return undefined;
    let decoded: ReturnType<KindCodec["decode"]>;
    try {
      decoded = codec.decode(parseJson(value));
    } catch {
      // The error may quote the content.
      throw new Error("the stored object is not of its kind");
    }
    return codec.encode(decoded.object);
  };
}
