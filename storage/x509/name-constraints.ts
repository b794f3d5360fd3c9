/**
 * Name constraints (RFC 5280, section 4.2.1.10) as Go's crypto/x509 applies them: to alternative names of their own
 * kind, of every certificate below, never to subjects; constraints of other kinds count only by being critical.
 * A name is looked up by its endings, so that the work grows with names and constraints, not with their product.
 */
import { constructed, context, DerReader, MalformedDer, TAG } from "./der.js";
import {
  type AlternativeNames,
  addressBytes,
  addressText,
  ascii,
  isDomainName,
  isMappedAddress,
  type Mailbox,
  NAME_KIND,
  parseMailbox,
} from "./names.js";

export interface NameConstraints {
  readonly permitted: Subtrees | undefined;
  readonly excluded: Subtrees | undefined;
  /** Whether there are constraints of kinds that are not looked at. */
  readonly hasOthers: boolean;
}

/** By kind; undefined = no constraint of this kind. */
interface Subtrees {
  readonly dns: DomainTree | undefined;
  readonly uris: DomainTree | undefined;
  readonly emails: MailboxTree | undefined;
  readonly addresses: AddressTree | undefined;
}

interface DomainTree {
  /** In lower case; ".example.com" stands for names below alone. */
  readonly domains: ReadonlySet<string>;
  readonly lengthMax: number;
  /** What a wildcard could stand for: the domains without their first label. */
  readonly parents: ReadonlySet<string>;
}

interface MailboxTree {
  readonly mailboxes: ReadonlySet<string>;
  readonly domains: DomainTree | undefined;
}

interface AddressTree {
  /** Masked addresses in hexadecimal, by their mask. */
  readonly networks: ReadonlyMap<string, ReadonlySet<string>>;
}

/** @throws {MalformedDer} */
export function parseNameConstraints(value: Buffer): NameConstraints {
  const outer = new DerReader(value);
  const inner = outer.inside(TAG.sequence);
  const permitted = inner.optional(constructed(0))?.content ?? Buffer.alloc(0);
  const excluded = inner.optional(constructed(1))?.content ?? Buffer.alloc(0);
  if (!outer.isEmpty || !inner.isEmpty) throw new MalformedDer("name constraints");
  if (permitted.length === 0 && excluded.length === 0) throw new MalformedDer("no constraints");
  const [allowed, forbidden] = [parseSubtrees(permitted), parseSubtrees(excluded)];
  return {
    permitted: allowed.subtrees,
    excluded: forbidden.subtrees,
    hasOthers: allowed.hasOthers || forbidden.hasOthers,
  };
}

function parseSubtrees(content: Buffer): { subtrees: Subtrees; hasOthers: boolean } {
  const dns: string[] = [];
  const uris: string[] = [];
  const emails: string[] = [];
  const addresses: Buffer[] = [];
  let hasOthers = false;
  const trees = new DerReader(content);
  while (!trees.isEmpty) {
    const { tag, content: base } = trees.inside(TAG.sequence).any();
    if (tag === context(NAME_KIND.dns)) dns.push(domainOf(base));
    else if (tag === context(NAME_KIND.email)) emails.push(ascii(base));
    else if (tag === context(NAME_KIND.uri)) uris.push(uriDomainOf(base));
    else if (tag === context(NAME_KIND.address)) addresses.push(networkOf(base));
    else hasOthers = true;
  }
  return {
    subtrees: {
      dns: toDomainTree(dns),
      uris: toDomainTree(uris),
      emails: toMailboxTree(emails),
      addresses: toAddressTree(addresses),
    },
    hasOthers,
  };
}

function domainOf(content: Buffer): string {
  const domain = ascii(content);
  if (!isDomainName(domain, true)) throw new MalformedDer("a constraint");
  return domain.toLowerCase();
}

function uriDomainOf(content: Buffer): string {
  const domain = domainOf(content);
  if (addressBytes(domain) !== undefined) throw new MalformedDer("an address as a constraint");
  return domain;
}

/** An address and its mask. */
function networkOf(content: Buffer): Buffer {
  const half = content.length / 2;
  const mask = BigInt(`0x0${content.subarray(half).toString("hex")}`);
  const bits = mask.toString(2).padStart(half * 8, "0");
  if ((half !== 4 && half !== 16) || !/^1*0*$/.test(bits)) {
    throw new MalformedDer("a network");
  }
  return content;
}

function toDomainTree(domains: readonly string[]): DomainTree | undefined {
  if (domains.length === 0) return undefined;
  const parents = domains.map(withoutFirstLabel).filter((parent) => parent !== "");
  return {
    domains: new Set(domains),
    lengthMax: domains.reduce((most, { length }) => Math.max(most, length), 0),
    parents: new Set(parents),
  };
}

function toMailboxTree(constraints: readonly string[]): MailboxTree | undefined {
  if (constraints.length === 0) return undefined;
  const mailboxes = new Set<string>();
  const domains: string[] = [];
  for (const constraint of constraints) {
    const mailbox = constraint.includes("@") ? parseMailbox(constraint) : undefined;
    if (mailbox !== undefined) mailboxes.add(toKey(mailbox));
    else if (!constraint.includes("@") && isDomainName(constraint, true)) {
      domains.push(constraint.toLowerCase());
    } else throw new MalformedDer("a constraint");
  }
  return { mailboxes, domains: toDomainTree(domains) };
}

