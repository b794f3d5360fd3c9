/**
 * Bearer tokens of WebSockets. Browsers cannot set headers on them, so the token comes as one of the
 * subprotocols, `base64url.bearer.authorization.<domain>.<token>`, beside a real one. Later steps see an
 * ordinary bearer token, and the other subprotocol alone.
 */
import type { Naming } from "../api/naming.js";
import { unauthorized } from "../api/status.js";
import { gate, type RequestStep } from "../request/step.js";

/** base64url without padding (RFC 4648 section 5). */
const ENCODED = /^[A-Za-z0-9_-]+$/;

export function withWebSocketBearer({ groupDomain }: Naming): RequestStep {
  const prefix = `base64url.bearer.authorization.${groupDomain}.`;
  return gate(function webSocketBearer({ req }) {
    const header = req.headers["sec-websocket-protocol"];
    if (header === undefined || req.headers.authorization !== undefined) return;
    if (req.headers.upgrade?.toLowerCase() !== "websocket") return;
    const protocols = header.split(",").map((protocol) => protocol.trim());
    const tokens = protocols.filter((protocol) => protocol.startsWith(prefix));
    if (tokens.length === 0) return;
    const others = protocols.filter((protocol) => !protocol.startsWith(prefix));
    const encoded = tokens[0]?.slice(prefix.length) ?? "";
    // Without another subprotocol, the server could not choose one.
    if (tokens.length > 1 || others.length === 0 || !ENCODED.test(encoded)) throw unauthorized();
    const value = `Bearer ${Buffer.from(encoded, "base64url").toString("latin1")}`;
    req.headers.authorization = value;
    req.headers["sec-websocket-protocol"] = others.join(", ");
    req.rawHeaders.push("Authorization", value);
  });
}
