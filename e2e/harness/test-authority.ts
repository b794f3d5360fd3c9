/** Certificate authorities of a test: roots, intermediates, and certificates for clients and servers. */
import "reflect-metadata";
import { KeyObject, randomBytes, randomUUID, webcrypto } from "node:crypto";
import { isIP } from "node:net";
import * as x509 from "@peculiar/x509";
import { toFirstVersion } from "./first-version.js";

const KEY_ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const DAY_MS = 86_400_000;
const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";
/** The attribute in which users' certificates may say a uid. */
const UID = "1.3.6.1.4.1.57683.2";
const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";

/** PEM; `cert` has the intermediates behind it. */
export interface TestIdentity {
  readonly cert: string;
  readonly key: string;
}

export interface TestPeriod {
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

export interface TestRoot {
  /** Of X.509. */
  readonly version?: 1 | 3;
  readonly period?: TestPeriod;
  /** Whether its key may sign certificates. */
  readonly signs?: boolean;
  /** The only purpose of what it issues. */
  readonly usage?: "client" | "server";
}

export interface TestLeaf extends TestPeriod {
  readonly commonName?: string;
  readonly organizations?: readonly string[];
  /** What it may be used for; "any" = no such extension. Default: client. */
  readonly usage?: "client" | "server" | "any";
  /** The identifier of an extension that nobody knows and everybody must. */
  readonly criticalExtension?: string;
  /** Names and addresses of a server. */
  readonly hosts?: readonly string[];
  /** Attributes of the subject that hold a uid; "#03020041" is the DER of something that is no text. */
  readonly uids?: readonly string[];
}

export class TestAuthority {
  /** PEM: what has to be trusted. */
  readonly certificate: string;
  readonly #issuer: x509.X509Certificate;
  readonly #keys: webcrypto.CryptoKeyPair;
  /** PEM of the authorities between this one and the root, this one first. */
  readonly #intermediates: string;

  private constructor(
    issuer: x509.X509Certificate,
    keys: webcrypto.CryptoKeyPair,
    intermediates: string,
  ) {
    this.#issuer = issuer;
    this.#keys = keys;
    this.#intermediates = intermediates;
    this.certificate = pem(issuer);
  }

  /**
   * A root, of X.509 version 3 unless the first is asked for.
   * @param name must be unique, because trust is looked up by name
   */
  static async create(
    name = `test authority ${randomUUID()}`,
    { version = 3, period = {}, signs, usage }: TestRoot = {},
  ): Promise<TestAuthority> {
    x509.cryptoProvider.set(webcrypto);
    const keys = await newKeys();
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      ...validity(period),
      serialNumber: serialNumber(),
      name: [{ CN: [name] }],
      keys,
      signingAlgorithm: KEY_ALGORITHM,
      extensions: authorityExtensions(signs, usage),
    });
    if (version === 3) return new TestAuthority(certificate, keys, "");
    const old = toFirstVersion(
      new Uint8Array(certificate.rawData),
      KeyObject.from(keys.privateKey as never),
    );
    return new TestAuthority(new x509.X509Certificate(old), keys, "");
  }

  /** An authority below this one; its certificates come with the chain. */
  async createIntermediate(
    name: string,
    { isAuthority = true, version = 3 }: { isAuthority?: boolean; version?: 1 | 3 } = {},
  ) {
    const keys = await newKeys();
    let certificate = await this.#sign(keys, [{ CN: [name] }], {}, [
      ...(isAuthority ? authorityExtensions() : []),
    ]);
    if (version === 1) {
      const key = KeyObject.from(this.#keys.privateKey as never);
      const old = toFirstVersion(new Uint8Array(certificate.rawData), key);
      certificate = new x509.X509Certificate(old);
    }
    return new TestAuthority(certificate, keys, pem(certificate) + this.#intermediates);
  }

  async issue(leaf: TestLeaf = {}): Promise<TestIdentity> {
    const keys = await newKeys();
    const { commonName, organizations = [], usage = "client", hosts = [] } = leaf;
    const subject: x509.JsonName = organizations.map((one) => ({ O: [one] }));
    if (commonName !== undefined) subject.push({ CN: [commonName] });
    subject.push(...(leaf.uids ?? []).map((value) => ({ [UID]: [value] })));
    const extensions: x509.Extension[] = [new x509.BasicConstraintsExtension(false)];
    if (usage !== "any") {
      const oid = usage === "client" ? CLIENT_AUTH : SERVER_AUTH;
      extensions.push(new x509.ExtendedKeyUsageExtension([oid]));
    }
    if (leaf.criticalExtension !== undefined) {
      extensions.push(new x509.Extension(leaf.criticalExtension, true, new Uint8Array([5, 0])));
    }
    if (hosts.length > 0) {
      const names: x509.JsonGeneralNames = hosts.map((value) => ({
        type: isIP(value) === 0 ? "dns" : "ip",
        value,
      }));
      extensions.push(new x509.SubjectAlternativeNameExtension(names));
    }
    const certificate = await this.#sign(keys, subject, leaf, extensions);
    return { cert: pem(certificate) + this.#intermediates, key: await pemOfKey(keys) };
  }

  /** For a server with these DNS names and addresses. */
  issueServer(
    hosts: readonly string[] = ["127.0.0.1", "localhost"],
    period: TestPeriod = {},
  ): Promise<TestIdentity> {
    return this.issue({ ...period, hosts, usage: "server" });
  }

  issueClient(commonName: string, organizations: readonly string[] = []): Promise<TestIdentity> {
    return this.issue({ commonName, organizations });
  }

  /** PEM: for a program that issues certificates itself. */
  exportKey(): Promise<string> {
    return pemOfKey(this.#keys);
  }

  async #sign(
    keys: webcrypto.CryptoKeyPair,
    subject: x509.JsonName,
    period: TestPeriod,
    extensions: x509.Extension[],
  ): Promise<x509.X509Certificate> {
    return await x509.X509CertificateGenerator.create({
      ...validity(period),
      serialNumber: serialNumber(),
      subject,
      issuer: this.#issuer.subjectName,
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: KEY_ALGORITHM,
      extensions,
    });
  }
}

function authorityExtensions(signs = true, usage?: "client" | "server"): x509.Extension[] {
  const { keyCertSign, cRLSign } = x509.KeyUsageFlags;
  const extensions: x509.Extension[] = [
    new x509.BasicConstraintsExtension(true, undefined, true),
    new x509.KeyUsagesExtension(signs ? keyCertSign | cRLSign : cRLSign, true),
  ];
  if (usage === undefined) return extensions;
  const purpose = usage === "client" ? CLIENT_AUTH : SERVER_AUTH;
  return [...extensions, new x509.ExtendedKeyUsageExtension([purpose])];
}

async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(KEY_ALGORITHM, true, [
    "sign",
    "verify",
  ])) as webcrypto.CryptoKeyPair;
}

function validity({ notBefore, notAfter }: TestPeriod) {
  return {
    notBefore: notBefore ?? new Date(Date.now() - DAY_MS),
    notAfter: notAfter ?? new Date(Date.now() + DAY_MS),
  };
}

/** Positive: the first bit is clear. */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] as number) & 0x7f) | 0x40;
  return bytes.toString("hex");
}

function pem(certificate: x509.X509Certificate): string {
  return `${certificate.toString("pem")}\n`;
}

async function pemOfKey({ privateKey }: webcrypto.CryptoKeyPair): Promise<string> {
  const pkcs8 = await webcrypto.subtle.exportKey("pkcs8", privateKey);
  return `${x509.PemConverter.encode(pkcs8, "PRIVATE KEY")}\n`;
}
