/**
 * The YAML text of a JSON value, in pieces (S1-NEG-02). The layout is made here, as the library makes whole documents
 * only and takes 50 µs for each member; the form of a text is the library's. What comes out is what the library says
 * of the whole, which a test compares. Keys are sorted.
 *
 *     {b: [1, {}], a: "no"}   ->   a: "no"
 *                                  b:
 *                                  - 1
 *                                  - {}
 */
import { Document, type Tags, YAMLMap } from "yaml";
import { type StringifyContext, stringifyString } from "yaml/util";
import { compareTexts, sortTexts } from "../../../storage/base/compare-texts.js";
import { sortInSteps } from "../../../storage/base/sort-in-steps.js";
import { STRETCH } from "../../../storage/base/steps.js";
import type { JsonObject, JsonValue } from "../../api/meta.js";

/** Values of one piece, and characters that count as another value. */
const PIECE_VALUES = 500;
const VALUE_CHARS = 512;
/** A key whose text is longer has a line of its own, which begins with a question mark. */
const SHORT_KEY_CHARS_MAX = 1_024;
/** No reader takes such a text for anything else: words like "false" are shorter, and numbers begin otherwise. */
const SURELY_PLAIN = /^[A-DF-Za-df-z][\w./-]{5,}$/;
/** Some readers take these for ends of lines, or leave them out: they are written as escapes. */
const UNSAFE = /[\x7f-\x9f\u2028\u2029\ufeff]/;
/** The library writes such a text in lines, some of which do not read back: " \n" loses its space. */
const BEGINS_BLANK = /^[ \t\n][\s\S]*?\n/;

const STEP = "  ";

/** Pieces of the text: each takes some milliseconds at most, unless it is one long text. Some are empty. */
export function yamlPieces(value: JsonValue): Generator<string, void, undefined> {
  return new YamlWriter().pieces(value);
}

/** A map or a list with members that are not written yet. */
interface Open {
  readonly members: JsonObject | readonly JsonValue[];
  /** undefined = a list */
  keys: string[] | undefined;
  readonly size: number;
  /** Where its lines begin. */
  readonly indent: string;
  at: number;
}

class YamlWriter {
  readonly #scalars = new ScalarText();
  /** What is being written, each within the one before. */
  readonly #open: Open[] = [];
  #text = "";
  #left = PIECE_VALUES;

  *pieces(value: JsonValue): Generator<string, void, undefined> {
    this.#put(value, "", "");
    for (let open = this.#open.at(-1); open !== undefined; open = this.#open.at(-1)) {
      if (open.at === 0 && open.keys !== undefined) open.keys = yield* sortedTexts(open.keys);
      if (open.at === open.size) this.#open.pop();
      else if (open.keys === undefined) this.#putItem(open);
      else this.#putMember(open, open.keys[open.at] as string);
      if (this.#left > 0) continue;
      yield this.#text;
      this.#text = "";
      this.#left = PIECE_VALUES;
    }
    yield `${this.#text}\n`;
  }

  #putItem(list: Open): void {
    const item = (list.members as readonly JsonValue[])[list.at] ?? null;
    this.#text += list.at++ === 0 ? "- " : `\n${list.indent}- `;
    this.#put(item, list.indent + STEP, "");
  }

