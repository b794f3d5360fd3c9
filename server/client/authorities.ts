/**
 * Certificate authorities from files: parses a bundle, tells which certificates may issue, and reports
 * unusable ones at the start, because later only refusals would show them.
 */
// The X.509 library resolves its parts by decorators and needs this import first.
import "reflect-metadata";
import { X509Certificate } from "node:crypto";
import {
  KeyUsageFlags,
  KeyUsagesExtension,
  X509Certificate as ParsedCertificate,
} from "@peculiar/x509";
import type { Logger } from "../../storage/base/logger.js";

/** The parties that the authorities certify. */
export type Vouched = "clients" | "servers";

export interface GivenAuthorities {
  /** The flag or field that names them, for example "--client-ca-file". */
  readonly source: string;
  /** The file that holds them, if it is separate. */
  readonly file?: string;
  /** PEM. */
  readonly bundle: string;
  readonly vouchFor: Vouched;
}

/** Extended key usages (RFC 5280 section 4.2.1.12): the required one, and the one that allows all. */
const ANY_USAGE = "2.5.29.37.0";
const USAGES: Readonly<Record<Vouched, string>> = {
  clients: "1.3.6.1.5.5.7.3.2",
  servers: "1.3.6.1.5.5.7.3.1",
};

/** The limit of problems in one line. */
const PROBLEMS_SHOWN_MAX = 5;

/** The certificates of a PEM file, as text. */
export function splitBundle(bundle: string): string[] {
  const blocks = bundle.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g);
  return blocks === null ? [] : [...blocks];
}

/** The certificates of a PEM file. @throws {Error} if one of them cannot be read */
export function parseAuthorities(bundle: string): X509Certificate[] {
  return splitBundle(bundle).map((pem) => new X509Certificate(pem));
}

/**
 * Whether a directly trusted certificate may issue others. Since version 3 it must state so; older
 * ones cannot, and being trusted is enough.
 */
export function isRootAuthority(certificate: X509Certificate): boolean {
  return certificate.ca || versionOf(certificate) < 3;
}

/** An authority with limited usages limits those of its certificates. No list = every usage. */
export function isUsableFor(vouched: Vouched, certificate: X509Certificate): boolean {
  const usages = certificate.keyUsage as readonly string[] | undefined;
  return usages === undefined || usages.includes(USAGES[vouched]) || usages.includes(ANY_USAGE);
}

/** Whether now is within its dates. */
export function isValidAt(certificate: X509Certificate, nowMs: number): boolean {
  return Date.parse(certificate.validFrom) <= nowMs && nowMs <= Date.parse(certificate.validTo);
}

/** One line for each unusable certificate of a bundle. */
export function problemsOfAuthorities(
  { bundle, vouchFor }: Pick<GivenAuthorities, "bundle" | "vouchFor">,
  nowMs: number,
): string[] {
  const read = splitBundle(bundle).map(readCertificate);
  if (read.length === 0) return ["there is no PEM certificate"];
  const authorities = read.filter((certificate) => certificate !== undefined);
  return read.flatMap((certificate, index) => {
    const number = `certificate ${index + 1}`;
    if (certificate === undefined) return [`${number} cannot be read`];
    const problem = problemOf(certificate, { authorities, vouchFor, nowMs });
    const name = certificate.subject?.replaceAll("\n", ", ") || "without a subject";
    return problem === undefined ? [] : [`${number} (${name}) ${problem}`];
  });
}

function readCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

/** Logs the unusable certificates of a bundle in one line. */
export function warnOfAuthorities(logger: Logger, given: GivenAuthorities, nowMs: number): void {
  const problems = problemsOfAuthorities(given, nowMs);
  if (problems.length === 0) return;
  const { source, file } = given;
  const more = problems.length - PROBLEMS_SHOWN_MAX;
  const shown = problems.slice(0, PROBLEMS_SHOWN_MAX);
  if (more > 0) shown.push(`and ${more} more`);
  logger.warn(
    { source, ...(file === undefined ? {} : { file }), problems: shown },
    "authorities that cannot be used as they are given",
  );
}

interface Surroundings {
  readonly authorities: readonly X509Certificate[];
  readonly vouchFor: Vouched;
  readonly nowMs: number;
}

function problemOf(
  authority: X509Certificate,
  { authorities, vouchFor, nowMs }: Surroundings,
): string | undefined {
  const isSelfSigned = hasSigned(authority, authority);
  // OpenSSL also trusts a self-signed server certificate itself.
  const isServerItself = vouchFor === "servers" && isSelfSigned;
  if (!maySignCertificates(authority) && !isServerItself) {
    return "may not sign certificates: its key usage leaves that out";
  }
  if (!isRootAuthority(authority) && !isServerItself) {
    return "is not an authority: its basic constraints do not say CA:TRUE";
  }
  if (!isUsableFor(vouchFor, authority)) {
    return `may not vouch for ${vouchFor}: its extended key usage leaves them out`;
  }
  if (nowMs < Date.parse(authority.validFrom)) return `is not valid before ${authority.validFrom}`;
  if (nowMs > Date.parse(authority.validTo)) return `has not been valid since ${authority.validTo}`;
  // Server chains must end at a root, client chains at any given authority.
  if (
    vouchFor === "servers" &&
    !isSelfSigned &&
    !authorities.some((o) => hasSigned(o, authority))
  ) {
    return "is not a root, and its issuer is not given with it";
  }
  return undefined;
}

/** Whether names, key usage and signature prove that one certificate issued the other. */
export function hasSigned(issuer: X509Certificate, certificate: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function maySignCertificates({ raw }: X509Certificate): boolean {
  const usages = new ParsedCertificate(new Uint8Array(raw)).getExtension(KeyUsagesExtension);
  return usages === null || (usages.usages & KeyUsageFlags.keyCertSign) !== 0;
}

/**
 * 1, 2 or 3 (RFC 5280 section 4.1.2.1). The first value of the signed part, wrapped as `[0] {
 * INTEGER }`; absent in version 1.
 */
function versionOf({ raw }: X509Certificate): number {
  const first = contentAt(raw, contentAt(raw, 0));
  return raw[first] === 0xa0 ? (raw[first + 4] ?? 2) + 1 : 1;
}

/** Where the content of the DER value at `at` begins. */
function contentAt(der: Uint8Array, at: number): number {
  const length = der[at + 1] ?? 0;
  return at + 2 + (length < 0x80 ? 0 : length & 0x7f);
}
