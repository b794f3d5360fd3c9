/**
 * IP addresses and blocks as numbers, for containment tests and for enumerating a block. Texts are
 * parsed leniently (old clients write leading zeros) and written canonically (RFC 5952).
 */
import { isIP } from "node:net";

export interface IpAddress {
  readonly version: 4 | 6;
  readonly value: bigint;
}

/** All addresses that share their first `bits` bits with `first`. */
export interface IpBlock {
  readonly version: 4 | 6;
  readonly first: bigint;
  readonly bits: number;
  /** Number of addresses. */
  readonly size: bigint;
}

const PADDED_V4 = /^\d{1,10}(\.\d{1,10}){3}$/;

/** undefined when the text is not an address, or has a zone. */
export function parseIp(text: string): IpAddress | undefined {
  if (text.includes(":")) {
    return isIP(text) === 6 && !text.includes("%")
      ? { version: 6, value: parseV6(text) }
      : undefined;
  }
  if (!PADDED_V4.test(text)) return undefined;
  let value = 0n;
  for (const part of text.split(".")) {
    const byte = Number(part);
    if (byte > 255) return undefined;
    value = value * 256n + BigInt(byte);
  }
  return { version: 4, value };
}

const GROUPS = 8;

function parseV6(text: string): bigint {
  return groupsOf(text).reduce((value, group) => (value << 16n) | BigInt(group), 0n);
}

/** @param text an address of IPv6 */
function groupsOf(text: string): readonly number[] {
  let groups = text;
  const lastAt = text.lastIndexOf(":") + 1;
  const dotted = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text.slice(lastAt));
  if (dotted !== null) {
    const [a = 0, b = 0, c = 0, d = 0] = dotted.slice(1).map(Number);
    const tail = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
    groups = text.slice(0, lastAt) + tail;
  }
  const [head = "", tail] = groups.split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = new Array<string>(GROUPS - before.length - after.length).fill("0");
  const all = tail === undefined ? before : [...before, ...zeros, ...after];
  return all.map((group) => Number.parseInt(group, 16));
}

export function formatIp({ version, value }: IpAddress): string {
  if (version === 4) {
    return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join(".");
  }
  const groups = Array.from({ length: GROUPS }, (_, index) =>
    Number((value >> BigInt(16 * (GROUPS - 1 - index))) & 0xffffn),
  );
  return formatGroups(groups);
}

function formatGroups(groups: readonly number[]): string {
  const zeros = longestZeros(groups);
  const hex = (part: readonly number[]) => part.map((group) => group.toString(16)).join(":");
  if (zeros.length < 2) return hex(groups);
  return `${hex(groups.slice(0, zeros.from))}::${hex(groups.slice(zeros.from + zeros.length))}`;
}

function longestZeros(groups: readonly number[]): { from: number; length: number } {
  let best = { from: 0, length: 0 };
  let length = 0;
  groups.forEach((group, index) => {
    length = group === 0 ? length + 1 : 0;
    if (length > best.length) best = { from: index - length + 1, length };
  });
  return best;
}

/** "010.0.0.1" and "10.0.0.1" are the same address; undefined for an invalid text. */
export function canonicalIp(text: string): string | undefined {
  const address = parseIp(text);
  return address === undefined ? undefined : formatIp(address);
}

/** undefined when the text is not a block. */
export function parseBlock(text: string): IpBlock | undefined {
  const slash = text.indexOf("/");
  const address = slash < 0 ? undefined : parseIp(text.slice(0, slash));
  const length = text.slice(slash + 1);
  if (address === undefined || !/^\d{1,3}$/.test(length)) return undefined;
  const { version, value } = address;
  const width = version === 4 ? 32 : 128;
  const bits = Number(length);
  if (bits > width) return undefined;
  const size = 1n << BigInt(width - bits);
  return { version, first: value - (value % size), bits, size };
}

const V4_BLOCK = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\/(\d{1,2})$/;

/**
 * Whether the text is the one canonical spelling of a block of IPv4, as nearly all are: it needs no further look.
 * A policy may have tens of thousands, and numbers of 128 bits are slow.
 */
export function isCanonicalV4Block(text: string): boolean {
  const parts = V4_BLOCK.exec(text)?.slice(1);
  if (parts === undefined || parts.some((part) => part.length > 1 && part.startsWith("0"))) {
    return false;
  }
  const [a = 0, b = 0, c = 0, d = 0, bits = 0] = parts.map(Number);
  if (Math.max(a, b, c, d) > 255 || bits > 32) return false;
  return (((a << 24) | (b << 16) | (c << 8) | d) >>> 0) % 2 ** (32 - bits) === 0;
}

/**
 * Whether the text is the one canonical spelling of an address of IPv6 that stands for none of IPv4; without numbers of
 * 128 bits, as a Service may have tens of thousands.
 */
