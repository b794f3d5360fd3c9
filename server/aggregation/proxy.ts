/** Proxies a request to the server behind an APIService, with the user's identity (server/proxy). */
import { StatusError, serviceUnavailable } from "../api/status.js";
import { describeFailure } from "../proxy/failures.js";
import { forwardedHeaders, userHeaders } from "../proxy/forwarded-headers.js";
import { passRequest } from "../proxy/pass-request.js";
import { openUpgrade, passOutcome } from "../proxy/pass-upgrade.js";
import type { RequestContext } from "../request/request-state.js";
import { upgradeTo } from "../request/upgrade.js";
import type { RemoteServer } from "./remote-server.js";

/** @throws {StatusError} 503 if the service is unreachable, and the signal's reason */
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
  try {
    const pool = remote.pool();
    if (upgrade === undefined) return await passRequest(ctx, { pool, path, headers });
    const { signal } = state;
    const { protocol } = upgrade;
    const asked = { pool, method: ctx.method, path, headers, protocol, signal };
    passOutcome(ctx, upgrade, await openUpgrade(asked));
  } catch (error) {
    if (state.signal.aborted) throw state.signal.reason;
    if (ctx.headerSent || error instanceof StatusError) throw error;
    throw serviceUnavailable(`error trying to reach service: ${describeFailure(error)}`);
  }
}
