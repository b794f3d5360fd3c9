/**
 * PieceReader: reads back the output of a form, for encodings built from its text or value. All pieces
 * share one buffer, because each is read before the next is written.
 */
import type { JsonValue } from "../../api/meta.js";
import { parseJson } from "../../schema/parse-json.js";
import { ChunkWriter } from "../chunk-writer.js";

type PutPiece = (out: ChunkWriter) => void;

export class PieceReader {
  readonly #scratch = new ChunkWriter();

  text(put: PutPiece): string {
    this.#scratch.reset();
    put(this.#scratch);
    return this.#scratch.peek().toString("utf8");
  }

  /** Integers keep all digits. */
  value(put: PutPiece): JsonValue {
    return parseJson(this.text(put));
  }
}
