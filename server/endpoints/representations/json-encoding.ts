/** JSON, compact as stored and indented for people (S1-QP-14). */
import type { Steps } from "../../../storage/base/steps.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { JSON_TYPE } from "../../codec/media-types.js";
import type { ChunkWriter } from "../chunk-writer.js";
import type { Representation } from "../representation.js";
import { indentedPieces, indentJson } from "./indent-json.js";
import { type JsonForm, LIST_FOOT } from "./json-form.js";
import { PieceReader } from "./piece-reader.js";
import { stepwise } from "./stepwise.js";

const NEWLINE = 0x0a;
const COMMA = 0x2c;
const CLOSE_BRACE = 0x7d;

const eventHead = (type: string) => Buffer.from(`{"type":"${type}","object":`);
/** As bytes, because a streaming list writes one before every object. */
const EVENT_HEADS: ReadonlyMap<string, Buffer> = new Map(
  ["ADDED", "MODIFIED", "DELETED"].map((type) => [type, eventHead(type)]),
);

const EVENT_FOOT = Buffer.from("}\n");

/** The nesting level of list items. */
const ITEM_DEPTH = 2;

/** Compact, with a newline at the end. */
export function inCompactJson(form: JsonForm, contentType: string): Representation {
  return {
    id: form.id,
    contentType,
    watchContentType: contentType,
    isStoredForm: form.isStoredForm,
    isWholeObject: form.isWholeObject,
    isPlainJson: form.isWholeObject,
    isTimed: form.isTimed,
    putObject(out, object) {
      form.put(out, object, true);
      out.putByte(NEWLINE);
    },
    putListHead: (out, metadata) => out.putText(form.listHead(metadata)),
    putItem(out, object, isFirst) {
      if (!isFirst) out.putByte(COMMA);
      form.putItem(out, object);
    },
    putListFoot: (out) => out.putText(`${LIST_FOOT}\n`),
    putEvent(out, type, object, isFirst) {
      const head = EVENT_HEADS.get(type) ?? eventHead(type);
      out.putBytes(head, 0, head.length);
      form.put(out, object, isFirst);
      out.putByte(CLOSE_BRACE);
      out.putByte(NEWLINE);
    },
    ...(form.isWholeObject &&
      form.isStoredForm && {
        eventParts(type: string, { bytes }: StoredObject) {
          const head = EVENT_HEADS.get(type) ?? eventHead(type);
          return [head, bytes.subarray(0, bytes.length - 1), EVENT_FOOT];
        },
      }),
    putBookmark: (out, metadata) =>
      out.putText(`{"type":"BOOKMARK","object":${form.bookmark(metadata)}}\n`),
    putError: (out, status) =>
      out.putText(`${JSON.stringify({ type: "ERROR", object: status })}\n`),
    encodeDocument: (json) => json,
    documentType: JSON_TYPE,
  };
}

/** Indented by two spaces, without a newline at the end. Watch events stay on one line each. */
export function inIndentedJson(form: JsonForm, contentType: string): Representation {
  const compact = inCompactJson(form, contentType);
  const pieces = new PieceReader();
  const put = (object: StoredObject) => pieces.text((out) => form.put(out, object, true));
  return {
    ...compact,
    id: `${form.id}/indented`,
    isStoredForm: false,
    isPlainJson: false,
    costlyEncoding: "pretty",
    putObject: (out, object) => out.putText(indentJson(put(object))),
    putListHead(out, metadata) {
      const whole = indentJson(form.listHead(metadata) + LIST_FOOT);
      out.putText(whole.slice(0, whole.lastIndexOf("[") + 1));
    },
    putItem(out, object, isFirst) {
      const text = pieces.text((to) => form.putItem(to, object));
      out.putText(`${isFirst ? "" : ","}\n    ${indentJson(text, ITEM_DEPTH)}`);
    },
    putListFoot: (out, isEmpty) => out.putText(isEmpty ? "]\n}" : "\n  ]\n}"),
    putEvent: (out, type, object, isFirst) => compact.putEvent(out, type, object, isFirst),
    encodeDocument: (json) => Buffer.from(indentJson(json.toString("utf8"))),
    inSteps: stepwise(form, indentInSteps),
  };
}

function* indentInSteps(out: ChunkWriter, json: Buffer, isFirst?: boolean): Steps<void> {
  const isItem = isFirst !== undefined;
  if (isItem) out.putText(`${isFirst ? "" : ","}\n    `);
  for (const piece of indentedPieces(json.toString("utf8"), isItem ? ITEM_DEPTH : 0)) {
    out.putText(piece);
    yield;
  }
}
