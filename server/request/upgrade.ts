/**
 * Requests that ask for another protocol on their connection. Node takes such a connection away from
 * its HTTP parser and hands it over raw; the request then goes the way of all requests, and whoever
 * answers it decides whether the protocol changes. What this file attaches to the request is all that
 * the two ends know of each other.
 */
import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { Socket } from "node:net";

export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  /** Bytes that the client sent after the request's head. */
  readonly head: Buffer;
}

const UPGRADE = Symbol("upgrade");

type Upgradable = IncomingMessage & { [UPGRADE]?: Upgrade };

/** The http layer says that the connection of this request may change its protocol. */
export function attachUpgrade(upgrade: Upgrade): void {
  (upgrade.request as Upgradable)[UPGRADE] = upgrade;
}

/** The connection to take over, when the client asks for a WebSocket. */
export function upgradeOf(request: IncomingMessage | Http2ServerRequest): Upgrade | undefined {
  const upgrade = (request as Upgradable)[UPGRADE];
  return upgrade !== undefined && /^websocket$/i.test(request.headers.upgrade ?? "")
    ? upgrade
    : undefined;
}

/** The connection to take over and the protocol that is asked for, whatever it is; for proxies. */
export function upgradeTo(
  request: IncomingMessage | Http2ServerRequest,
): (Upgrade & { readonly protocol: string }) | undefined {
  const upgrade = (request as Upgradable)[UPGRADE];
  const protocol = request.headers.upgrade;
  return upgrade === undefined || protocol === undefined ? undefined : { ...upgrade, protocol };
}