  #putMember(map: Open, key: string): void {
    const value = (map.members as JsonObject)[key] ?? null;
    const inner = map.indent + STEP;
    const shown = this.#scalars.keyText(key, inner);
    this.#left -= Math.floor(shown.length / VALUE_CHARS);
    if (map.at++ > 0) this.#text += `\n${map.indent}`;
    if (shown.length > SHORT_KEY_CHARS_MAX) {
      this.#text += `? ${shown}\n${map.indent}: `;
      this.#put(value, inner, "");
      return;
    }
    this.#text += `${shown}:`;
    // A list below its key begins where the key does.
    const indent = Array.isArray(value) && value.length > 0 ? map.indent : inner;
    this.#put(value, indent, `\n${indent}`, " ");
  }

  /** @param beforeMembers what separates a value with members from what is before it; @param before any other */
  #put(value: JsonValue, indent: string, beforeMembers: string, before = ""): void {
    const open = typeof value === "object" && value !== null ? openOf(value, indent) : undefined;
    if (open !== undefined && open.size > 0) {
      this.#text += beforeMembers;
      this.#open.push(open);
      return;
    }
    const shown = this.#scalars.valueText(value, indent);
    this.#text += before + shown;
    this.#left -= 1 + Math.floor(shown.length / VALUE_CHARS);
  }
}

function openOf(members: JsonObject | JsonValue[], indent: string): Open {
  if (Array.isArray(members)) {
    return { members, keys: undefined, size: members.length, indent, at: 0 };
  }
  const keys = Object.keys(members).filter((key) => members[key] !== undefined);
  return { members, keys, size: keys.length, indent, at: 0 };
}

/** The texts in order; yields "" between stretches of many. */
function* sortedTexts(texts: string[]): Generator<string, string[], undefined> {
  if (texts.length <= STRETCH) return sortTexts(texts);
  const steps = sortInSteps(texts, compareTexts);
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) yield "";
  return step.value;
}

/** Values without members. */
class ScalarText {
  readonly #context: StringifyContext = { ...LIBRARY_CONTEXT };

  keyText(key: string, indent: string): string {
    return SURELY_PLAIN.test(key) ? key : this.#quoted(key, indent, true);
  }

  valueText(value: JsonValue, indent: string): string {
    if (typeof value === "string") {
      return SURELY_PLAIN.test(value) ? value : this.#quoted(value, indent, false);
    }
    if (typeof value === "number") return Object.is(value, -0) ? "-0" : JSON.stringify(value);
    if (typeof value === "object" && value !== null) return Array.isArray(value) ? "[]" : "{}";
    return String(value);
  }

  /** Quoted, or in lines, where it has to be. */
  #quoted(value: string, indent: string, isKey: boolean): string {
    // Unquoted, the key would make readers merge the value into the map.
    if (value === "<<") return '"<<"';
    if (UNSAFE.test(value) || BEGINS_BLANK.test(value))
      return JSON.stringify(value).replace(UNSAFE_ALL, escapeOf);
    this.#context.indent = indent;
    this.#context.implicitKey = isKey;
    return stringifyString({ value }, this.#context);
  }
}

const UNSAFE_ALL = new RegExp(UNSAFE, "g");

function escapeOf(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** In JSON "<<" is an ordinary key. */
function withoutMerge(tags: Tags): Tags {
  return tags.filter((tag) => tag !== "merge" && (typeof tag === "string" || !isMerge(tag.tag)));
}

function isMerge(tag: string): boolean {
  return tag === "tag:yaml.org,2002:merge";
}

/** Takes what the library hands to the parts of a document. */
class ContextTaker extends YAMLMap {
  context: StringifyContext | undefined;

  override toString(context?: StringifyContext): string {
    this.context = context;
    return "";
  }
}

/**
 * Of a document of YAML 1.1, in which readers of 1.2 find the same, whose lines are never folded. What the library says within double quotes in several lines
 * does not always read back: "\n \n" becomes a backslash.
 */
const LIBRARY_CONTEXT = takeContext();

function takeContext(): StringifyContext {
  const document = new Document(null, { version: "1.1", compat: "core", customTags: withoutMerge });
  const taker = new ContextTaker();
  Object.assign(document, { contents: taker });
  document.toString({
    lineWidth: 0,
    directives: false,
    indentSeq: false,
    doubleQuotedAsJSON: true,
  });
  if (taker.context === undefined) throw new Error("the library says no context");
  // What is written as text is text, so it must not read as a number.
  return { ...taker.context, actualString: true };
}
