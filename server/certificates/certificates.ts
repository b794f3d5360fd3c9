/**
 * Certificates that a replica generates for itself when none are configured: an authority and a
 * serving certificate, an authority for clients and the administrator's certificate. They are kept
 * in `<data-dir>/pki` (identity-files.ts) and reused at the next start. Certificates that are about to
 * expire or no longer fit (other host names) are replaced; the authorities are valid for ten years.
 *
 * Replicas of one etcd share the authorities (shared-authorities.ts), so a client that trusts one
 * replica trusts all; each signs a serving certificate for its own addresses.
 */
// The X.509 library uses decorators and needs this import first.
import "reflect-metadata";
import { randomBytes, webcrypto, X509Certificate } from "node:crypto";
import { chmod } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import * as x509 from "@peculiar/x509";
import { makeDirectory } from "../../storage/base/make-directory.js";
import { type Identity, readIdentity, storeIdentity, writeCertificate } from "./identity-files.js";

export interface OwnCertificates {
  readonly serving: Identity;
  /** The certificate of the authority that signed `serving`, for clients to trust. */
  readonly servingAuthority: string;
  /** The certificate of the authority that signed `admin`. */
  readonly clientAuthority: string;
  readonly admin: Identity;
}

/** The authorities for serving certificates and for client certificates. */
export interface Authorities {
  readonly serving: Identity;
  readonly client: Identity;
}

export interface CertificateOptions {
  /** Authorities shared by replicas; absent = this folder has its own. */
  readonly authorities?: Authorities;
  /** DNS names and IP addresses of this replica for clients. */
  readonly hosts: readonly string[];
  /** The administrator's common name, by the vendor's naming: "kubernetes-admin". */
  readonly adminName: string;
  /** The administrator's group. */
  readonly adminGroup: string;
  readonly now?: Date;
}

const DAY_MS = 24 * 3_600_000;
const AUTHORITY_DAYS = 3_650;
const LEAF_DAYS = 365;
/** Certificates with less time left are replaced. */
const RENEWAL_DAYS = 30;
/** Tolerates client clocks that are slow. */
const BACKDATE_MS = 3_600_000;

const SERVING_AUTHORITY = "keelson-serving-ca";
const CLIENT_AUTHORITY = "keelson-client-ca";

const KEY_ALGORITHM = { name: "ECDSA", namedCurve: "P-256" } as const;
const SIGNING_ALGORITHM = { name: "ECDSA", hash: "SHA-256" } as const;

const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";
const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";

/** Reads, makes or renews the certificates below `dataDir`. */
export async function ensureServingCertificates(
  dataDir: string,
  { hosts, adminName, adminGroup, authorities, now = new Date() }: CertificateOptions,
): Promise<OwnCertificates> {
  const directory = join(dataDir, "pki");
  await makeDirectory(directory, 0o700);
  await chmod(directory, 0o700);
  const files = (name: string) => join(directory, name);

  const servingAuthority =
    authorities?.serving ?? (await ensureAuthority(files("serving-ca"), SERVING_AUTHORITY, now));
  const clientAuthority =
    authorities?.client ?? (await ensureAuthority(files("client-ca"), CLIENT_AUTHORITY, now));
  const serving = await ensureLeaf(files("serving"), servingAuthority, now, {
    subject: { CN: "keelson" },
    usage: SERVER_AUTH,
    hosts: [...new Set(hosts)],
  });
  const admin = await ensureLeaf(files("admin"), clientAuthority, now, {
    subject: { O: adminGroup, CN: adminName },
    usage: CLIENT_AUTH,
    hosts: [],
  });
  const [olderServing, olderClient] = [servingAuthority, clientAuthority].map((authority) =>
    olderParts(authority, now),
  ) as [OlderParts, OlderParts];
  const own: OwnCertificates = {
    serving: {
      key: serving.key,
      cert: serving.cert + (olderServing.bridge || servingAuthority.cert),
    },
    servingAuthority: servingAuthority.cert + olderServing.root,
    clientAuthority: clientAuthority.cert + olderClient.root,
    // Other replicas may look for new authorities a day later.
    admin: { key: admin.key, cert: admin.cert + olderClient.bridge },
  };
  // For people to hand out, also where the replicas share the authorities.
  await Promise.all([
    writeCertificate(files("serving-ca"), own.servingAuthority),
    writeCertificate(files("client-ca"), own.clientAuthority),
    writeCertificate(files("serving"), own.serving.cert),
    writeCertificate(files("admin"), own.admin.cert),
  ]);
  return own;
}

