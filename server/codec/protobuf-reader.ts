/**
 * Opens a reader of Protobuf that counts fields: an empty one takes two bytes, so a body of 3 MB has room for
 * 1.5 million of them, and each is work whatever becomes of it. Pure.
 */
import { default as protobuf } from "protobufjs/minimal.js";
import { ProtobufFailure } from "./protobuf-wire.js";

/** Of one message with all within it; the largest definitions in use have fewer. */
export const PROTOBUF_FIELDS_MAX = 250_000;
const FIELD_BYTES_MIN = 2;

/** The reader throws a ProtobufFailure behind the last field that it may read. */
export function openReader(bytes: Buffer, fieldsMax = PROTOBUF_FIELDS_MAX): protobuf.Reader {
  const reader = protobuf.Reader.create(bytes);
  if (bytes.length <= fieldsMax * FIELD_BYTES_MIN) return reader;
  const { tag } = reader;
  let fields = 0;
  reader.tag = () => {
    if (++fields > fieldsMax) {
      throw new ProtobufFailure(`the message has more than ${fieldsMax} fields`);
    }
    return tag.call(reader);
  };
  return reader;
}
