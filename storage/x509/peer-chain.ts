/**
 * What the other side of a TLS connection presented: its certificate, and those that it sent along. Node's legacy
 * object for a peer's certificate is never asked for: some releases end the process when the subject has attributes
 * that are no text.
 */
import type { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { type Certificate, parseCertificate } from "./certificate.js";
import { MalformedDer } from "./der.js";
import { isUsableInTls } from "./public-key.js";

/** Certificates that a peer may send; more are not looked at. */
const SENT_MAX = 32;

/**
 * The peer's own certificate first; empty if it has none. Node returns what a client sent along only once per
 * connection, and a resumed session has lost it.
 * @throws {MalformedDer} if one of them cannot be read, or the peer's key is of a kind that is not used
 */
export function peerChain(socket: TLSSocket): Certificate[] {
  const sent: Buffer[] = [];
  let current: X509Certificate | undefined = socket.getPeerX509Certificate?.();
  while (current !== undefined && sent.length < SENT_MAX) {
    sent.push(current.raw);
    const next: X509Certificate | undefined = current.issuerCertificate;
    current = next === current ? undefined : next;
  }
  const chain = sent.map(parseCertificate);
  const [leaf] = chain;
  if (leaf !== undefined && !isUsableInTls(leaf.publicKey)) throw new MalformedDer("a key");
  return chain;
}