/** The names of the API's own service, in every form that clients use. */
export function serviceHosts(serviceName: string): string[] {
  return [
    serviceName,
    `${serviceName}.default`,
    `${serviceName}.default.svc`,
    `${serviceName}.default.svc.cluster.local`,
  ];
}

interface LeafRequest {
  readonly subject: { readonly O?: string; readonly CN: string };
  readonly usage: string;
  readonly hosts: readonly string[];
}

async function ensureAuthority(file: string, name: string, now: Date): Promise<Identity> {
  const existing = await readIdentity(file);
  if (existing !== undefined && !isWornOut(existing, now)) return existing;
  const made = await makeAuthority(name, now, existing);
  return await storeIdentity(file, made, existing !== undefined);
}

/**
 * New authorities. Who trusts the older ones, or has a certificate of theirs, is trusted and trusts on until those end.
 */
export async function makeAuthorities(now: Date, older?: Authorities): Promise<Authorities> {
  const [serving, client] = await Promise.all([
    makeAuthority(SERVING_AUTHORITY, now, older?.serving),
    makeAuthority(CLIENT_AUTHORITY, now, older?.client),
  ]);
  return { serving, client };
}

async function makeAuthority(name: string, now: Date, older?: Identity): Promise<Identity> {
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity(now, AUTHORITY_DAYS),
    serialNumber: newSerialNumber(),
    name: [{ CN: [name] }],
    keys,
    signingAlgorithm: SIGNING_ALGORITHM,
    extensions: await authorityExtensions(keys),
  });
  const made = await toIdentity(keys, certificate);
  if (older === undefined || hasEnded(older.cert, now)) return made;
  return { ...made, older: (await makeBridge(name, keys, older, now)) + older.cert };
}

async function authorityExtensions(keys: webcrypto.CryptoKeyPair): Promise<x509.Extension[]> {
  return [
    new x509.BasicConstraintsExtension(true, undefined, true),
    new x509.KeyUsagesExtension(
      x509.KeyUsageFlags.keyCertSign |
        x509.KeyUsageFlags.cRLSign |
        x509.KeyUsageFlags.digitalSignature,
      true,
    ),
    await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
  ];
}

/** A new authority's certificate as the older one issues it; it ends with that one. */
async function makeBridge(
  name: string,
  keys: webcrypto.CryptoKeyPair,
  older: Identity,
  now: Date,
): Promise<string> {
  const issuer = new x509.X509Certificate(older.cert);
  const certificate = await x509.X509CertificateGenerator.create({
    ...validity(now, AUTHORITY_DAYS),
    notAfter: issuer.notAfter,
    serialNumber: newSerialNumber(),
    subject: [{ CN: [name] }],
    issuer: issuer.subjectName,
    publicKey: keys.publicKey,
    signingKey: await importKey(older.key),
    signingAlgorithm: SIGNING_ALGORITHM,
    extensions: [
      ...(await authorityExtensions(keys)),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
    ],
  });
  return `${certificate.toString("pem")}\n`;
}

function hasEnded(cert: string, now: Date): boolean {
  return now.getTime() > Date.parse(new X509Certificate(cert).validTo);
}

interface OlderParts {
  readonly bridge: string;
  readonly root: string;
}

/** The bridge from an older authority, and that one's certificate; "" where there is none, or it has ended. */
function olderParts({ older = "" }: Identity, now: Date): OlderParts {
  const [bridge = "", root = ""] = older.split(/(?<=-----END CERTIFICATE-----\n)/);
  return root === "" || hasEnded(root, now) ? { bridge: "", root: "" } : { bridge, root };
}

/** A new authority for serving certificates, which no client trusts yet. */
export function makeServingAuthority(now: Date): Promise<Identity> {
  return makeAuthority(SERVING_AUTHORITY, now);
}