export function isCanonicalV6(text: string): boolean {
  return readCanonicalV6(text, text.length) !== undefined;
}

/** Whether it is one that is none of the special ones either (`specialIpProblem`), known by its first group. */
export function isReachableV6(text: string): boolean {
  const [first = 0] = readCanonicalV6(text, text.length) ?? [];
  return first !== 0 && first !== 0xff02 && (first & 0xffc0) !== 0xfe80;
}

/** The same of a block that has no bits behind its prefix. */
export function isCanonicalV6Block(text: string): boolean {
  const slash = text.indexOf("/");
  const bits = slash < 0 ? Number.NaN : Number(text.slice(slash + 1));
  if (!(bits <= 128) || String(bits) !== text.slice(slash + 1)) return false;
  const groups = readCanonicalV6(text, slash);
  if (groups === undefined) return false;
  for (let index = bits >> 4; index < GROUPS; index++) {
    const behind = Math.min(16, (index + 1) * 16 - bits);
    if ((groups[index] as number) % 2 ** behind !== 0) return false;
  }
  return true;
}

/** The groups of what is in front of `end`, read in one pass by the rules of RFC 5952; undefined if it is not canonical. */
function readCanonicalV6(text: string, end: number): readonly number[] | undefined {
  const read: number[] = [];
  let gap = -1;
  let at = 0;
  if (text.startsWith("::")) {
    gap = 0;
    at = 2;
  }
  while (at < end) {
    const from = at;
    let value = 0;
    for (; at < end; at++) {
      const digit = hexDigit(text.charCodeAt(at));
      if (digit < 0) break;
      value = value * 16 + digit;
    }
    const digits = at - from;
    if (read.length === GROUPS || digits === 0 || digits > 4) return undefined;
    if (digits > 1 && text[from] === "0") return undefined;
    read.push(value);
    if (at === end) break;
    if (text[at++] !== ":" || at > end) return undefined;
    if (text[at] === ":" && at < end) {
      if (gap >= 0) return undefined;
      gap = read.length;
      at++;
    } else if (at === end) return undefined;
  }
  if (gap < 0 ? read.length !== GROUPS : read.length > GROUPS - 2) return undefined;
  const elided = gap < 0 ? 0 : GROUPS - read.length;
  for (let left = elided; left > 0; left--) read.splice(gap, 0, 0);
  const isMapped = gap === 0 && elided === 5 && read[5] === 0xffff;
  return !isMapped && isLongestGap(read, gap, elided) ? read : undefined;
}

/** Whether the zeros that are left out are the first of the longest that there are; none are where there are no two. */
function isLongestGap(groups: readonly number[], gap: number, elided: number): boolean {
  let length = 0;
  let longest = 1;
  let first = -1;
  for (let index = 0; index < GROUPS; index++) {
    length = groups[index] === 0 ? length + 1 : 0;
    if (length <= longest) continue;
    longest = length;
    first = index - length + 1;
  }
  return first === gap && (gap < 0 || longest === elided);
}

function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  return code >= 97 && code <= 102 ? code - 87 : -1;
}

export function isWithin({ version, value }: IpAddress, block: IpBlock): boolean {
  return version === block.version && value >= block.first && value < block.first + block.size;
}

const MAPPED = 0xffffn;

/** Whether it is an IPv4 address in the form of IPv6, "::ffff:10.0.0.1" (RFC 4291 section 2.5.5.2). */
export function isMappedIp({ version, value }: IpAddress): boolean {
  return version === 6 && value >> 32n === MAPPED;
}

/** The IPv4 address of a mapped one; any other as it is. */
export function unmappedIp(address: IpAddress): IpAddress {
  return isMappedIp(address) ? { version: 4, value: address.value & 0xffff_ffffn } : address;
}

/** Why an address is not reachable by others; undefined when it is. */
export function specialIpProblem(text: string, sent: IpAddress): string | undefined {
  const address = unmappedIp(sent);
  if (address.value === 0n) return `may not be unspecified (${text})`;
  for (const [blocks, why] of SPECIAL) {
    if (blocks.some((block) => isWithin(address, block))) return why;
  }
  return undefined;
}

function blocksOf(...texts: readonly string[]): readonly IpBlock[] {
  return texts.map(parseBlock).filter((block) => block !== undefined);
}

const SPECIAL: readonly (readonly [readonly IpBlock[], string])[] = [
  [blocksOf("127.0.0.0/8", "::1/128"), "may not be in the loopback range (127.0.0.0/8, ::1/128)"],
  [
    blocksOf("169.254.0.0/16", "fe80::/10"),
    "may not be in the link-local range (169.254.0.0/16, fe80::/10)",
  ],
  [
    blocksOf("224.0.0.0/24", "ff02::/16"),
    "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
  ],
];