function toKey({ local, domain }: Mailbox): string {
  return `${local}@${domain}`;
}

function toAddressTree(networks: readonly Buffer[]): AddressTree | undefined {
  if (networks.length === 0) return undefined;
  const byMask = new Map<string, Set<string>>();
  for (const network of networks) {
    const half = network.length / 2;
    const mask = network.subarray(half).toString("hex");
    const known = byMask.get(mask) ?? new Set();
    byMask.set(mask, known.add(masked(network.subarray(0, half), mask)));
  }
  return { networks: byMask };
}

function masked(address: Buffer, mask: string): string {
  const bits = Buffer.from(mask, "hex");
  return Buffer.from(address.map((byte, index) => byte & (bits[index] ?? 0))).toString("hex");
}

/**
 * What is wrong with names under constraints of authorities above; undefined if nothing is.
 * @param constraints of one authority after the other
 */
export function violationOf(
  names: AlternativeNames,
  constraints: readonly NameConstraints[],
): string | undefined {
  const hosts = names.uris.map(({ text, host }) => ({ text, host: plainHost(host) }));
  const strange = hosts.find(({ host }) => host === undefined);
  if (strange !== undefined) return `URI "${strange.text}" cannot be matched against constraints`;
  const mailboxes = names.emails.map((text) => ({ text, mailbox: parseMailbox(text) }));
  const unread = mailboxes.find(({ mailbox }) => mailbox === undefined);
  if (unread !== undefined) return `cannot parse rfc822Name "${unread.text}"`;
  const odd = names.dns.find((name) => !isDomainName(name));
  if (odd !== undefined) return `x509: cannot parse dnsName "${odd}"`;

  for (const { permitted, excluded } of constraints) {
    const check = <Tree, Name>(
      kind: keyof Subtrees & keyof typeof WORDS,
      text: string,
      name: Name,
      covers: (tree: Tree, name: Name, isExclusion: boolean) => boolean,
    ): string | undefined => {
      const [allowed, forbidden] = [permitted?.[kind], excluded?.[kind]] as (Tree | undefined)[];
      if (allowed !== undefined && !covers(allowed, name, false)) {
        return `${WORDS[kind]} "${text}" is not permitted by any constraint`;
      }
      if (forbidden !== undefined && covers(forbidden, name, true)) {
        return `${WORDS[kind]} "${text}" is excluded by a constraint`;
      }
      return undefined;
    };
    const found =
      firstOf(names.addresses, (one) => check("addresses", addressText(one), one, coversAddress)) ??
      firstOf(names.dns, (name) => check("dns", name, name, coversDomain)) ??
      firstOf(hosts, ({ text, host }) => check("uris", text, host ?? "", coversDomain)) ??
      firstOf(mailboxes, ({ text, mailbox }) =>
        check("emails", text, mailbox as Mailbox, coversMailbox),
      );
    if (found !== undefined) return found;
  }
  return undefined;
}

const WORDS = {
  addresses: "IP address",
  dns: "DNS name",
  uris: "URI",
  emails: "email address",
} as const;

function firstOf<Item>(items: readonly Item[], check: (item: Item) => string | undefined) {
  for (const item of items) {
    const found = check(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A URI's host without its port; undefined if there is none or it is an address. */
function plainHost(host: string): string | undefined {
  const plain = host.toLowerCase().replace(/:\d*$/, "");
  const isName = plain !== "" && !plain.startsWith("[") && addressBytes(plain) === undefined;
  return isName ? plain : undefined;
}

/**
 * IPv4 in the form of IPv6 is permitted only by a network of that form, and excluded as IPv4 as well: it must not
 * lead around constraints of IPv4.
 */
function coversAddress(tree: AddressTree, address: Buffer, isExclusion: boolean): boolean {
  const isMapped = isMappedAddress(address);
  for (const [mask, known] of tree.networks) {
    if (mask.length !== address.length * 2) continue;
    const network = masked(address, mask);
    if (isMapped && !isExclusion && !isMappedAddress(Buffer.from(network, "hex"))) continue;
    if (known.has(network)) return true;
  }
  return isMapped && isExclusion && coversAddress(tree, address.subarray(12), true);
}

function coversMailbox(tree: MailboxTree, mailbox: Mailbox, isExclusion: boolean): boolean {
  if (tree.mailboxes.has(toKey(mailbox))) return true;
  return tree.domains !== undefined && coversDomain(tree.domains, mailbox.domain, isExclusion);
}

function coversDomain(tree: DomainTree, name: string, isExclusion: boolean): boolean {
  const { domains, lengthMax, parents } = tree;
  if (domains.has("")) return true;
  const lower = name.toLowerCase();
  if (domains.has(lower)) return true;
  // From the last label on, while a constraint could still be as long.
  for (let dot = lower.lastIndexOf("."); dot >= 0; dot = lower.lastIndexOf(".", dot - 1)) {
    if (lower.length - dot - 1 > lengthMax) break;
    if (domains.has(lower.slice(dot + 1)) || domains.has(lower.slice(dot))) return true;
    if (dot === 0) break;
  }
  return isExclusion && lower.startsWith("*") && parents.has(withoutFirstLabel(lower));
}

/** With the period in front; "" for a single label. */
function withoutFirstLabel(domain: string): string {
  const dot = domain.indexOf(".");
  return dot < 0 ? "" : domain.slice(dot);
}
