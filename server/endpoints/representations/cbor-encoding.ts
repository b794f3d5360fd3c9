/**
 * CBOR, converted from the JSON forms piece by piece (S1-NEG-05..07). A list is a map and an array of
 * indefinite length, so that items can follow one by one; a watch is a sequence of data items.
 */
import type { Steps } from "../../../storage/base/steps.js";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import {
  cborPieces,
  encodeCbor,
  encodeCborItem,
  encodeCborKey,
  SELF_DESCRIBED,
} from "../../codec/cbor.js";
import { parseInSteps, parseJson } from "../../schema/parse-json.js";
import type { ChunkWriter } from "../chunk-writer.js";
import type { Representation } from "../representation.js";
import { inCompactJson } from "./json-encoding.js";
import { type JsonForm, LIST_FOOT } from "./json-form.js";
import { PieceReader } from "./piece-reader.js";
import { stepwise } from "./stepwise.js";

/** RFC 8949 section 3.2: the start and end of containers of indefinite length. */
const MAP_START = 0xbf;
const ARRAY_START = 0x9f;
const BREAK = 0xff;

const SEQUENCE_TYPE = "application/cbor-seq";

export function inCbor(form: JsonForm, contentType: string): Representation {
  const { eventParts: _, ...compact } = inCompactJson(form, contentType);
  const pieces = new PieceReader();
  const putDocument = (out: ChunkWriter, put: (to: ChunkWriter) => void) =>
    putAll(out, encodeCbor(pieces.value(put)));
  return {
    ...compact,
    id: `${form.id}/cbor`,
    watchContentType: SEQUENCE_TYPE,
    isStoredForm: false,
    isPlainJson: false,
    costlyEncoding: "cbor",
    putObject: (out, object) => putDocument(out, (to) => form.put(to, object, true)),
    putListHead(out, metadata) {
      const { items, rows, ...head } = parseJson(form.listHead(metadata) + LIST_FOOT) as JsonObject;
      putAll(out, SELF_DESCRIBED);
      out.putByte(MAP_START);
      for (const [key, value] of Object.entries(head)) {
        putAll(out, encodeCborKey(key));
        putAll(out, encodeCborItem(value as JsonValue));
      }
      putAll(out, encodeCborKey(rows === undefined ? "items" : "rows"));
      out.putByte(ARRAY_START);
    },
    putItem(out, object) {
      putAll(out, encodeCborItem(pieces.value((to) => form.putItem(to, object))));
    },
    putListFoot(out) {
      out.putByte(BREAK);
      out.putByte(BREAK);
    },
    putEvent: (out, type, object, isFirst) =>
      putDocument(out, (to) => compact.putEvent(to, type, object, isFirst)),
    putBookmark: (out, metadata) => putDocument(out, (to) => compact.putBookmark(to, metadata)),
    putError: (out, status) => putDocument(out, (to) => compact.putError(to, status)),
    encodeDocument: (json) => encodeCbor(parseJson(json)),
    documentType: contentType,
    inSteps: stepwise(form, putInSteps),
  };
}

function* putInSteps(out: ChunkWriter, json: Buffer, isFirst?: boolean): Steps<void> {
  if (isFirst === undefined) putAll(out, SELF_DESCRIBED);
  for (const piece of cborPieces(yield* parseInSteps(json.toString("utf8")))) {
    putAll(out, piece);
    yield;
  }
}

function putAll(out: ChunkWriter, bytes: Buffer): void {
  out.putBytes(bytes, 0, bytes.length);
}
