/** The certificates of a conversion webhook's `caBundle`. Pure. */
import { X509Certificate } from "node:crypto";

/** A certificate in PEM; one with headers does not count, as a colon is none of its characters. */
const BLOCK =
  /^-----BEGIN CERTIFICATE-----[ \t]*\r?\n([A-Za-z0-9+/=\s]*)-----END CERTIFICATE-----/gm;

/** Further ones are not read, as that takes time. */
const BLOCKS_MAX = 256;

/** Whether a caBundle, in base64, has a certificate, and none that cannot be read. */
export function isBundle(text: string): boolean {
  const blocks = [...Buffer.from(text, "base64").toString("latin1").matchAll(BLOCK)];
  return (
    blocks.length > 0 && blocks.slice(0, BLOCKS_MAX).every(([, body = ""]) => isCertificate(body))
  );
}

function isCertificate(body: string): boolean {
  try {
    return new X509Certificate(Buffer.from(body, "base64")).raw.length > 0;
  } catch {
    return false;
  }
}
