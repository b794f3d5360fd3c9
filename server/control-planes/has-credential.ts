/** Whether a request carries anything that an authenticator could take for a credential, right or wrong. */
import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { shownChain } from "../authn/certificate-chain.js";

export function hasCredential({ headers, socket }: IncomingMessage): boolean {
  // Browsers put a WebSocket's token among its subprotocols.
  if (headers.authorization !== undefined || headers["sec-websocket-protocol"] !== undefined) {
    return true;
  }
  // Proxies that name their users show a certificate, too.
  return shownChain(socket as TLSSocket) !== "none";
}
