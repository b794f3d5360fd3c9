/**
 * Verifies a certificate as Go's crypto/x509 does (Certificate.Verify): whether a chain leads from it through the
 * given intermediates to a certificate that is trusted, be that a root, an intermediate, or the certificate itself.
 * All of it is ours because no library does this: OpenSSL and @peculiar/x509 build other chains, and the latter looks
 * at neither path lengths nor constraints. Used for both directions: clients' certificates and servers'.
 */
import { type Certificate, KEY_CERT_SIGN } from "./certificate.js";
import type { CertificatePool } from "./certificate-pool.js";
import { CertificateRefused, untimely } from "./certificate-refused.js";
import { checkHost } from "./host-names.js";
import { violationOf } from "./name-constraints.js";
import { arePoliciesValid } from "./policies.js";
import { problemOfSignature } from "./public-key.js";

/** Extended key usages (RFC 5280 section 4.2.1.12). */
export const USAGE = {
  clients: "1.3.6.1.5.5.7.3.2",
  servers: "1.3.6.1.5.5.7.3.1",
} as const;
const ANY_USAGE = "2.5.29.37.0";

/** Candidates for issuers that are tried for one certificate, all chains together. */
const ATTEMPTS_MAX = 100;

export interface VerifyOptions {
  readonly roots: CertificatePool;
  readonly intermediates: CertificatePool;
  readonly usage: keyof typeof USAGE;
  readonly nowMs: number;
  /** The name or address that the certificate must be for. */
  readonly host?: string;
}

/**
 * Returns the chain, from the certificate to the trusted one.
 * @throws {CertificateRefused} if there is none
 */
export function verifyPath(leaf: Certificate, options: VerifyOptions): readonly Certificate[] {
  const problem = problemInPlace("leaf", leaf, [], options.nowMs);
  if (problem !== undefined) throw problem;
  if (options.host !== undefined) checkHost(leaf, options.host);
  return new Search(leaf, options).run();
}

type CertificateRole = "leaf" | "intermediate" | "root";

class Search {
  readonly #leaf: Certificate;
  readonly #options: VerifyOptions;
  #attempts = 0;
  /** The first chain that failed by its constraints, and how many failed otherwise. */
  #violation: CertificateRefused | undefined;
  #badUsages = 0;
  #badPolicies = 0;
  #good: readonly Certificate[] | undefined;

  constructor(leaf: Certificate, options: VerifyOptions) {
    this.#leaf = leaf;
    this.#options = options;
  }

