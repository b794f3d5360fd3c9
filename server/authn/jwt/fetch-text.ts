/**
 * GET over HTTPS from a server that we do not control: one deadline for everything, a bounded answer,
 * few redirects, and the certificate rules for issuers (S2-OIDC-14). Errors name the address and the
 * reason, never the contents.
 */
import type { Certificate } from "../../../storage/x509/certificate.js";
import { maySign } from "../../../storage/x509/verify-path.js";
import { ANSWER_VALUES_MAX, readAnswer } from "../../client/read-answer.js";
import { ConnectionPools } from "../../outbound/connection-pools.js";
import { TlsSettings } from "../../outbound/tls-connections.js";

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
const ANSWER_LIMITS = { bytes: 1024 * 1024, values: ANSWER_VALUES_MAX };
const REDIRECTIONS_MAX = 3;

export const fetchText: Fetcher = async (wanted, signal) => {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]);
  let { url } = wanted;
  for (let redirection = 0; redirection <= REDIRECTIONS_MAX; redirection++) {
    const { status, location, text } = await ask(url, wanted, deadline);
    if (status >= 300 && status < 400 && location !== undefined) {
      url = new URL(location, url).href;
      continue;
    }
    if (status === 200) return text;
    throw new Error(`${wanted.url}: HTTP status ${status}`);
  }
  throw new Error(`${wanted.url}: more than ${REDIRECTIONS_MAX} redirections`);
};

interface Answer {
  readonly status: number;
  readonly location: string | undefined;
  /** "" unless the status is 200. */
  readonly text: string;
}

/** Over a connection of its own, so that the certificate is checked each time. */
async function ask(
  url: string,
  { url: first, authorities, bearer }: FetchRequest,
  signal: AbortSignal,
): Promise<Answer> {
  if (!url.startsWith("https:")) throw new Error(`${url}: not an https address`);
  const { origin, hostname, port, pathname, search } = new URL(url);
  const isFirst = origin === new URL(first).origin;
  const place = {
    scheme: "https",
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port) || 443,
    tls: tlsOf(authorities),
  } as const;
  const pools = new ConnectionPools(ONE_CONNECTION);
  try {
    const { statusCode, headers, body } = await pools.of(place).request({
      method: "GET",
      path: `${pathname}${search}`,
      headers: {
        accept: "application/json, application/jwt;q=0.9, */*;q=0.1",
        ...(bearer !== undefined && isFirst && { authorization: `Bearer ${bearer}` }),
      },
      signal,
    });
    const { location } = headers;
    // The connection ends below, which is an error of a body that nobody reads.
    body.on("error", () => {});
    const answer = statusCode === 200 ? await readAnswer(body, ANSWER_LIMITS) : undefined;
    const text = answer?.toString("utf8") ?? "";
    return { status: statusCode, location: [location].flat()[0], text };
  } catch (error) {
    throw new Error(`${url}: ${(error as Error).message}`);
  } finally {
    pools.close();
  }
}

const ONE_CONNECTION = { placesMax: 1, connectionsMax: 1, connectTimeoutMs: DEADLINE_MS };

/** Bundles are kept by their users, and reading all authorities of a machine takes a while. */
const settings = new WeakMap<readonly string[], TlsSettings>();

function tlsOf(authorities: readonly string[]): TlsSettings {
  const known = settings.get(authorities);
  if (known !== undefined) return known;
  const made = new TlsSettings({ authorities, checkChain: checkAuthorities });
  settings.set(authorities, made);
  return made;
}

/** A certificate that is trusted itself must be that of an authority (CA:TRUE), unlike elsewhere. */
function checkAuthorities([leaf, issuer]: readonly Certificate[]): void {
  if (leaf !== undefined && issuer === undefined && !maySign(leaf)) {
    throw new Error("its certificate was not signed by an authority (CA:TRUE)");
  }
}
