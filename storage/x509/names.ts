/**
 * Names in certificates: those of subjects and issuers (X.501), and the alternative names of a subject (RFC 5280,
 * section 4.2.1.6). Reads and checks them as Go's crypto/x509 does; compares nothing.
 */
import { isIPv4, isIPv6 } from "node:net";
import { context, DerReader, MalformedDer, TAG } from "./der.js";

export interface NameAttribute {
  /** Dotted. */
  readonly type: string;
  readonly value: string;
}

export interface AlternativeNames {
  readonly dns: readonly string[];
  readonly emails: readonly string[];
  readonly uris: readonly AlternativeUri[];
  /** Of 4 or 16 bytes. */
  readonly addresses: readonly Buffer[];
}

export interface AlternativeUri {
  readonly text: string;
  /** With its port; "" = none. */
  readonly host: string;
}

export interface Mailbox {
  readonly local: string;
  readonly domain: string;
}

/** Kinds of names, by the number of their tag (RFC 5280, GeneralName). */
export const NAME_KIND = { email: 1, dns: 2, uri: 6, address: 7 } as const;

/** IPv4 addresses in the form of IPv6. */
const MAPPED_PREFIX = Buffer.from("00000000000000000000ffff", "hex");

/** The attributes of a name, in order. @throws {MalformedDer} also if one is no text */
export function parseName(name: DerReader): NameAttribute[] {
  return attributesOf(name, (attribute) => {
    const text = textOf(attribute);
    if (text === undefined) throw new MalformedDer("an attribute that is no text");
    return text;
  });
}

/** Those attributes that are texts, of the subject of a request for a certificate. @throws {MalformedDer} */
export function parseRequestedName(name: DerReader): NameAttribute[] {
  return attributesOf(name, textOf);
}

function attributesOf(
  name: DerReader,
  read: (attribute: DerReader) => string | undefined,
): NameAttribute[] {
  const attributes: NameAttribute[] = [];
  const sets = name.inside(TAG.sequence);
  while (!sets.isEmpty) {
    const set = sets.inside(TAG.set);
    while (!set.isEmpty) {
      const attribute = set.inside(TAG.sequence);
      const type = attribute.objectIdentifier();
      const value = read(attribute);
      if (value !== undefined) attributes.push({ type, value });
    }
  }
  return attributes;
}

