/**
 * Proxies a request to the server behind an APIService, with the user's identity (server/client). Its discovery is
 * bounded, because clients ask for it one group after the other.
 */
import { StatusError } from "../api/status.js";
import { forwardedHeaders, userHeaders } from "../client/forwarded-headers.js";
import { passRequest } from "../client/pass-request.js";
import { InvalidUpgrade, openUpgrade, passOutcome } from "../client/pass-upgrade.js";
import { describeFailure } from "../outbound/failures.js";
import { UnreachableService } from "../outbound/services.js";
import type { RequestContext } from "../request/request-state.js";
import { upgradeTo } from "../request/upgrade.js";
import { answerUnavailable, withoutRedirect } from "./refusals.js";
import type { RemoteServer } from "./remote-server.js";

/** For the document of a group-version, from the request to the end of the answer. */
const DISCOVERY_TIMEOUT_MS = 5_000;

/** Answers 503 if the service is unreachable. @throws {StatusError}; the signal's reason */
export async function passOn(ctx: RequestContext, remote: RemoteServer): Promise<void> {
  const { state, req } = ctx;
  const path = req.url ?? "/";
  const headers = [
    ...forwardedHeaders({
      headers: req.headers,
      auditId: state.auditId,
      remoteAddress: req.socket?.remoteAddress ?? "",
    }),
    ...userHeaders(state.user),
    ...["X-Forwarded-Host", ctx.host, "X-Forwarded-Proto", "https", "X-Forwarded-Uri", path],
  ];
  const upgrade = upgradeTo(req);
  const limit = isDiscovery(ctx) ? AbortSignal.timeout(DISCOVERY_TIMEOUT_MS) : undefined;
  try {
    const pool = remote.pool();
    if (upgrade === undefined) {
      return await passRequest(ctx, { pool, path, headers, limit, change: withoutRedirect });
    }
    const { signal } = state;
    const { protocol } = upgrade;
    const asked = { pool, method: ctx.method, path, headers, protocol, signal };
    passOutcome(ctx, upgrade, await openUpgrade(asked));
  } catch (error) {
    if (state.signal.aborted) throw state.signal.reason;
    if (ctx.headerSent || error instanceof StatusError) throw error;
    answerUnavailable(ctx, describe(error, limit));
  }
}

function describe(error: unknown, limit: AbortSignal | undefined): string {
  if (error instanceof UnreachableService) return "service unavailable";
  if (error instanceof InvalidUpgrade) return error.message;
  const why = limit?.aborted === true ? "context deadline exceeded" : describeFailure(error);
  return `error trying to reach service: ${why}`;
}

/** Whether the document of a group-version is asked for: /apis/GROUP/VERSION. */
function isDiscovery({ state: { info } }: RequestContext): boolean {
  return !info.isResourceRequest && /^\/apis\/[^/]+\/[^/]+\/?$/.test(info.path);
}
