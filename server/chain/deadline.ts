/**
 * Sets a deadline for every request that is not long-running: `--request-timeout`, or less if the
 * client's `timeout` parameter asks for it (S1-QP-15). The deadline aborts `ctx.state.signal`,
 * which every wait uses.
 */
import { badRequest } from "../api/status.js";
import { parseDuration } from "../request/duration.js";
import { isLongRunning, type RequestInfo } from "../request/request-info.js";
import { gate, type RequestStep } from "../request/step.js";

export function withDeadline({ requestTimeoutMs }: { requestTimeoutMs: number }): RequestStep {
  return gate(function deadline({ state }) {
    const { info } = state;
    if (isLongRunning(info)) return;
    const askedMs = askedTimeoutMs(info);
    const timeoutMs = askedMs > 0 ? Math.min(askedMs, requestTimeoutMs) : requestTimeoutMs;
    state.deadlineMs = state.receivedAtMs + timeoutMs;
  });
}

/** 0: not specified. */
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
