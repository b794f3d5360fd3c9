/**
 * JSON text with line breaks and two-space indentation, like Go's MarshalIndent. Works on the text, so
 * numbers keep their digits (S1-VER-09). Pure.
 */
import { endOfString } from "../../schema/json-parser.js";

/** Numbers, true, false, null. */
const SCALAR = /[-+.\w]+/y;

/**
 * @param text well-formed JSON; whitespace between tokens is dropped
 * @param depth the enclosing levels; the first line is not indented
 */
export function indentJson(text: string, depth = 0): string {
  let result = "";
  for (const piece of indentedPieces(text, depth, Number.POSITIVE_INFINITY)) result += piece;
  return result;
}

/** Characters of a piece, a text's own apart. */
const PIECE_CHARS = 16 * 1024;

/** The same in pieces: nested deep, an object takes hundreds of times its size. */
export function* indentedPieces(
  text: string,
  depth = 0,
  pieceChars = PIECE_CHARS,
): Generator<string> {
  let result = "";
  let level = depth;
  const newline = () => `\n${"  ".repeat(level)}`;
  for (let at = 0; at < text.length; at++) {
    if (result.length >= pieceChars) {
      yield result;
      result = "";
    }
    const character = text[at] as string;
    switch (character) {
      case '"': {
        const end = endOfString(text, at);
        result += text.slice(at, end + 1);
        at = end;
        break;
      }
      case "{":
      case "[": {
        const closing = character === "{" ? "}" : "]";
        if (text[at + 1] === closing) {
          result += character + closing;
          at++;
          break;
        }
        level++;
        result += character + newline();
        break;
      }
      case "}":
      case "]":
        level--;
        result += newline() + character;
        break;
      case ",":
        result += character + newline();
        break;
      case ":":
        result += ": ";
        break;
      case " ":
      case "\t":
      case "\r":
      case "\n":
        break;
      default: {
        SCALAR.lastIndex = at;
        const scalar = SCALAR.exec(text)?.[0] ?? character;
        result += scalar;
        at += scalar.length - 1;
      }
    }
  }
  yield result;
}