/** A new serving certificate for these DNS names and addresses. */
export function signServing(
  authority: Identity,
  hosts: readonly string[],
  now: Date,
): Promise<Identity> {
  const request = { subject: { CN: "keelson" }, usage: SERVER_AUTH, hosts: [...new Set(hosts)] };
  return makeLeaf(authority, now, request);
}

async function ensureLeaf(
  file: string,
  authority: Identity,
  now: Date,
  request: LeafRequest,
): Promise<Identity> {
  const existing = await readIdentity(file);
  if (existing !== undefined && isUsable(existing, now) && fits(existing, authority, request)) {
    return existing;
  }
  return await storeIdentity(file, await makeLeaf(authority, now, request), true);
}

async function makeLeaf(authority: Identity, now: Date, request: LeafRequest): Promise<Identity> {
  const keys = await newKeys();
  const issuer = new x509.X509Certificate(authority.cert);
  const certificate = await x509.X509CertificateGenerator.create({
    ...validity(now, LEAF_DAYS),
    serialNumber: newSerialNumber(),
    subject: Object.entries(request.subject).map(([type, value]) => ({ [type]: [value] })),
    issuer: issuer.subjectName,
    publicKey: keys.publicKey,
    signingKey: await importKey(authority.key),
    signingAlgorithm: SIGNING_ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([request.usage]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      ...(request.hosts.length === 0
        ? []
        : [new x509.SubjectAlternativeNameExtension(request.hosts.map(toGeneralName))]),
    ],
  });
  return await toIdentity(keys, certificate);
}

function toGeneralName(host: string): x509.JsonGeneralName {
  return isIP(host) === 0 ? { type: "dns", value: host } : { type: "ip", value: host };
}

async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  x509.cryptoProvider.set(webcrypto);
  return (await webcrypto.subtle.generateKey(KEY_ALGORITHM, true, [
    "sign",
    "verify",
  ])) as webcrypto.CryptoKeyPair;
}

async function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  const der = x509.PemConverter.decodeFirst(pem);
  return (await webcrypto.subtle.importKey("pkcs8", der, KEY_ALGORITHM, true, [
    "sign",
  ])) as webcrypto.CryptoKey;
}

function validity(now: Date, days: number): { notBefore: Date; notAfter: Date } {
  return {
    notBefore: new Date(now.getTime() - BACKDATE_MS),
    notAfter: new Date(now.getTime() + days * DAY_MS),
  };
}

/** 127 random bits: positive, and unique without a counter. */
function newSerialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] as number) & 0x7f) | 0x40;
  return bytes.toString("hex");
}

async function toIdentity(
  keys: webcrypto.CryptoKeyPair,
  certificate: x509.X509Certificate,
): Promise<Identity> {
  const pkcs8 = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return {
    key: `${x509.PemConverter.encode(pkcs8, "PRIVATE KEY")}\n`,
    cert: `${certificate.toString("pem")}\n`,
  };
}

/** Whether it is valid now, and long enough to start with. */
function isUsable(identity: Identity, now: Date): boolean {
  const { validFrom } = new X509Certificate(identity.cert);
  return !isWornOut(identity, now) && Date.parse(validFrom) <= now.getTime();
}

/**
 * Whether it ends soon or has ended. An authority that is not yet valid is never replaced: this machine's
 * clock is behind, and whoever trusts the authority would be shut out.
 */
export function isWornOut({ cert }: Identity, now: Date): boolean {
  return now.getTime() >= Date.parse(new X509Certificate(cert).validTo) - RENEWAL_DAYS * DAY_MS;
}

/** Whether this authority signed it, for this subject and at least these hosts. */
function fits(existing: Identity, authority: Identity, { subject, hosts }: LeafRequest): boolean {
  const certificate = new X509Certificate(existing.cert);
  const issuer = new X509Certificate(authority.cert);
  const { O, CN } = certificate.toLegacyObject().subject;
  return (
    certificate.checkIssued(issuer) &&
    certificate.verify(issuer.publicKey) &&
    O === subject.O &&
    CN === subject.CN &&
    hosts.every((host) =>
      isIP(host) === 0
        ? certificate.checkHost(host.replace(/^\*/, "any"), { subject: "never" }) !== undefined
        : certificate.checkIP(host) !== undefined,
    )
  );
}
