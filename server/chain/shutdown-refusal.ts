/**
 * With --shutdown-send-retry-after a replica that shuts down keeps listening until the requests under way
 * are finished, and answers all new ones with 429 and Retry-After on a connection that it then closes.
 * Exempt are probes and the replica's own requests, recognised by their user agent, as they are not
 * authenticated yet.
 */
import { tooManyRequests } from "../api/status.js";
import { HEALTH_ENDPOINTS } from "../http/health.js";
import { gate, type RequestStep } from "../request/step.js";

/** As kube-apiserver: clients find another replica well within that. */
const RETRY_AFTER_SECONDS = 5;
const OWN_USER_AGENT = "kube-apiserver/";
const EXEMPT_PREFIXES = HEALTH_ENDPOINTS.map((name) => `/${name}`);

export function withShutdownRefusal(isRefusing: () => boolean): RequestStep {
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
