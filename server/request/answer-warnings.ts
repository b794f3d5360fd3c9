/**
 * AnswerWarnings: the texts of an answer's `Warning` headers, each once. Clients and proxies refuse large headers, so
 * beyond a budget all are cut, and those that come after it are left out, as by kube-apiserver.
 */

/** Code points of all texts together. */
const TOTAL_MAX = 4 * 1024;
/** Code points of each, once the total is exceeded. */
const CUT_LENGTH = 256;

export class AnswerWarnings {
  /** Whole. */
  readonly #said = new Set<string>();
  #texts: string[] = [];
  #length = 0;
  #isCutting = false;

  /** As clients see them. */
  get texts(): readonly string[] {
    return this.#texts;
  }

  add(text: string): void {
    const clean = text.replace(CONTROLS, " ");
    if (clean === "" || this.#said.has(clean)) return;
    if (this.#isCutting && this.#length >= TOTAL_MAX) return;
    this.#said.add(clean);
    if (this.#isCutting || this.#length + lengthOf(clean) <= TOTAL_MAX) {
      this.#show(clean);
      return;
    }
    this.#isCutting = true;
    this.#texts = [];
    this.#length = 0;
    for (const each of this.#said) this.#show(each);
  }

  #show(text: string): void {
    const shown = this.#isCutting ? cut(text) : text;
    this.#texts.push(shown);
    this.#length += lengthOf(shown);
  }
}

/** They would end or break the header, and clients refuse them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are meant
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]+/g;

function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}

/** Cut between code points. */
function cut(text: string): string {
  if (text.length <= CUT_LENGTH) return text;
  return [...text.slice(0, 2 * CUT_LENGTH)].slice(0, CUT_LENGTH).join("");
}
