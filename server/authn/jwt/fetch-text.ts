/**
 * GET over HTTPS from a server that we do not control: one deadline for everything, a bounded answer,
 * few redirects, and the certificate rules for issuers (S2-OIDC-14). Errors name the address and the
 * reason, never the contents.
 */

import { X509Certificate } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { checkServerIdentity, type DetailedPeerCertificate, type PeerCertificate } from "node:tls";
import { isRootAuthority } from "../../client/authorities.js";

export interface FetchRequest {
  /** https only. */
  readonly url: string;
  /** PEM bundles: one of these authorities must have signed the server's certificate. */
  readonly authorities: readonly string[];
  /** Sent to this server only, not to redirect targets. */
  readonly bearer?: string;
}

/** Returns the answer's body. @throws {Error} for every failure */
export type Fetcher = (wanted: FetchRequest, signal: AbortSignal) => Promise<string>;

/** For connection, redirects and answer together. */
const DEADLINE_MS = 10_000;
/** Discovery documents and key sets have a few KiB; the largest known ones about 100. */
const ANSWER_BYTES_MAX = 1024 * 1024;
const REDIRECTIONS_MAX = 3;
/** Longer chains are refused. */
const CHAIN_LINKS_MAX = 10;

export const fetchText: Fetcher = async (wanted, signal) => {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]);
  let { url } = wanted;
  for (let redirection = 0; redirection <= REDIRECTIONS_MAX; redirection++) {
    const message = await send(url, wanted, deadline);
    const { statusCode = 0 } = message;
    const { location } = message.headers;
    if (statusCode >= 300 && statusCode < 400 && location !== undefined) {
      message.destroy();
      url = new URL(location, url).href;
      continue;
    }
    if (statusCode !== 200) {
      message.destroy();
      throw new Error(`${wanted.url}: HTTP status ${statusCode}`);
    }
    return await readAll(message, wanted.url);
  }
  throw new Error(`${wanted.url}: more than ${REDIRECTIONS_MAX} redirections`);
};

function send(
  url: string,
  { url: first, authorities, bearer }: FetchRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  if (!url.startsWith("https:")) throw new Error(`${url}: not an https address`);
  const isFirst = new URL(url).origin === new URL(first).origin;
  const authorization = bearer !== undefined && isFirst ? `Bearer ${bearer}` : undefined;
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      // A separate connection, so that the certificate is checked each time.
      agent: false,
      ca: [...authorities],
      headers: {
        accept: "application/json, application/jwt;q=0.9, */*;q=0.1",
        ...(authorization === undefined ? {} : { authorization }),
      },
      signal,
      checkServerIdentity: (host, certificate) =>
        checkServerIdentity(host, certificate) ?? checkAuthorities(certificate),
    });
    outgoing.once("response", resolve);
    outgoing.once("error", (error) => reject(new Error(`${url}: ${error.message}`)));
    outgoing.end();
  });
}

/**
 * The issuer of the server's certificate must be an authority (CA:TRUE), even if self-signed: OpenSSL
 * alone accepts any certificate in the bundle.
 */
function checkAuthorities(leaf: PeerCertificate): Error | undefined {
  let certificate = leaf as DetailedPeerCertificate;
  for (let link = 0; link < CHAIN_LINKS_MAX; link++) {
    const issuer: DetailedPeerCertificate | undefined = certificate.issuerCertificate;
    if (issuer === undefined) return undefined;
    // For X.509 version 1 OpenSSL accepts only roots.
    if (!isRootAuthority(new X509Certificate(issuer.raw))) {
      return new Error("its certificate was not signed by an authority (CA:TRUE)");
    }
    if (issuer.fingerprint256 === certificate.fingerprint256) return undefined;
    certificate = issuer;
  }
  return new Error(`its certificate's chain has more than ${CHAIN_LINKS_MAX} links`);
}

async function readAll(message: IncomingMessage, url: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of message) {
      bytes += (chunk as Buffer).length;
      if (bytes > ANSWER_BYTES_MAX) break;
      chunks.push(chunk as Buffer);
    }
  } catch (error) {
    throw new Error(`${url}: ${(error as Error).message}`);
  }
  if (bytes <= ANSWER_BYTES_MAX) return Buffer.concat(chunks).toString("utf8");
  throw new Error(`${url}: the answer has more than ${ANSWER_BYTES_MAX} bytes`);
}
