/** A certificate authority for tests: issues serving and client certificates that live for a day. */
import "reflect-metadata";
import { randomBytes, randomUUID, webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

export interface TestIdentity {
  readonly cert: string;
  readonly key: string;
}

interface Period {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const HOUR_MS = 3_600_000;

export class TestAuthority {
  /** PEM of the authority's own certificate. */
  readonly cert: string;
  readonly #keys: webcrypto.CryptoKeyPair;
  readonly #certificate: x509.X509Certificate;

  private constructor(certificate: x509.X509Certificate, keys: webcrypto.CryptoKeyPair) {
    this.cert = `${certificate.toString("pem")}\n`;
    this.#certificate = certificate;
    this.#keys = keys;
  }

  /** @param name must be unique, because trust is looked up by name */
  static async create(name = `test authority ${randomUUID()}`): Promise<TestAuthority> {
    const keys = await newKeys();
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      serialNumber: randomBytes(8).toString("hex"),
      name: `CN=${name}`,
      keys,
      signingAlgorithm: ALGORITHM,
      ...validity(),
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      ],
    });
    return new TestAuthority(certificate, keys);
  }

  /** For a server with these DNS names and addresses. */
  async issueServer(
    hosts: readonly string[] = ["127.0.0.1", "localhost"],
    period: Partial<Period> = {},
  ): Promise<TestIdentity> {
    const names = hosts.map((value) =>
      /^[\d.]+$|:/.test(value) ? { type: "ip" as const, value } : { type: "dns" as const, value },
    );
    const extension = new x509.SubjectAlternativeNameExtension(names);
    return await this.#issue(`CN=${hosts[0]}`, [extension], period);
  }

  /** @param subject such as "CN=jane, O=developers" */
  async issueClient(subject: string): Promise<TestIdentity> {
    return await this.#issue(subject, []);
  }

  async #issue(
    subject: string,
    extensions: x509.Extension[],
    period: Partial<Period> = {},
  ): Promise<TestIdentity> {
    const keys = await newKeys();
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: randomBytes(8).toString("hex"),
      subject,
      issuer: this.#certificate.subject,
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: ALGORITHM,
      ...validity(),
      ...period,
      extensions,
    });
    const key = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey));
    const lines = key.toString("base64").match(/.{1,64}/g) ?? [];
    return {
      cert: `${certificate.toString("pem")}\n`,
      key: `-----BEGIN PRIVATE KEY-----\n${lines.join("\n")}\n-----END PRIVATE KEY-----\n`,
    };
  }
}

function validity(): Period {
  return {
    notBefore: new Date(Date.now() - HOUR_MS),
    notAfter: new Date(Date.now() + 24 * HOUR_MS),
  };
}

async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}