/** undefined if it is no text. */
function textOf(attribute: DerReader): string | undefined {
  const { tag, content } = attribute.any();
  switch (tag) {
    case TAG.t61String:
      return content.toString("latin1");
    case TAG.utf8String:
      return utf8(content);
    case TAG.printableString:
      return matching(content, /^[\w'()*+,\-./ :=?&]*$/, "a printable string");
    case TAG.numericString:
      return matching(content, /^[\d ]*$/, "a numeric string");
    case TAG.ia5String:
      return ascii(content);
    case TAG.bmpString:
      return twoByteText(content);
    default:
      return undefined;
  }
}

function utf8(content: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    throw new MalformedDer("invalid UTF-8");
  }
}

function matching(content: Buffer, pattern: RegExp, what: string): string {
  const text = content.toString("latin1");
  if (text.includes("_") || !pattern.test(text)) throw new MalformedDer(what);
  return text;
}

/** @throws {MalformedDer} */
export function ascii(content: Buffer): string {
  if (content.some((byte) => byte > 0x7f)) throw new MalformedDer("text that is not ASCII");
  return content.toString("latin1");
}

function twoByteText(content: Buffer): string {
  if (content.length % 2 !== 0) throw new MalformedDer("half a character");
  const isEnded = content.length >= 2 && content.readUInt16BE(content.length - 2) === 0;
  let text = "";
  for (let at = 0; at < content.length - (isEnded ? 2 : 0); at += 2) {
    const point = content.readUInt16BE(at);
    const isReserved = point === 0xfffe || point === 0xffff || (point >= 0xfdd0 && point <= 0xfdef);
    if (isReserved || (point >= 0xd800 && point <= 0xdfff)) throw new MalformedDer("a character");
    text += String.fromCharCode(point);
  }
  return text;
}

/** @throws {MalformedDer} */
export function parseAlternativeNames(value: Buffer): AlternativeNames {
  const dns: string[] = [];
  const emails: string[] = [];
  const uris: AlternativeUri[] = [];
  const addresses: Buffer[] = [];
  const names = new DerReader(value).inside(TAG.sequence);
  while (!names.isEmpty) {
    const { tag, content } = names.any();
    if (tag === context(NAME_KIND.dns)) dns.push(ascii(content));
    else if (tag === context(NAME_KIND.email)) emails.push(ascii(content));
    else if (tag === context(NAME_KIND.uri)) uris.push(parseUri(ascii(content)));
    else if (tag === context(NAME_KIND.address)) addresses.push(checkedAddress(content));
  }
  return { dns, emails, uris, addresses };
}

function checkedAddress(content: Buffer): Buffer {
  if (content.length !== 4 && content.length !== 16) throw new MalformedDer("an address");
  return content;
}

export function isMappedAddress(bytes: Buffer): boolean {
  return bytes.length === 16 && bytes.subarray(0, 12).equals(MAPPED_PREFIX);
}

/** IPv4 in the form of IPv6 as IPv4. */
export function withoutMapping(address: Buffer): Buffer {
  return isMappedAddress(address) ? address.subarray(12) : address;
}

/** Before the fragment: scheme, and what follows it up to a query. */
const SCHEME = /^([a-z][a-z\d+.-]*):/i;
const BROKEN_ESCAPE = /%(?![\da-f]{2})/i;
const USER = /^[\w\-.:~!$&'()*+,;=%@]*$/;
/** What may stand in a host beside brackets and escapes, which only stand for bytes beyond ASCII and make no domain. */
const HOST = /^[\w\-.~!$&'()*+,;=:<>"\]]*$/;

/** As Go's net/url parses it. */
function parseUri(text: string): AlternativeUri {
  const [before = "", ...fragments] = text.split("#");
  const [, scheme] = SCHEME.exec(before) ?? [];
  const [rest = ""] = before.slice(scheme === undefined ? 0 : scheme.length + 1).split("?", 1);
  const isOpaque = scheme !== undefined && !rest.startsWith("/");
  const hasAuthority = rest.startsWith("//") && (scheme !== undefined || !rest.startsWith("///"));
  const [authority = ""] = hasAuthority ? rest.slice(2).split("/", 1) : [];
  const path = hasAuthority ? rest.slice(2 + authority.length) : rest;
  const isRelative = scheme === undefined && !rest.startsWith("/");
  const at = authority.lastIndexOf("@");
  const user = authority.slice(0, Math.max(at, 0));
  const host = authority.slice(at + 1);
  const isMalformed =
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
    /[\x00-\x1f\x7f]/.test(before) ||
    (isRelative && (/^:/.test(rest) || rest.split("/", 1)[0]?.includes(":"))) ||
    BROKEN_ESCAPE.test(fragments.join("#")) ||
    (!isOpaque && BROKEN_ESCAPE.test(path)) ||
    !USER.test(user) ||
    BROKEN_ESCAPE.test(user) ||
    !isUriHost(host, scheme?.toLowerCase());
  if (isMalformed) throw new MalformedDer("an address of the web");
  return { text, host: isOpaque ? "" : host };
}

function isUriHost(host: string, scheme: string | undefined): boolean {
  const literal = /^\[([^\]]*)\](?::\d*)?$/.exec(host);
  if (literal !== null) return isIPv6((literal[1] ?? "").replace(/%25[\w.~-]+$/, ""));
  const isStrict = scheme === "http" || scheme === "https";
  const colon = isStrict ? host.indexOf(":") : host.lastIndexOf(":");
  return HOST.test(host) && (colon < 0 || /^:\d*$/.test(host.slice(colon))) && isDomainName(host);
}

/** What a name or a constraint may be: labels, none of them empty; only a constraint may begin with a period. */
export function isDomainName(text: string, isConstraint = false): boolean {
  if (text === "") return true;
  const labels = isConstraint && text.startsWith(".") ? text.slice(1) : text;
  return /^[!-~]+$/.test(labels) && !/^\.|\.\.|\.$/.test(labels);
}

/** RFC 2821's mailbox in quotes, or in atoms where any character may follow a backslash. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are allowed between quotes
const QUOTED = /^"((?:[\x01-\x08\x0b\x0c\x0e-!#-[\]-\x7f]|\\[\x01-\x09\x0b\x0c\x0e-\x7f])*)"@/;
const ATOMS = /^((?:\\[\s\S]|[\w!#$%&'*+\-/=?^`{|}~.])+)@/;

/** undefined if it is none. The domain is in lower case. */
export function parseMailbox(text: string): Mailbox | undefined {
  const isQuoted = text.startsWith('"');
  const [prefix, local] = (isQuoted ? QUOTED : ATOMS).exec(text) ?? [];
  if (prefix === undefined || local === undefined) return undefined;
  const domain = text.slice(prefix.length).toLowerCase();
  const plain = local.replace(/\\([\s\S])/g, "$1");
  const isDotted = !isQuoted && /^\.|\.\.|\.$/.test(plain);
  if (isDotted || !isDomainName(domain)) return undefined;
  return { local: plain, domain };
}

/** The bytes of an address without a zone; undefined if it is none. IPv4 in the form of IPv6 is IPv4. */
export function addressBytes(text: string): Buffer | undefined {
  const [address = ""] = text.split("%", 1);
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  if (!isIPv6(address)) return undefined;
  const host = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [head = "", tail] = host.split("::");
  const groups = (part: string) => (part === "" ? [] : part.split(":"));
  const last = tail === undefined ? [] : groups(tail);
  const gap = new Array<string>(8 - groups(head).length - last.length).fill("0");
  const words = [...groups(head), ...gap, ...last].map((group) => Number.parseInt(group, 16));
  const bytes = Buffer.from(words.flatMap((word) => [word >> 8, word & 0xff]));
  return withoutMapping(bytes);
}

/** The address of 4 or 16 bytes, as it is written. */
export function addressText(bytes: Buffer): string {
  const address = withoutMapping(bytes);
  if (address.length === 4) return address.join(".");
  const words = address.toString("hex").replace(/(.{4})(?!$)/g, "$1:");
  return new URL(`http://[${words}]/`).hostname.slice(1, -1);
}
