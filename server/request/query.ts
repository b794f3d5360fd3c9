/**
 * The query parameters of a URL, decoded once. Cheaper than URLSearchParams, as most requests have
 * none or one. Strict: malformed percent-encoding is the client's error, not a replacement
 * character that later selects something else.
 */
import { badRequest } from "../api/status.js";

export interface Query {
  /** The first value of a parameter; undefined when it is absent. */
  get(name: string): string | undefined;
  /** All values of a repeated parameter, in the order of the URL. */
  getAll(name: string): readonly string[];
  has(name: string): boolean;
  /** Whether there is no parameter at all. */
  readonly isEmpty: boolean;
}

const NO_VALUES: readonly string[] = Object.freeze([]);

class ParsedQuery implements Query {
  /** name, value, name, value, ...: a handful of entries, for which a scan beats a map. */
  readonly #pairs: readonly string[];

  constructor(pairs: readonly string[]) {
    this.#pairs = pairs;
  }

  get isEmpty(): boolean {
    return this.#pairs.length === 0;
  }

  get(name: string): string | undefined {
    for (let i = 0; i < this.#pairs.length; i += 2) {
      if (this.#pairs[i] === name) return this.#pairs[i + 1];
    }
    return undefined;
  }

  getAll(name: string): readonly string[] {
    const values: string[] = [];
    for (let i = 0; i < this.#pairs.length; i += 2) {
      if (this.#pairs[i] === name) values.push(this.#pairs[i + 1] as string);
    }
    return values.length === 0 ? NO_VALUES : values;
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }
}

export const EMPTY_QUERY: Query = new ParsedQuery([]);

/** Parses what follows the "?" of a URL. @throws {StatusError} 400 for malformed encoding */
export function parseQuery(text: string): Query {
  if (text === "") return EMPTY_QUERY;
  const pairs: string[] = [];
  for (const part of text.split("&")) {
    if (part === "") continue;
    const equals = part.indexOf("=");
    if (equals === -1) pairs.push(decodeParameter(part), "");
    else
      pairs.push(decodeParameter(part.slice(0, equals)), decodeParameter(part.slice(equals + 1)));
  }
  return new ParsedQuery(pairs);
}

/**
 * A boolean parameter: absent, "0" and "false" are false, everything else is true, including the
 * bare name (S1-QP-01). kube-apiserver converts parameters this way.
 */
export function booleanParameter(query: Query, name: string): boolean {
  const value = query.get(name);
  return value !== undefined && value !== "0" && value.toLowerCase() !== "false";
}

function decodeParameter(text: string): string {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  return decodePercent(spaced);
}

/** Percent-decoding. @throws {StatusError} 400 for a bad escape or for bytes that are not UTF-8 */
export function decodePercent(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    throw badRequest("the URL has malformed percent-encoding");
  }
}
