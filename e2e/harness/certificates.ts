/** Certificates that no server trusts, to see that it does not. */
import "reflect-metadata";
import { webcrypto } from "node:crypto";
import { X509CertificateGenerator } from "@peculiar/x509";

const DAY_MS = 86_400_000;

/** A self-signed client certificate that claims to be an administrator. */
export async function makeUntrustedCertificate(): Promise<{ cert: string; key: string }> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: "CN=somebody, O=system:masters",
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + DAY_MS),
  });
  const key = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey));
  return {
    cert: certificate.toString("pem"),
    key: `-----BEGIN PRIVATE KEY-----\n${key.toString("base64")}\n-----END PRIVATE KEY-----\n`,
  };
}
