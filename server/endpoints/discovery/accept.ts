/**
 * Parses the Accept header of requests for documents: media ranges with parameters, best first.
 * Objects, lists and tables have a negotiation of their own; documents have only a few fixed forms.
 */

/** Further ranges are ignored: no client sends more, and the header is untrusted input. */
const RANGES_MAX = 32;

export interface MediaRange {
  /** Lower case, for example "application"; "*" for any. */
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
  /** Without `q`; names in lower case, values as sent. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** Media ranges by descending quality, equal ones in the order sent; an absent header accepts all. */
export function parseAccept(accept: string | undefined): readonly MediaRange[] {
  const text = accept === undefined || accept.trim() === "" ? "*/*" : accept;
  const ranges = text
    .split(",", RANGES_MAX)
    .map(parseRange)
    .filter((range) => range !== undefined);
  return ranges
    .filter((range) => range.quality > 0)
    .sort((left, right) => right.quality - left.quality);
}

/** Whether the range covers a media type, regardless of parameters. */
export function covers(range: MediaRange, type: string, subtype: string): boolean {
  return (
    (range.type === "*" || range.type === type) &&
    (range.subtype === "*" || range.subtype === subtype)
  );
}

function parseRange(text: string): MediaRange | undefined {
  const [name = "", ...rest] = text.split(";").map((part) => part.trim());
  const [type = "", subtype = ""] = name.toLowerCase().split("/");
  if (type === "" || subtype === "") return undefined;
  const parameters = new Map<string, string>();
  let quality = 1;
  for (const parameter of rest) {
    const separator = parameter.indexOf("=");
    if (separator <= 0) continue;
    const key = parameter.slice(0, separator).trim().toLowerCase();
    const value = unquote(parameter.slice(separator + 1).trim());
    if (key === "q") quality = toQuality(value);
    else parameters.set(key, value);
  }
  return { type, subtype, quality, parameters };
}

function unquote(value: string): string {
  return value.length >= 2 && value.startsWith('"') && value.endsWith('"')
    ? value.slice(1, -1)
    : value;
}

function toQuality(value: string): number {
  const quality = Number(value);
  return Number.isFinite(quality) ? Math.min(1, Math.max(0, quality)) : 1;
}
