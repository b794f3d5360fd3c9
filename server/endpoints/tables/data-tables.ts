/**
 * Columns of ConfigMaps and Secrets. These are many and large, so their cells are computed from the
 * bytes without parsing.
 */
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { TablePrinter } from "../../kinds/table-printer.js";
import {
  countMembers,
  creationTimestamp,
  memberRange,
  metadataRange,
  standsAt,
} from "../metadata-bytes.js";
import { AGE_COLUMN, age, NAME_COLUMN, textColumn } from "./cells.js";

const DATA_COLUMN = textColumn("Data", () => "").column;
const TYPE_COLUMN = textColumn("Type", () => "").column;

/**
 * The start of the maps. Quotes in strings are escaped, the maps hold only strings, and metadata has no
 * member of that name, so the first match is the map.
 */
const DATA = Buffer.from(',"data":{');
const CLOSE_BRACE = 0x7d;
const BINARY_DATA = Buffer.from(',"binaryData":{');

export const CONFIG_MAPS_TABLE: TablePrinter = {
  columns: [NAME_COLUMN, DATA_COLUMN, AGE_COLUMN],
  row(object, nowMs) {
    const [text, end] = countOf(object, DATA);
    // Binary data follows the data; most often there is none and the object ends here.
    const { memory, start } = object.place;
    const isLast = end > 0 && memory[start + end] === CLOSE_BRACE;
    const count = isLast ? text : text + countOf(object, BINARY_DATA)[0];
    return { cells: [object.name, count, ageOf(object, nowMs)] };
  },
};

export const SECRETS_TABLE: TablePrinter = {
  columns: [NAME_COLUMN, TYPE_COLUMN, DATA_COLUMN, AGE_COLUMN],
  row(object, nowMs) {
    const range = memberRange(object, "type");
    const type = range === undefined ? "" : JSON.parse(object.bytes.toString("utf8", ...range));
    return { cells: [object.name, String(type), countOf(object, DATA)[0], ageOf(object, nowMs)] };
  },
};

/** The number of members of a map and the position after it; 0 if there is no such map. */
function countOf(object: StoredObject, key: Buffer): [count: number, end: number] {
  const { memory, start, end } = object.place;
  const [, metadataEnd] = metadataRange(object);
  // In text that we wrote, data follows the metadata.
  let at = start + metadataEnd;
  if (!standsAt(memory, at, key)) {
    const from = start + object.bodyOffset;
    const found = memory.subarray(from, end).indexOf(key);
    if (found < 0) return [0, 0];
    at = from + found;
  }
  const [count, after] = countMembers(memory, at + key.length - 1);
  return [count, after - start];
}

function ageOf(object: StoredObject, nowMs: number): string {
  return age(creationTimestamp(object), nowMs);
}
