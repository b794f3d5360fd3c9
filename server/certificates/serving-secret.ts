/**
 * The serving certificate as a Secret that somebody renews from outside: which of its parts must be made anew. The
 * authority stays for its ten years, and a new one is told to clients together with the one before it, so
 * that whoever trusts the one goes on while the other spreads. Decides only; nothing is read or written here.
 */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { isWornOut, makeServingAuthority, signServing } from "./certificates.js";
import type { Identity } from "./identity-files.js";

/** What there is; parts that are not there, or cannot be read, are made. */
export interface ServingState {
  /** With its key, which only who renews may read. */
  readonly authority?: Identity;
  /** PEM, one after the other: the authorities that clients are told. */
  readonly authorities?: string;
  /** PEM, which may be followed by those that vouch for it. */
  readonly certificate?: string;
}

export interface ServingRenewal {
  readonly authority: Identity;
  readonly authorities: string;
  readonly serving: Identity;
}

const DAY_MS = 24 * 3_600_000;
/** A certificate with less time left is replaced: two chances by a weekly run, and a month by hand. */
const RENEWAL_MS = 60 * DAY_MS;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----\n?/g;

/** What takes the place of `state`; undefined when all of it is good for these hosts. */
export async function renewServing(
  state: ServingState,
  hosts: readonly string[],
  now: Date,
): Promise<ServingRenewal | undefined> {
  const kept = state.authority;
  const isKept = kept !== undefined && !isWornOut(kept, now);
  const told = (state.authorities?.match(CERTIFICATE) ?? []).filter((pem) => isAlive(pem, now));
  if (isKept && told.includes(kept.cert) && isGood(state.certificate, kept, hosts, now)) {
    return undefined;
  }
  const authority = isKept ? kept : await makeServingAuthority(now);
  const serving = await signServing(authority, hosts, now);
  return {
    authority,
    authorities: [authority.cert, ...told.filter((pem) => pem !== authority.cert)].join(""),
    serving: { key: serving.key, cert: serving.cert + authority.cert },
  };
}

/** Of its own authority, for all hosts, and for long enough. */
function isGood(
  pem: string | undefined,
  authority: Identity,
  hosts: readonly string[],
  now: Date,
): boolean {
  const certificate = parse(pem);
  if (certificate === undefined) return false;
  return (
    certificate.verify(new X509Certificate(authority.cert).publicKey) &&
    Date.parse(certificate.validTo) - now.getTime() > RENEWAL_MS &&
    hosts.every((host) =>
      isIP(host) === 0
        ? certificate.checkHost(host, { subject: "never" }) !== undefined
        : certificate.checkIP(host) !== undefined,
    )
  );
}

function isAlive(pem: string, now: Date): boolean {
  const certificate = parse(pem);
  return certificate !== undefined && Date.parse(certificate.validTo) > now.getTime();
}

function parse(pem: string | undefined): X509Certificate | undefined {
  try {
    return pem === undefined ? undefined : new X509Certificate(pem);
  } catch {
    return undefined;
  }
}
