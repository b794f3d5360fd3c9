/**
 * Certificate authorities from files: parses a bundle, tells which certificates may issue, and reports
 * unusable ones at the start, because later only refusals would show them.
 */
import { X509Certificate } from "node:crypto";
import type { Logger } from "../../storage/base/logger.js";
import {
  type Certificate,
  KEY_CERT_SIGN,
  parseCertificate,
} from "../../storage/x509/certificate.js";
import { pemBlocks } from "../../storage/x509/certificate-pool.js";
import { pemTexts } from "../../storage/x509/pem-texts.js";
import { isUsableFor } from "../../storage/x509/verify-path.js";

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

/** The limit of problems in one line. */
const PROBLEMS_SHOWN_MAX = 5;

/** The certificates of a PEM file, as text. */
export function splitBundle(bundle: string): string[] {
  return [...pemTexts(bundle)]
    .filter(({ type, body }) => type === "CERTIFICATE" && body !== "")
    .map(({ whole }) => whole);
}

/** The certificates of a PEM file. @throws {MalformedDer} if one of them cannot be read */
export function parseAuthorities(bundle: string): Certificate[] {
  return pemBlocks(bundle).map(parseCertificate);
}

/** One line for each unusable certificate of a bundle. */
export function problemsOfAuthorities(
  { bundle, vouchFor }: Pick<GivenAuthorities, "bundle" | "vouchFor">,
  nowMs: number,
): string[] {
  const blocks = splitBundle(bundle);
  if (blocks.length === 0) return ["there is no PEM certificate"];
  return blocks.flatMap((pem, index) => {
    const number = `certificate ${index + 1}`;
    const certificate = readCertificate(pem);
    if (certificate === undefined) return [`${number} cannot be read`];
    const problem = problemOf(certificate, vouchFor, nowMs);
    const { subject } = new X509Certificate(pem);
    const name = subject?.replaceAll("\n", ", ") || "without a subject";
    return problem === undefined ? [] : [`${number} (${name}) ${problem}`];
  });
}

function readCertificate(pem: string): Certificate | undefined {
  try {
    return parseAuthorities(pem)[0];
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

function problemOf(
  { notBeforeMs, notAfterMs, ...authority }: Certificate,
  vouchFor: Vouched,
  nowMs: number,
): string | undefined {
  const { basicConstraints, keyUsage, hasUnhandledCritical } = authority.extensions;
  // A server's own certificate may be trusted, too.
  if (vouchFor === "clients") {
    if (keyUsage !== 0 && (keyUsage & KEY_CERT_SIGN) === 0) {
      return "may not sign certificates: its key usage leaves that out";
    }
    if (basicConstraints === undefined ? authority.version === 3 : !basicConstraints.isAuthority) {
      return "is not an authority: its basic constraints do not say CA:TRUE";
    }
  }
  if (hasUnhandledCritical) return "has a critical extension that is not understood";
  if (!isUsableFor(authority, vouchFor)) {
    return `may not vouch for ${vouchFor}: its extended key usage leaves them out`;
  }
  if (nowMs < notBeforeMs) return `is not valid before ${new Date(notBeforeMs).toISOString()}`;
  if (nowMs > notAfterMs) return `has not been valid since ${new Date(notAfterMs).toISOString()}`;
  return undefined;
}
