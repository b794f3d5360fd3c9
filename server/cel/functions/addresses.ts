/** The ip and cidr extensions. Stricter than the parsing of stored objects: canonical forms only. */
import { isIP } from "node:net";
import { goQuote } from "../../api/go-text.js";
import { formatIp, type IpAddress, isWithin, parseIp } from "../../api/ip-address.js";
import { FLAT, PARSED, PARSED_TWICE } from "../cost/call-costs.js";
import { containing } from "../cost/extension-costs.js";
import { Failure } from "../errors.js";
import { fn, method, type Overload } from "../overloads.js";
import { OpaqueValue } from "../values.js";

class IpValue extends OpaqueValue {
  override readonly typeName = "net.IP";
  readonly address: IpAddress;

  constructor(address: IpAddress) {
    super();
    this.address = address;
  }

  override get size(): number {
    return this.address.version === 4 ? 4 : 16;
  }

  override equals(other: OpaqueValue): boolean {
    return (
      other instanceof IpValue &&
      other.address.version === this.address.version &&
      other.address.value === this.address.value
    );
  }

  override toJson(): string {
    return formatIp(this.address);
  }
}

class CidrValue extends OpaqueValue {
  override readonly typeName = "net.CIDR";
  readonly address: IpAddress;
  readonly bits: number;

  constructor(address: IpAddress, bits: number) {
    super();
    this.address = address;
    this.bits = bits;
  }

  get first(): bigint {
    return this.address.value - (this.address.value % this.count);
  }

  /** Bytes of the prefix. */
  override get size(): number {
    return Math.ceil(this.bits / 8);
  }

  get count(): bigint {
    return 1n << BigInt((this.address.version === 4 ? 32 : 128) - this.bits);
  }

  contains(address: IpAddress): boolean {
    const { version } = this.address;
    return isWithin(address, { version, first: this.first, bits: this.bits, size: this.count });
  }

  override equals(other: OpaqueValue): boolean {
    return (
      other instanceof CidrValue &&
      other.bits === this.bits &&
      other.address.version === this.address.version &&
      other.address.value === this.address.value
    );
  }

  override toJson(): string {
    return `${formatIp(this.address)}/${this.bits}`;
  }
}

/** No zones, no leading zeros, no IPv4-mapped IPv6. */
function strictIp(text: string): IpAddress | undefined {
  if (isIP(text) === 0) return undefined;
  const address = parseIp(text);
  if (address === undefined) return undefined;
  const isMapped = address.version === 6 && address.value >> 32n === 0xffffn;
  return isMapped ? undefined : address;
}

function ip(text: string): IpValue {
  const address = strictIp(text);
  if (address === undefined) throw new Failure(ipProblem(text));
  return new IpValue(address);
}

function parseCidr(text: string): CidrValue | undefined {
  const slash = text.indexOf("/");
  const address = slash < 0 ? undefined : strictIp(text.slice(0, slash));
  const bits = text.slice(slash + 1);
  if (address === undefined || !/^(?:0|[1-9]\d{0,2})$/.test(bits)) return undefined;
  if (Number(bits) > (address.version === 4 ? 32 : 128)) return undefined;
  return new CidrValue(address, Number(bits));
}

function cidr(text: string): CidrValue {
  const value = parseCidr(text);
  if (value === undefined) throw new Failure(cidrProblem(text));
  return value;
}

const IP_FAILURE = "parse error during conversion from string";
const CIDR_FAILURE = "network address parse error during conversion from string";

/** What kube-apiserver says for most texts. */
function ipProblem(text: string): string {
  const shown = goQuote(text.slice(0, TEXT_SHOWN_MAX));
  const address = isIP(text) === 6 && !text.includes("%") ? parseIp(text) : undefined;
  return address === undefined
    ? `IP Address ${shown} ${IP_FAILURE}: ParseAddr(${shown}): unable to parse IP`
    : `IPv4-mapped IPv6 address ${shown} is not allowed`;
}

function cidrProblem(text: string): string {
  const shown = goQuote(text.slice(0, TEXT_SHOWN_MAX));
  const slash = text.lastIndexOf("/");
  const start = `${CIDR_FAILURE}: ${CIDR_FAILURE}: netip.ParsePrefix(${shown})`;
  if (slash < 0) return `${start}: no '/'`;
  const [address, bits] = [text.slice(0, slash), text.slice(slash + 1)];
  if (strictIp(address) !== undefined) {
    const isNumber = /^(?:0|[1-9]\d*)$/.test(bits);
    return `${start}: ${isNumber ? "prefix length out of range" : `bad bits after slash: ${goQuote(bits)}`}`;
  }
  const name = goQuote(address.slice(0, TEXT_SHOWN_MAX));
  return isIP(address) === 6 && !address.includes("%")
    ? `${CIDR_FAILURE}: IPv4-mapped IPv6 address ${shown} is not allowed`
    : `${start}: ParseAddr(${name}): unable to parse IP`;
}

