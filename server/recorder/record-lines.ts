/**
 * The lines of the recorder's files: "CRC JSON", each a record that stands for itself. Of a client, and of a watch or
 * list, a line stands in each file in front of the first record that names it, so that files can go one by one. Pure.
 */
import { crc32 } from "../../storage/base/crc32.js";
import type { KeptRead, KeptWrite } from "./kept.js";
import type { RecordedClient } from "./record-types.js";

/** Another one is not read. */
export const FORM = 1;

export type RecordLine =
  /** The first one of a file. `store` is the uid of the system namespace: what revisions are of. */
  | {
      readonly of: "file";
      readonly form: number;
      readonly replica: string;
      readonly store: string;
    }
  | { readonly of: "client"; readonly client: RecordedClient }
  | { readonly of: "write"; readonly client: string; readonly write: Omit<KeptWrite, "client"> }
  /** The last line of a read counts. */
  | { readonly of: "read"; readonly client: string; readonly read: Omit<KeptRead, "client"> }
  /** Base64 of numbers in the form of DeliveryRing. */
  | { readonly of: "deliveries"; readonly numbers: string };

/** Hexadecimal digits; a blank follows. */
const CRC_CHARS = 8;

export function toLine(record: RecordLine): string {
  const json = JSON.stringify(record);
  return `${crcOf(json)} ${json}\n`;
}

export function writeLine({ client, ...write }: KeptWrite): string {
  return toLine({ of: "write", client: client.id, write });
}

export function readLine({ client, ...read }: KeptRead): string {
  return toLine({ of: "read", client: client.id, read });
}

export function deliveriesLine(numbers: Float64Array): string {
  const bytes = Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength);
  return toLine({ of: "deliveries", numbers: bytes.toString("base64") });
}

/** @returns undefined = it is not whole, as the last one may be after a kill, or damaged */
export function parseLine(line: string): RecordLine | undefined {
  const json = line.slice(CRC_CHARS + 1);
  if (line.slice(0, CRC_CHARS) !== crcOf(json)) return undefined;
  try {
    return JSON.parse(json) as RecordLine;
  } catch {
    return undefined;
  }
}

export function numbersOf(text: string): Float64Array {
  const bytes = Buffer.from(text, "base64");
  const aligned = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  return new Float64Array(aligned, 0, Math.floor(bytes.byteLength / 8));
}

function crcOf(json: string): string {
  return crc32(json).toString(16).padStart(CRC_CHARS, "0");
}
