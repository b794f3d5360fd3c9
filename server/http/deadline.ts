/**
 * Gives every request that is not meant to last a deadline: `--request-timeout`, or less when the
 * client asks for less by the `timeout` parameter (S1-QP-15). The deadline works through
 * `ctx.state.signal`, on which everything that waits is waiting.
 */
import { badRequest } from "../api/status.js";
import { parseDuration } from "../request/duration.js";
import { type Gate, gate } from "../request/gate.js";
import { isLongRunning, type RequestInfo } from "../request/request-info.js";

export function withDeadline({ requestTimeoutMs }: { requestTimeoutMs: number }): Gate {
  return gate(function deadline({ state }) {
    const { info } = state;
    if (isLongRunning(info)) return;
    const askedMs = askedTimeoutMs(info);
    const timeoutMs = askedMs > 0 ? Math.min(askedMs, requestTimeoutMs) : requestTimeoutMs;
    state.deadlineMs = state.receivedAtMs + timeoutMs;
  });
}

/** 0: the client did not say. */
function askedTimeoutMs({ query }: RequestInfo): number {
  if (query.isEmpty) return 0;
  const text = query.get("timeout");
  if (text === undefined || text === "") return 0;
  const timeoutMs = parseDuration(text);
  if (timeoutMs === undefined) {
    throw badRequest(
      `invalid timeout specified in the request URL - ${JSON.stringify(text)} is not a duration`,
    );
  }
  return timeoutMs;
}
