/**
 * The blocks of a PEM text (RFC 7468), in one pass over it: a client may send a megabyte of beginnings without an end, and
 * an expression that looks for the end of each would look through the rest of the text for each. A block whose end
 * names another type is none.
 */

export interface PemText {
  /** "CERTIFICATE" */
  readonly type: string;
  /** Between the lines of its beginning and its end. */
  readonly body: string;
  /** With both. */
  readonly whole: string;
  /** Where it begins in the text. */
  readonly index: number;
}

/** What is asked of a text. */
type Searched = Pick<string, "indexOf" | "slice" | "startsWith">;

const BEGIN = "-----BEGIN ";
const END = "-----END ";
const DASHES = "-----";

export function* pemTexts(text: Searched): Generator<PemText, void, undefined> {
  let end = 0;
  for (let index = text.indexOf(BEGIN); index >= 0; ) {
    const label = index + BEGIN.length;
    // Not far, as the next beginning has dashes too.
    const labelEnd = text.indexOf(DASHES, label);
    if (labelEnd < 0) return;
    const inner = labelEnd + DASHES.length;
    // One search finds the end of all beginnings before it.
    if (end < inner) end = text.indexOf(END, inner);
    if (end < 0) return;
    const type = text.slice(label, labelEnd);
    let next = label;
    if (text.startsWith(type + DASHES, end + END.length)) {
      next = end + END.length + type.length + DASHES.length;
      yield { type, body: text.slice(inner, end), whole: text.slice(index, next), index };
    }
    index = text.indexOf(BEGIN, next);
  }
}
