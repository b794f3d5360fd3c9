/**
 * FrontProxyAuthenticator: a proxy has authenticated the user and names it in headers. These count only on
 * a connection whose client certificate leads to the proxies' own authority (S2-PROXY-04) and has an
 * allowed common name (S2-PROXY-05); on other connections they are ignored.
 *
 * A header with several different values may come from a client behind a careless proxy, so the request is
 * refused. Names are case-insensitive; a name with underscores is another name.
 */
import type { TLSSocket } from "node:tls";
import { type CertificatePool, poolOf } from "../../storage/x509/certificate-pool.js";
import { unauthorized } from "../api/status.js";
import {
  decodeExtraKey,
  decodeHeaderText,
  type HeaderList,
  headerValues,
  prefixedHeaderValues,
  toHeaderList,
} from "../request/header-list.js";
import { createUser, type UserInfo } from "../request/user-info.js";
import type { Authenticator, RequestFacts } from "./authenticator.js";
import { ClientChains, shownChain, subjectOf } from "./certificate-chain.js";
import type { FrontProxyHeaders } from "./identity-headers.js";

export interface FrontProxyOptions {
  readonly headers: FrontProxyHeaders;
  /** Common names of proxies; empty = every certificate of the authority. */
  readonly allowedNames: readonly string[];
  /** PEM: the authorities of proxies; no others count. */
  readonly authorities: string;
}

interface Proxy {
  /** The time until which the connection may speak for others; its chain is then followed again. */
  readonly trustedUntilMs: number;
}

const NO_PROXY: Proxy = { trustedUntilMs: 0 };

export class FrontProxyAuthenticator implements Authenticator {
  readonly name = "front-proxy";
  readonly #headers: FrontProxyHeaders;
  readonly #allowedNames: ReadonlySet<string>;
  readonly #chains = new ClientChains();
  #authorities: CertificatePool;
  /** A connection's certificate cannot change, so it is checked once, and when its chain ends. */
  #known = new WeakMap<TLSSocket, Proxy>();

  /** @throws {Error} when one of the PEM blocks can not be read */
  constructor({ headers, allowedNames, authorities }: FrontProxyOptions) {
    this.#headers = {
      username: headers.username.map(lowerCase),
      uid: headers.uid.map(lowerCase),
      group: headers.group.map(lowerCase),
      // An empty prefix would turn every header into an `extra` field.
      extraPrefix: headers.extraPrefix.map(lowerCase).filter((prefix) => prefix !== ""),
    };
    this.#allowedNames = new Set(allowedNames);
    this.#authorities = poolOf(authorities);
  }

  /**
   * Replaces the authorities, for open connections as well.
   * @throws {Error} when one of the PEM blocks can not be read; the old ones stay in force
   */
  replaceAuthorities(bundle: string): void {
    this.#authorities = poolOf(bundle);
    this.#known = new WeakMap();
  }

  authenticate({ headers, rawHeaders, socket }: RequestFacts): UserInfo | undefined {
    if (socket === undefined || !this.#isProxy(socket)) return undefined;
    const sent = rawHeaders ?? toHeaderList(headers);
    const name = onlyValue(sent, this.#headers.username);
    if (name === "") return undefined;
    return createUser({
      name,
      uid: onlyValue(sent, this.#headers.uid),
      groups: this.#headers.group
        .flatMap((header) => headerValues(sent, header))
        .filter((group) => group !== "")
        .map(decodeHeaderText),
      extra: this.#extraOf(sent),
    });
  }

  #isProxy(socket: TLSSocket): boolean {
    let proxy = this.#known.get(socket);
    if (proxy === undefined || isOver(proxy)) {
      proxy = this.#examine(socket);
      this.#known.set(socket, proxy);
    }
    return proxy !== NO_PROXY && !isOver(proxy);
  }

  #examine(socket: TLSSocket): Proxy {
    const shown = shownChain(socket);
    if (shown === "none" || shown === "malformed") return NO_PROXY;
    const trustedUntilMs = this.#chains.validUntilMs(this.#authorities, shown, Date.now());
    if (trustedUntilMs === undefined) return NO_PROXY;
    const { commonName } = subjectOf(shown.leaf);
    const isAllowed = this.#allowedNames.size === 0 || this.#allowedNames.has(commonName);
    return isAllowed ? { trustedUntilMs } : NO_PROXY;
  }

  #extraOf(sent: HeaderList): Record<string, readonly string[]> {
    const extra = new Map<string, string[]>();
    for (const prefix of this.#headers.extraPrefix) {
      for (const [encoded, values] of prefixedHeaderValues(sent, prefix)) {
        const key = decodeExtraKey(encoded);
        extra.set(key, [...(extra.get(key) ?? []), ...values.map(decodeHeaderText)]);
      }
    }
    return Object.fromEntries(extra);
  }
}

/**
 * The value of the first header that has one; "" if none has.
 * @throws {StatusError} 401 if it has several values
 */
function onlyValue(sent: HeaderList, names: readonly string[]): string {
  for (const name of names) {
    const values = new Set(headerValues(sent, name).filter((value) => value !== ""));
    if (values.size > 1) throw unauthorized();
    for (const value of values) return decodeHeaderText(value);
  }
  return "";
}

function isOver(proxy: Proxy): boolean {
  return proxy !== NO_PROXY && Date.now() > proxy.trustedUntilMs;
}

function lowerCase(name: string): string {
  return name.toLowerCase();
}
