/**
 * GET over HTTPS from a server that we do not control: one deadline for everything, a bounded answer,
 * few redirects, and the certificate rules for issuers (S2-OIDC-14). Errors name the address and the
 * reason, never the contents.
 */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { isIP } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import type { Certificate } from "../../../storage/x509/certificate.js";
import { ServerTrust } from "../../../storage/x509/server-trust.js";
import { maySign } from "../../../storage/x509/verify-path.js";

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

async function send(
  url: string,
  { url: first, authorities, bearer }: FetchRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  if (!url.startsWith("https:")) throw new Error(`${url}: not an https address`);
  const isFirst = new URL(url).origin === new URL(first).origin;
  const authorization = bearer !== undefined && isFirst ? `Bearer ${bearer}` : undefined;
  try {
    // A separate connection, so that the certificate is checked each time.
    const socket = await connectTo(new URL(url), trustOf(authorities), signal);
    const outgoing = request(url, {
      createConnection: () => socket,
      headers: {
        accept: "application/json, application/jwt;q=0.9, */*;q=0.1",
        connection: "close",
        ...(authorization === undefined ? {} : { authorization }),
      },
      signal,
    });
    outgoing.end();
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    return response;
  } catch (error) {
    throw new Error(`${url}: ${(error as Error).message}`);
  }
}

/** Bundles are kept by their users, and reading all authorities of a machine takes a while. */
const trusts = new WeakMap<readonly string[], ServerTrust>();

function trustOf(authorities: readonly string[]): ServerTrust {
  const trust = trusts.get(authorities) ?? ServerTrust.of(authorities);
  trusts.set(authorities, trust);
  return trust;
}

/** A connection whose server is trusted; nothing has been sent on it. */
function connectTo(url: URL, trust: ServerTrust, signal: AbortSignal): Promise<TLSSocket> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket = connect({
      host,
      port: Number(url.port) || 443,
      ...(isIP(host) === 0 && { servername: host }),
      ...trust.contextOptions,
      ...trust.connectOptions,
    });
    const fail = (error: Error) => {
      signal.removeEventListener("abort", cancel);
      socket.destroy();
      reject(error);
    };
    const cancel = () => fail(signal.reason);
    signal.addEventListener("abort", cancel, { once: true });
    socket.once("error", fail);
    socket.once("secureConnect", () => {
      try {
        checkAuthorities(trust.check(socket, host));
      } catch (error) {
        return fail(error as Error);
      }
      signal.removeEventListener("abort", cancel);
      socket.off("error", fail);
      resolve(socket);
    });
  });
}

/** A certificate that is trusted itself must be that of an authority (CA:TRUE), unlike elsewhere. */
function checkAuthorities([leaf, issuer]: readonly Certificate[]): void {
  if (leaf !== undefined && issuer === undefined && !maySign(leaf)) {
    throw new Error("its certificate was not signed by an authority (CA:TRUE)");
  }
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
