/**
 * Requests for another protocol on their connection. Node takes such a connection from its HTTP
 * parser and passes it on raw. The request goes through the usual chain, and its handler decides
 * whether the protocol changes. The data that this file attaches to the request is the only link
 * between the two ends.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Http2Request } from "./http2-request.js";

export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  /** Bytes that the client sent after the request's head. */
  readonly head: Buffer;
}

const UPGRADE = Symbol("upgrade");

type Upgradable = IncomingMessage & { [UPGRADE]?: Upgrade };

/** Called by the http layer: this request's connection may change its protocol. */
export function attachUpgrade(upgrade: Upgrade): void {
  (upgrade.request as Upgradable)[UPGRADE] = upgrade;
}

/** The connection to take over, if the client requests a WebSocket. */
export function upgradeOf(request: IncomingMessage | Http2Request): Upgrade | undefined {
  const upgrade = (request as Upgradable)[UPGRADE];
  return upgrade !== undefined && /^websocket$/i.test(request.headers.upgrade ?? "")
    ? upgrade
    : undefined;
}

/** The connection to take over and the requested protocol, whatever it is; for proxies. */
export function upgradeTo(
  request: IncomingMessage | Http2Request,
): (Upgrade & { readonly protocol: string }) | undefined {
  const upgrade = (request as Upgradable)[UPGRADE];
  const protocol = request.headers.upgrade;
  return upgrade === undefined || protocol === undefined ? undefined : { ...upgrade, protocol };
}
