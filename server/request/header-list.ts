/**
 * Headers as they were sent: Node joins the values of a repeated header with ", ", which makes two
 * values look like one with a comma. Code that reads identities from headers must use these.
 */
import type { IncomingHttpHeaders } from "node:http";
import { badRequest } from "../api/status.js";

/** name, value, name, value, ...: Node's `rawHeaders`, with names in any case. */
export type HeaderList = readonly string[];

/** An object with headers: a request of either version of HTTP. */
export interface HeaderHolder {
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: string[];
}

/** All values of a header in the order sent. `name` in lower case. */
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

/**
 * Like headerValues for all headers with a prefix: the rest of the name, in lower case, and the values.
 */
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
 * The text of a header's value. Node represents each byte as one character; names of users and
 * groups are UTF-8. @throws {StatusError} 400 for invalid UTF-8: two names must not become one
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

/** Removes headers from a request, in every form that later steps read. */
export function removeHeaders(
  { headers, rawHeaders }: HeaderHolder,
  isRemoved: (lowerCaseName: string) => boolean,
): void {
  let isAny = false;
  for (const name in headers) {
    if (headers[name] === undefined || !isRemoved(name)) continue;
    // A delete slows down every later access to the headers, so the common header is not deleted.
    if (name === "authorization") headers[name] = undefined;
    else delete headers[name];
    isAny = true;
  }
  if (!isAny) return;
  for (let i = rawHeaders.length - 2; i >= 0; i -= 2) {
    if (isRemoved((rawHeaders[i] as string).toLowerCase())) rawHeaders.splice(i, 2);
  }
}

/** For headers without a raw form, such as those of a test. */
export function toHeaderList(headers: IncomingHttpHeaders): HeaderList {
  return Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().flatMap((one) => [name, one]),
  );
}

/**
 * The key of a user's extra field, from the rest of a header's name: "acme.com%2fproject" to
 * "acme.com/project"; an invalid encoding is left as it is (kube-apiserver).
 */
export function decodeExtraKey(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}
