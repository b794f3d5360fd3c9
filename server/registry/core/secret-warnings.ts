/** Warnings about Secrets of certificates that no server could use (R45). The words are those that clients know. */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { type PemText, pemTexts } from "../../../storage/x509/pem-texts.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";

/** Further blocks are not looked at, as certificates take time to read. */
const BLOCKS_MAX = 16;

interface Secret extends ApiObject {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>> | null;
}

export function secretWarnings(
  next: ApiObject,
  _current: unknown,
  { naming }: { readonly naming: Naming },
): readonly string[] {
  const { type, data } = next as Secret;
  if (type !== `${naming.labelDomain}/tls`) return [];
  const problem = pairProblem(textOf(data?.["tls.crt"]), textOf(data?.["tls.key"]));
  return problem === undefined ? [] : [problem];
}

function textOf(value = ""): string {
  return Buffer.from(value, "base64").toString("latin1");
}

/** Each begins and ends a line. */
function blocksOf(text: string): readonly PemText[] {
  const blocks: PemText[] = [];
  for (const block of pemTexts(text)) {
    const { type, body, index } = block;
    const isOnLines = (index === 0 || text[index - 1] === "\n") && /^[ \t]*\r?\n/.test(body);
    if (type === "" || !isOnLines || !body.endsWith("\n")) continue;
    blocks.push(block);
    if (blocks.length === BLOCKS_MAX) break;
  }
  return blocks;
}

function pairProblem(certificates: string, keys: string): string | undefined {
  const sent = blocksOf(certificates);
  const certificate = sent.find(({ type }) => type === "CERTIFICATE");
  if (certificate === undefined) return noCertificate(sent);
  const offered = blocksOf(keys);
  const key = offered.find(({ type }) => type === "PRIVATE KEY" || type.endsWith(" PRIVATE KEY"));
  if (key === undefined) return noKey(offered);
  const leaf = attempt(() => new X509Certificate(certificate.whole));
  if (leaf === undefined) return "x509: malformed certificate";
  const secret = attempt(() => createPrivateKey(key.whole));
  if (secret === undefined) return "tls: failed to parse private key";
  return mismatch(leaf, secret);
}

function mismatch(leaf: X509Certificate, secret: KeyObject): string | undefined {
  if (leaf.publicKey.asymmetricKeyType !== secret.asymmetricKeyType) {
    return "tls: private key type does not match public key type";
  }
  return leaf.checkPrivateKey(secret) ? undefined : "tls: private key does not match public key";
}

function noCertificate(sent: readonly PemText[]): string {
  const [first] = sent;
  if (first === undefined) return "tls: failed to find any PEM data in certificate input";
  if (sent.length === 1 && first.type.endsWith("PRIVATE KEY")) {
    return "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched";
  }
  return `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: ${typesOf(sent)}`;
}

function noKey(offered: readonly PemText[]): string {
  const [first] = offered;
  if (first === undefined) return "tls: failed to find any PEM data in key input";
  if (offered.length === 1 && first.type === "CERTIFICATE") {
    return "tls: found a certificate rather than a key in the PEM for the private key";
  }
  return `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: ${typesOf(offered)}`;
}

function typesOf(blocks: readonly PemText[]): string {
  return `[${blocks.map(({ type }) => type).join(" ")}]`;
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
