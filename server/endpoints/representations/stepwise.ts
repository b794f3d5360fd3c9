/** An encoding in steps, made of one function that puts any JSON, a step at a time. */
import type { Steps } from "../../../storage/base/steps.js";
import { ChunkWriter } from "../chunk-writer.js";
import type { StepwiseEncoding } from "../representation.js";
import type { JsonForm } from "./json-form.js";

/** @param isFirst of a list's item; absent = a body of its own */
type PutJson = (out: ChunkWriter, json: Buffer, isFirst?: boolean) => Steps<void>;

export function stepwise(form: JsonForm, putJson: PutJson): StepwiseEncoding {
  return {
    *putObject(out, object) {
      yield* putJson(
        out,
        ownBytes((to) => form.put(to, object, true)),
      );
    },
    *putItem(out, object, isFirst) {
      yield* putJson(
        out,
        ownBytes((to) => form.putItem(to, object)),
        isFirst,
      );
    },
    *encodeDocument(json) {
      const out = new ChunkWriter();
      yield* putJson(out, json);
      return out.take();
    },
  };
}

/** In memory of its own, as others write between the steps. */
function ownBytes(put: (out: ChunkWriter) => void): Buffer {
  const out = new ChunkWriter();
  put(out);
  return out.take();
}
