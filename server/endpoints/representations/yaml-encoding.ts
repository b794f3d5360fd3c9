/**
 * YAML, converted from the JSON forms piece by piece (S1-NEG-02). YAML 1.1 and 1.2 readers understand it
 * alike: text that either takes for another type is quoted. Keys are sorted, as in kube-apiserver.
 */
import { Document, Scalar, type Tags, visit } from "yaml";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import { parseJson } from "../../schema/parse-json.js";
import type { Representation } from "../representation.js";
import { inCompactJson } from "./json-encoding.js";
import { type JsonForm, LIST_FOOT } from "./json-form.js";
import { PieceReader } from "./piece-reader.js";

/** In JSON "<<" is an ordinary key. */
function withoutMerge(tags: Tags): Tags {
  return tags.filter((tag) => tag !== "merge" && (typeof tag === "string" || !isMerge(tag.tag)));
}

function isMerge(tag: string): boolean {
  return tag === "tag:yaml.org,2002:merge";
}

/** YAML text of one value, with a newline at the end. */
export function toYaml(value: JsonValue): string {
  const document = new Document(value, {
    version: "1.1",
    customTags: withoutMerge,
    aliasDuplicateObjects: false,
    sortMapEntries: true,
  });
  visit(document, {
    Scalar(_, scalar) {
      // Unquoted, the key would make readers merge the value into the map.
      if (scalar.value === "<<") scalar.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return document.toString({ lineWidth: 0, directives: false, indentSeq: false });
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
  };
}
