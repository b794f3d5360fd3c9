/**
 * With --shutdown-send-retry-after a replica that ends goes on listening until the requests under way are
 * finished, and tells all others to come again: 429 with Retry-After, on a connection that is closed after
 * it. Probes are answered as ever, and so are the replica's own requests, by what they call themselves:
 * nobody has been authenticated yet.
 */
import { tooManyRequests } from "../api/status.js";
import { type Gate, gate } from "../request/gate.js";
import { HEALTH_ENDPOINTS } from "./health.js";

/** As upstream: another replica is found well within that. */
const RETRY_AFTER_SECONDS = 5;
const OWN_USER_AGENT = "kube-apiserver/";
const EXEMPT_PREFIXES = HEALTH_ENDPOINTS.map((name) => `/${name}`);

export function withShutdownRefusal(isRefusing: () => boolean): Gate {
  return gate((ctx) => {
    if (!isRefusing() || isExempt(ctx.state.info.path, ctx.headers["user-agent"])) return;
    const message = "The apiserver is shutting down, please try again later.";
    throw tooManyRequests(message, RETRY_AFTER_SECONDS);
  });
}

function isExempt(path: string, userAgent: string | undefined): boolean {
  if (userAgent?.startsWith(OWN_USER_AGENT)) return true;
  return EXEMPT_PREFIXES.some((prefix) => path.startsWith(prefix));
}
