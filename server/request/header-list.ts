/**
 * Headers as they were sent: node joins the values of a repeated header with ", ", after which nobody
 * can tell two values from one with a comma in it. Whoever reads identities from headers reads these.
 */
import type { IncomingHttpHeaders } from "node:http";
import { badRequest } from "../api/status.js";

/** name, value, name, value, ...: node's `rawHeaders`, names in any case. */
export type HeaderList = readonly string[];

/** What has headers: a request of either version of HTTP. */
export interface HeaderHolder {
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: string[];
}

/** All values of a header, one for each time it was sent, in that order. `name` in lower case. */
export function headerValues(headers: HeaderList, name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const sent = headers[i] as string;
    if (sent.length === name.length && sent.toLowerCase() === name) {
      values.push(headers[i + 1] as string);
    }
  }
  return values;
}

/** As headerValues, of all headers that begin so: what follows the prefix, in lower case, and values. */
export function prefixedHeaderValues(
  headers: HeaderList,
  prefix: string,
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const sent = headers[i] as string;
    if (sent.length < prefix.length) continue;
    const name = sent.toLowerCase();
    if (!name.startsWith(prefix)) continue;
    const rest = name.slice(prefix.length);
    const values = found.get(rest);
    if (values === undefined) found.set(rest, [headers[i + 1] as string]);
    else values.push(headers[i + 1] as string);
  }
  return found;
}

/**
 * The text of a header's value. Node shows each of its bytes as one character; names of users and
 * groups are UTF-8. @throws {StatusError} 400 for bytes that are not: two names must not become one
 */
export function decodeHeaderText(value: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is what most values are
  if (/^[\x00-\x7f]*$/.test(value)) return value;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(value, "latin1"));
  } catch {
    throw badRequest("a header with an identity is not UTF-8");
  }
}

/** Takes headers off a request, in every form in which later steps could read them. */
export function removeHeaders(
  { headers, rawHeaders }: HeaderHolder,
  isRemoved: (lowerCaseName: string) => boolean,
): void {
  let isAny = false;
  for (const name in headers) {
    if (headers[name] === undefined || !isRemoved(name)) continue;
    // Deleting makes every later look at the headers slow, which the one that is always there must not.
    if (name === "authorization") headers[name] = undefined;
    else delete headers[name];
    isAny = true;
  }
  if (!isAny) return;
  for (let i = rawHeaders.length - 2; i >= 0; i -= 2) {
    if (isRemoved((rawHeaders[i] as string).toLowerCase())) rawHeaders.splice(i, 2);
  }
}

/** For headers that have no raw form, such as those of a test. */
export function toHeaderList(headers: IncomingHttpHeaders): HeaderList {
  return Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().flatMap((one) => [name, one]),
  );
}

/**
 * The key of an extra fact about a user, from the rest of a header's name: "acme.com%2fproject" to
 * "acme.com/project"; what is not well encoded stays as it is (upstream).
 */
export function decodeExtraKey(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}
