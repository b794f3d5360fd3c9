/**
 * Parses X.509 certificates (RFC 5280) as Go's crypto/x509 does: the same ones are malformed, and the same extensions
 * are understood. Gives what path validation needs (verify-path.ts) and who the subject is. Node's own object for a
 * peer's certificate is avoided: some of its releases end the process on subjects that are no text.
 */
import { createHash } from "node:crypto";
import { checkedInteger, constructed, context, DerReader, MalformedDer, TAG } from "./der.js";
import { type NameConstraints, parseNameConstraints } from "./name-constraints.js";
import {
  type AlternativeNames,
  type NameAttribute,
  parseAlternativeNames,
  parseName,
} from "./names.js";
import {
  NO_POLICIES,
  type Policies,
  parseInhibitAny,
  parseMappings,
  parsePolicies,
  parsePolicyConstraints,
} from "./policies.js";
import { type PublicKey, parsePublicKey } from "./public-key.js";

export interface Certificate {
  /** DER. */
  readonly raw: Buffer;
  /** SHA-256 of `raw`, hexadecimal. */
  readonly digest: string;
  /** What is signed, the signature, and its algorithm in DER. */
  readonly signed: Buffer;
  readonly signature: Buffer;
  readonly algorithm: Buffer;
  readonly version: number;
  /** Decimal. */
  readonly serialNumber: string;
  /** Names in DER, one byte a character: equal names are equal strings. */
  readonly issuer: string;
  readonly subject: string;
  readonly subjectAttributes: readonly NameAttribute[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly publicKey: PublicKey;
  readonly extensions: Extensions;
}

export interface Extensions {
  /** undefined = there is no such extension; likewise below. */
  readonly basicConstraints?: {
    readonly isAuthority: boolean;
    /** undefined = any. */
    readonly pathLengthMax: number | undefined;
  };
  /** The first nine bits, digitalSignature the lowest; 0 = none given. */
  readonly keyUsage: number;
  /** Dotted; none = every usage. */
  readonly extendedUsages: readonly string[];
  /** One byte a character; "" = none. */
  readonly subjectKeyId: string;
  readonly authorityKeyId: string;
  readonly alternativeNames?: AlternativeNames;
  /** The alternative names in DER, one byte a character. */
  readonly alternativeNamesDer?: string;
  readonly nameConstraints?: NameConstraints;
  readonly policies: Policies;
  /** Whether there is a critical extension that is not understood. */
  readonly hasUnhandledCritical: boolean;
}

export const KEY_CERT_SIGN = 1 << 5;

/** @throws {MalformedDer} */
export function parseCertificate(raw: Buffer): Certificate {
  const file = new DerReader(raw);
  const outer = file.inside(TAG.sequence);
  if (!file.isEmpty) throw new MalformedDer("something follows the certificate");
  const signed = outer.value(TAG.sequence).whole;
  const tbs = new DerReader(signed).inside(TAG.sequence);

  const version = (tbs.nextIs(constructed(0)) ? tbs.inside(constructed(0)).integer() : 0) + 1;
  if (version < 1 || version > 3) throw new MalformedDer("a version of the future");
  const serial = checkedInteger(tbs.value(TAG.integer).content);
  if ((serial[0] ?? 0) >= 0x80) throw new MalformedDer("a negative serial number");
  const algorithm = tbs.value(TAG.sequence).content;
  if (!outer.value(TAG.sequence).content.equals(algorithm)) {
    throw new MalformedDer("two algorithms of one signature");
  }
  const issuer = tbs.value(TAG.sequence).whole;
  parseName(new DerReader(issuer));
  const validity = tbs.inside(TAG.sequence);
  const notBeforeMs = parseTime(validity);
  const notAfterMs = parseTime(validity);
  const subject = tbs.value(TAG.sequence).whole;
  const subjectAttributes = parseName(new DerReader(subject));
  const publicKey = parsePublicKey(tbs.value(TAG.sequence).whole);
  if (version > 1) {
    tbs.optional(context(1));
    tbs.optional(context(2));
  }
  const extensions = version === 3 ? tbs.optional(constructed(3)) : undefined;
  return {
    raw,
    digest: createHash("sha256").update(raw).digest("hex"),
    signed,
    signature: outer.bitString(),
    algorithm,
    version,
    serialNumber: BigInt(`0x${serial.toString("hex")}`).toString(),
    issuer: issuer.toString("latin1"),
    subject: subject.toString("latin1"),
    subjectAttributes,
    notBeforeMs,
    notAfterMs,
    publicKey,
    extensions: extensions === undefined ? NO_EXTENSIONS : parseExtensions(extensions.content),
  };
}

/** The texts of an attribute of the subject, in order. */
export function subjectTexts({ subjectAttributes }: Certificate, wanted: string): string[] {
  return subjectAttributes.flatMap(({ type, value }) => (type === wanted ? [value] : []));
}

/** A zone of no hours and minutes is written "Z". */
const UTC_TIME = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?(Z|[+-](?!0000)\d{4})$/;
const GENERALIZED_TIME = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(Z|[+-](?!0000)\d{4})$/;

function parseTime(reader: DerReader): number {
  const { tag, content } = reader.any();
  const text = content.toString("latin1");
  const isShort = tag === TAG.utcTime;
  if (!isShort && tag !== TAG.generalizedTime) throw new MalformedDer("no time");
  const found = (isShort ? UTC_TIME : GENERALIZED_TIME).exec(text);
  if (found === null) throw new MalformedDer("a time");
  const [, year = "", month, day, hour, minute, second = "00", zone = "Z"] = found;
  const full = isShort ? `${Number(year) >= 50 ? "19" : "20"}${year}` : year;
  const local = `${full}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const ms = Date.parse(local);
  // Not a day that the calendar does not have.
  if (Number.isNaN(ms) || new Date(ms).toISOString() !== local) throw new MalformedDer("a time");
  if (zone === "Z") return ms;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3));
  return ms - Number(`${zone[0]}1`) * minutes * 60_000;
}

type Draft = { -readonly [Field in keyof Extensions]: Extensions[Field] };

const NO_EXTENSIONS: Extensions = Object.freeze({
  keyUsage: 0,
  extendedUsages: [],
  subjectKeyId: "",
  authorityKeyId: "",
  policies: NO_POLICIES,
  hasUnhandledCritical: false,
});

function parseExtensions(content: Buffer): Extensions {
  const draft: Draft = { ...NO_EXTENSIONS };
  const known = new Set<string>();
  const list = new DerReader(content).inside(TAG.sequence);
  while (!list.isEmpty) {
    const extension = list.inside(TAG.sequence);
    const identifier = extension.objectIdentifier();
    const isCritical = extension.nextIs(TAG.boolean) && extension.boolean();
    const { content: value } = extension.value(TAG.octetString);
    if (known.has(identifier)) throw new MalformedDer("an extension twice");
    known.add(identifier);
    if (isCritical && MUST_NOT_BE_CRITICAL.has(identifier)) {
      throw new MalformedDer("an extension that must not be critical");
    }
    const isUnderstood = EXTENSIONS[identifier]?.(draft, value) ?? false;
    if (isCritical && !isUnderstood) draft.hasUnhandledCritical = true;
  }
  return draft;
}

const MUST_NOT_BE_CRITICAL: ReadonlySet<string> = new Set([
  "2.5.29.14",
  "2.5.29.35",
  "1.3.6.1.5.5.7.1.1",
]);

/** RFC 5280 section 4.2, by identifier: each notes what it says, and returns whether all of it is understood. */
const EXTENSIONS: Readonly<Record<string, (draft: Draft, value: Buffer) => boolean>> = {
  // Subject key identifier.
  "2.5.29.14": (draft, value) => {
    draft.subjectKeyId = new DerReader(value).value(TAG.octetString).content.toString("latin1");
    return true;
  },
  // Key usage.
  "2.5.29.15": (draft, value) => {
    const [first = 0, second = 0] = new DerReader(value).bitString();
    for (let bit = 0; bit < 9; bit++) {
      const byte = bit < 8 ? first : second;
      if ((byte & (0x80 >> (bit % 8))) !== 0) draft.keyUsage |= 1 << bit;
    }
    return true;
  },
  // Subject alternative names.
  "2.5.29.17": (draft, value) => {
    const names = parseAlternativeNames(value);
    draft.alternativeNames = names;
    draft.alternativeNamesDer = value.toString("latin1");
    return Object.values(names).some(({ length }) => length > 0);
  },
  // Basic constraints.
  "2.5.29.19": (draft, value) => {
    const constraints = new DerReader(value).inside(TAG.sequence);
    const isAuthority = constraints.nextIs(TAG.boolean) && constraints.boolean();
    const pathLengthMax = constraints.nextIs(TAG.integer) ? constraints.integer() : undefined;
    if (pathLengthMax !== undefined && pathLengthMax < 0) throw new MalformedDer("a path length");
    draft.basicConstraints = { isAuthority, pathLengthMax };
    return true;
  },
  // Name constraints.
  "2.5.29.30": (draft, value) => {
    draft.nameConstraints = parseNameConstraints(value);
    return !draft.nameConstraints.hasOthers;
  },
  // Distribution points of revocation lists, which are not looked at.
  "2.5.29.31": (_draft, value) => {
    const points = new DerReader(value).inside(TAG.sequence);
    while (!points.isEmpty) points.value(TAG.sequence);
    return true;
  },
  // Policies.
  "2.5.29.32": (draft, value) => {
    draft.policies = { ...draft.policies, identifiers: parsePolicies(value) };
    return true;
  },
  // Policy mappings.
  "2.5.29.33": (draft, value) => {
    draft.policies = { ...draft.policies, mappings: parseMappings(value) };
    return true;
  },
  // Authority key identifier.
  "2.5.29.35": (draft, value) => {
    const identifier = new DerReader(value).inside(TAG.sequence).optional(context(0));
    draft.authorityKeyId = identifier?.content.toString("latin1") ?? "";
    return true;
  },
  // Policy constraints.
  "2.5.29.36": (draft, value) => {
    draft.policies = { ...draft.policies, ...parsePolicyConstraints(value) };
    return true;
  },
  // Extended key usage.
  "2.5.29.37": (draft, value) => {
    const usages: string[] = [];
    const list = new DerReader(value).inside(TAG.sequence);
    while (!list.isEmpty) usages.push(list.objectIdentifier());
    draft.extendedUsages = usages;
    return true;
  },
  // Inhibit any policy.
  "2.5.29.54": (draft, value) => {
    draft.policies = { ...draft.policies, inhibitAny: parseInhibitAny(value) };
    return true;
  },
  // Access to the authority's information, which is not looked at.
  "1.3.6.1.5.5.7.1.1": (_draft, value) => {
    const entries = new DerReader(value).inside(TAG.sequence);
    while (!entries.isEmpty) entries.inside(TAG.sequence).objectIdentifier();
    return true;
  },
};