  run(): readonly Certificate[] {
    const { roots } = this.#options;
    const failure = roots.has(this.#leaf)
      ? void this.#judge([this.#leaf])
      : this.#extend([this.#leaf]);
    if (this.#good !== undefined) return this.#good;
    throw this.#violation ?? this.#usageProblem() ?? failure ?? noChain("");
  }

  /** Follows all candidates until a chain is good. Returns why there is no chain, good or not. */
  #extend(chain: readonly Certificate[]): CertificateRefused | undefined {
    const subject = chain.at(-1) as Certificate;
    const { roots, intermediates } = this.#options;
    let hint: { readonly error: CertificateRefused; readonly candidate: Certificate } | undefined;
    let failure: CertificateRefused | undefined;
    let hasChain = false;
    for (const [place, candidates] of [
      ["root", roots.issuersOf(subject)],
      ["intermediate", intermediates.issuersOf(subject)],
    ] as const) {
      for (const candidate of candidates) {
        if (++this.#attempts > ATTEMPTS_MAX) return tooManyAttempts();
        if (candidate.publicKey.kind === "unknown" || isInChain(candidate, chain)) continue;
        const unsigned = problemOfIssuer(candidate, subject);
        const misplaced = unsigned ?? problemInPlace(place, candidate, chain, this.#options.nowMs);
        if (unsigned === undefined) failure = misplaced;
        if (misplaced !== undefined) {
          hint ??= { error: misplaced, candidate };
          continue;
        }
        if (place === "root") {
          this.#judge([...chain, candidate]);
          hasChain = true;
        } else {
          failure = this.#extend([...chain, candidate]);
          hasChain ||= failure === undefined;
        }
        if (this.#good !== undefined) return undefined;
      }
    }
    return hasChain ? undefined : (failure ?? unknownAuthority(hint));
  }

  /** A whole chain: its policies, usages and constraints. */
  #judge(chain: readonly Certificate[]): void {
    const links = chain.map(({ subject, issuer, extensions: { policies } }) => {
      return { subject, issuer, policies };
    });
    if (!arePoliciesValid(links)) {
      this.#badPolicies++;
    } else if (!chain.every((one) => isUsableFor(one, this.#options.usage))) {
      this.#badUsages++;
    } else {
      const violation = violationInChain(chain);
      if (violation === undefined) this.#good = chain;
      else this.#violation ??= notAuthorizedForName(violation);
    }
  }

  #usageProblem(): CertificateRefused | undefined {
    if (this.#badUsages === 0 && this.#badPolicies === 0) return undefined;
    if (this.#badPolicies === 0) {
      return new CertificateRefused("x509: certificate specifies an incompatible key usage");
    }
    const policies = `${this.#badPolicies} candidate chains with invalid policies`;
    const usages = `${this.#badUsages} candidate chains with incompatible key usage, `;
    return noChain(`: ${this.#badUsages > 0 ? usages : ""}${policies}`);
  }
}

/** Whether one certificate's usages include it. No list = every usage. */
export function isUsableFor(
  { extensions: { extendedUsages } }: Pick<Certificate, "extensions">,
  usage: keyof typeof USAGE,
): boolean {
  if (extendedUsages.length === 0) return true;
  return extendedUsages.includes(ANY_USAGE) || extendedUsages.includes(USAGE[usage]);
}

/** The same subject, key and names: a chain through it again would not end. */
function isInChain(candidate: Certificate, chain: readonly Certificate[]): boolean {
  const names = candidate.extensions.alternativeNamesDer;
  for (const { subject, publicKey, extensions } of chain) {
    if (subject !== candidate.subject || publicKey.info !== candidate.publicKey.info) continue;
    const others = extensions.alternativeNamesDer;
    if (names === others) return true;
    if (names === undefined || others === undefined) return false;
  }
  return false;
}

/** Whether a certificate may sign others: only since version 3 can it say so, and must. */
export function maySign({ version, extensions }: Certificate): boolean {
  const { basicConstraints, keyUsage } = extensions;
  if (basicConstraints === undefined ? version === 3 : !basicConstraints.isAuthority) return false;
  return keyUsage === 0 || (keyUsage & KEY_CERT_SIGN) !== 0;
}

/** Why an authority has not signed a certificate. Whether their names agree is known before. */
function problemOfIssuer(
  issuer: Certificate,
  subject: Certificate,
): CertificateRefused | undefined {
  if (!maySign(issuer)) {
    return new CertificateRefused(
      "x509: invalid signature: parent certificate cannot sign this kind of certificate",
    );
  }
  const problem = problemOfSignature(issuer.publicKey, subject);
  return problem === undefined ? undefined : new CertificateRefused(problem);
}

/** Why a certificate may not be at its place above others. */
function problemInPlace(
  place: CertificateRole,
  certificate: Certificate,
  below: readonly Certificate[],
  nowMs: number,
): CertificateRefused | undefined {
  const { notBeforeMs, notAfterMs, extensions } = certificate;
  if (extensions.hasUnhandledCritical) {
    return new CertificateRefused("x509: unhandled critical extension");
  }
  if (nowMs < notBeforeMs || nowMs > notAfterMs) return untimely(nowMs, notBeforeMs, notAfterMs);
  const { isAuthority = false, pathLengthMax } = extensions.basicConstraints ?? {};
  if (place === "intermediate" && !isAuthority) {
    return new CertificateRefused("x509: certificate is not authorized to sign other certificates");
  }
  if (pathLengthMax !== undefined && below.length - 1 > pathLengthMax) {
    return new CertificateRefused("x509: too many intermediates for path length constraint");
  }
  return undefined;
}

/** Constraints bind the alternative names of every certificate below theirs. */
function violationInChain(chain: readonly Certificate[]): string | undefined {
  for (const [index, { extensions }] of chain.entries()) {
    if (extensions.alternativeNames === undefined) continue;
    const above = chain.slice(index + 1).flatMap(({ extensions: { nameConstraints } }) => {
      return nameConstraints === undefined ? [] : [nameConstraints];
    });
    if (above.length === 0) continue;
    const violation = violationOf(extensions.alternativeNames, above);
    if (violation !== undefined) return violation;
  }
  return undefined;
}

function notAuthorizedForName(detail: string): CertificateRefused {
  return new CertificateRefused(
    `x509: a root or intermediate certificate is not authorized to sign for this name: ${detail}`,
  );
}

function noChain(detail: string): CertificateRefused {
  return new CertificateRefused(`x509: no valid chains built${detail}`);
}

function tooManyAttempts(): CertificateRefused {
  return new CertificateRefused(
    "x509: signature check attempts limit reached while verifying certificate chain",
  );
}

function unknownAuthority(
  hint: { readonly error: CertificateRefused; readonly candidate: Certificate } | undefined,
): CertificateRefused {
  const words = "x509: certificate signed by unknown authority";
  if (hint === undefined) return new CertificateRefused(words);
  const name = candidateName(hint.candidate);
  return new CertificateRefused(
    `${words} (possibly because of ${JSON.stringify(hint.error.message)} while trying to verify candidate authority certificate ${JSON.stringify(name)})`,
  );
}

function candidateName({ subjectAttributes, serialNumber }: Certificate): string {
  const texts = (wanted: string) =>
    subjectAttributes.flatMap(({ type, value }) => (type === wanted && value ? [value] : []));
  return texts("2.5.4.3").at(-1) ?? texts("2.5.4.10")[0] ?? `serial:${serialNumber}`;
}
