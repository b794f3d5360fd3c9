/**
 * The Accept header of requests for documents: media ranges with parameters, best first. Kinds with
 * many representations (objects, lists, tables) have a negotiation of their own; documents only
 * choose between a few fixed forms.
 */

/** More ranges than this are not read: no client sends them, and the header is client input. */
const RANGES_MAX = 32;

export interface MediaRange {
  /** Lower case, such as "application"; "*" for any. */
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
  /** Without `q`; names in lower case, values as sent. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** Media ranges by falling quality, in the order sent where equal; an absent header accepts all. */
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
