/**
 * PieceReader: what a form puts, read back for encodings that are made of its text or of its value.
 * All pieces of a representation share one buffer, as each is read before the next is put.
 */
import type { JsonValue } from "../../api/meta.js";
import { parseJson } from "../../codec/json.js";
import { ChunkWriter } from "../chunk-writer.js";

export type PutPiece = (out: ChunkWriter) => void;

export class PieceReader {
  readonly #scratch = new ChunkWriter();

  text(put: PutPiece): string {
    this.#scratch.reset();
    put(this.#scratch);
    return this.#scratch.peek().toString("utf8");
  }

  /** Integers keep all their digits. */
  value(put: PutPiece): JsonValue {
    return parseJson(this.text(put));
  }
}
