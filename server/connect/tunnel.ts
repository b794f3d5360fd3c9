/**
 * Forwarded ports in a tunnel: the client's WebSocket carries the bytes of the SPDY connection that it would
 * otherwise open. The agent is asked first; if it refuses, the client gets its answer and no WebSocket.
 */
import { createWebSocketStream } from "ws";
import {
  joinSockets,
  openUpgrade,
  passOutcome,
  type UpgradeRequest,
} from "../client/pass-upgrade.js";
import type { RequestContext } from "../request/request-state.js";
import type { Upgrade } from "../request/upgrade.js";
import { acceptWebSocket } from "./server-web-socket.js";

const TUNNEL_PREFIX = "SPDY/3.1+";

/** "portforward.<domain>" of "SPDY/3.1+portforward.<domain>"; other protocols are skipped. */
export function tunneledProtocols(offered: readonly string[], groupDomain: string): string[] {
  return offered
    .filter((name) => name.startsWith(TUNNEL_PREFIX) && name.endsWith(`.${groupDomain}`))
    .map((name) => name.slice(TUNNEL_PREFIX.length));
}

/** @throws {Error} of the network, before the client has an answer; {StatusError} 400 */
export async function tunnel(
  ctx: RequestContext,
  upgrade: Upgrade,
  asked: UpgradeRequest,
): Promise<void> {
  const outcome = await openUpgrade(asked);
  if (outcome.type === "answered") return passOutcome(ctx, upgrade, outcome);
  const chosen = outcome.headers["x-stream-protocol-version"];
  try {
    const webSocket = acceptWebSocket(ctx, upgrade, `${TUNNEL_PREFIX}${String(chosen ?? "")}`);
    joinSockets(createWebSocketStream(webSocket), outcome.socket);
  } catch (error) {
    outcome.socket.destroy();
    throw error;
  }
}
