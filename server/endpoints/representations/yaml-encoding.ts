/**
 * YAML, converted from the JSON forms piece by piece (S1-NEG-02). YAML 1.1 and 1.2 readers understand it
 * alike: text that either takes for another type is quoted. Keys are sorted, as in kube-apiserver.
 */
import type { Steps } from "../../../storage/base/steps.js";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import { parseInSteps, parseJson } from "../../schema/parse-json.js";
import type { ChunkWriter } from "../chunk-writer.js";
import type { Representation } from "../representation.js";
import { inCompactJson } from "./json-encoding.js";
import { type JsonForm, LIST_FOOT } from "./json-form.js";
import { PieceReader } from "./piece-reader.js";
import { stepwise } from "./stepwise.js";
import { yamlPieces } from "./yaml-text.js";

/** YAML text of one value, with a newline at the end. */
export function toYaml(value: JsonValue): string {
  let text = "";
  for (const piece of yamlPieces(value)) text += piece;
  return text;
}

export function inYaml(form: JsonForm, contentType: string): Representation {
  const compact = inCompactJson(form, contentType);
  const pieces = new PieceReader();
  return {
    ...compact,
    id: `${form.id}/yaml`,
    isStoredForm: false,
    isPlainJson: false,
    costlyEncoding: "yaml",
    putObject: (out, object) =>
      out.putText(toYaml(pieces.value((to) => form.put(to, object, true)))),
    putListHead(out, metadata) {
      // The items come last, so that they can follow one by one.
      const { items, rows, ...head } = parseJson(form.listHead(metadata) + LIST_FOOT) as JsonObject;
      out.putText(`${toYaml(head)}${rows === undefined ? "items" : "rows"}:\n`);
    },
    putItem(out, object) {
      out.putText(toYaml([pieces.value((to) => form.putItem(to, object))]));
    },
    putListFoot(out, isEmpty) {
      if (isEmpty) out.putText("  []\n");
    },
    encodeDocument: (json) => Buffer.from(toYaml(parseJson(json))),
    documentType: contentType,
    inSteps: stepwise(form, putInSteps),
  };
}

function* putInSteps(out: ChunkWriter, json: Buffer, isFirst?: boolean): Steps<void> {
  const value = yield* parseInSteps(json.toString("utf8"));
  for (const piece of yamlPieces(isFirst === undefined ? value : [value])) {
    out.putText(piece);
    yield;
  }
}
