/** The certificates of a conversion webhook's `caBundle`. Pure. */
import { X509Certificate } from "node:crypto";
import { pemTexts } from "../../../storage/x509/pem-texts.js";

/** What is within a certificate in PEM; one with headers does not count, as a colon is none of its characters. */
const BODY = /^[ \t]*\r?\n([A-Za-z0-9+/=\s]*)$/;

/** Further ones are not read, as that takes time. */
const BLOCKS_MAX = 256;

/** Whether a caBundle, in base64, has a certificate, and none that cannot be read. */
export function isBundle(text: string): boolean {
  const bundle = Buffer.from(text, "base64").toString("latin1");
  let blocks = 0;
  for (const { type, body, index } of pemTexts(bundle)) {
    const isOnLine = index === 0 || bundle[index - 1] === "\n";
    const [, inner] = (type === "CERTIFICATE" && isOnLine && BODY.exec(body)) || [];
    if (inner === undefined) continue;
    if (!isCertificate(inner)) return false;
    if (++blocks === BLOCKS_MAX) break;
  }
  return blocks > 0;
}

function isCertificate(body: string): boolean {
  try {
    return new X509Certificate(Buffer.from(body, "base64")).raw.length > 0;
  } catch {
    return false;
  }
}