/** Longer texts are cut. */
const TEXT_SHOWN_MAX = 64;

/** kube-apiserver takes the error of a text for an argument of another type. */
function noOverload(): never {
  throw new Failure("no such overload");
}

const containsCidr = (outer: CidrValue, inner: CidrValue) =>
  inner.bits >= outer.bits && outer.contains({ ...inner.address, value: inner.first });

type Test = (address: IpAddress) => boolean;

/** Tests the prefix of a version 4 or version 6 address. */
function startsWith(v4: readonly [bigint, bigint], v6: readonly [bigint, bigint]): Test {
  return ({ version, value }) => {
    const [prefix, bits] = version === 4 ? v4 : v6;
    return value >> ((version === 4 ? 32n : 128n) - bits) === prefix;
  };
}

const isUnspecified: Test = ({ value }) => value === 0n;
const isLoopback: Test = (address) =>
  address.version === 4 ? address.value >> 24n === 127n : address.value === 1n;
const isLinkLocalUnicast = startsWith([0xa9fen, 16n], [0xfe80n >> 6n, 10n]);
const isLinkLocalMulticast = startsWith([0xe00000n, 24n], [0xff02n, 16n]);
const isMulticast = startsWith([0xen, 4n], [0xffn, 8n]);
const isGlobalUnicast: Test = (address) =>
  !isUnspecified(address) &&
  !isLoopback(address) &&
  !isMulticast(address) &&
  !isLinkLocalUnicast(address) &&
  !(address.version === 4 && address.value === 0xffffffffn);

const TESTS: readonly (readonly [string, Test])[] = [
  ["isUnspecified", isUnspecified],
  ["isLoopback", isLoopback],
  ["isLinkLocalMulticast", isLinkLocalMulticast],
  ["isLinkLocalUnicast", isLinkLocalUnicast],
  ["isGlobalUnicast", isGlobalUnicast],
];

export const ADDRESSES: readonly Overload[] = [
  fn("ip", "string", "net.IP", ip, PARSED),
  fn("isIP", "string", "bool", (text: string) => strictIp(text) !== undefined, PARSED),
  fn(
    "ip.isCanonical",
    "string",
    "bool",
    (text: string) => formatIp(ip(text).address) === text,
    PARSED_TWICE,
  ),
  fn("string", "net.IP", "string", (value: IpValue) => value.toJson(), FLAT),
  method("family", "net.IP", "int", ({ address }: IpValue) => BigInt(address.version), FLAT),
  ...TESTS.map(([name, test]) =>
    method(name, "net.IP", "bool", ({ address }: IpValue) => test(address), FLAT),
  ),
  fn("cidr", "string", "net.CIDR", cidr, PARSED),
  fn("isCIDR", "string", "bool", (text: string) => parseCidr(text) !== undefined, PARSED),
  fn("string", "net.CIDR", "string", (value: CidrValue) => value.toJson(), FLAT),
  method(
    "containsIP",
    "net.CIDR, net.IP",
    "bool",
    (block: CidrValue, { address }: IpValue) => block.contains(address),
    containing(false, false),
  ),
  method(
    "containsIP",
    "net.CIDR, string",
    "bool",
    (block: CidrValue, text: string) => block.contains(strictIp(text) ?? noOverload()),
    containing(false, true),
  ),
  method("containsCIDR", "net.CIDR, net.CIDR", "bool", containsCidr, containing(true, false)),
  method(
    "containsCIDR",
    "net.CIDR, string",
    "bool",
    (block: CidrValue, text: string) => containsCidr(block, cidr(text)),
    containing(true, true),
  ),
  method("ip", "net.CIDR", "net.IP", ({ address }: CidrValue) => new IpValue(address), FLAT),
  method(
    "masked",
    "net.CIDR",
    "net.CIDR",
    (block: CidrValue) => new CidrValue({ ...block.address, value: block.first }, block.bits),
    FLAT,
  ),
  method("prefixLength", "net.CIDR", "int", ({ bits }: CidrValue) => BigInt(bits), FLAT),
];
