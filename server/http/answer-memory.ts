/**
 * The memory of answers in the request chain: what sends or brings much claims it before it takes
 * seats, so that nobody sits on a seat while waiting for memory. Small gets, watches that go on from a
 * version, and requests of no resource pass at the cost of a comparison.
 *
 * Memory goes back when the last byte has been handed to the operating system or the client has gone;
 * a watch gives it back after its initial events.
 */
import { tooManyRequests } from "../api/status.js";
import { type AnswerMemory, HeldBytes, type MemoryDenial } from "../flowcontrol/answer-memory.js";
import { bodyMemory, CLAIMED_BYTES_MIN, objectMemory } from "../flowcontrol/width.js";
import { type Gate, gate } from "../request/gate.js";
import { isLongRunning, isReadOnly, type RequestInfo } from "../request/request-info.js";
import type { AnswerKeeper, RequestContext, RequestState } from "../request/request-state.js";
import type { UserInfo } from "../request/user-info.js";
import type { Metrics } from "./metrics.js";

export interface AnswerMemoryParts {
  readonly memory: AnswerMemory;
  /** Bytes that a list takes; 0 = not worth a claim. @param isKept for the audit log, as a whole */
  readonly listMemory: (info: RequestInfo, isKept: boolean) => number;
  readonly isExempt: (user: UserInfo, info: RequestInfo) => boolean;
  readonly metrics: Pick<Metrics, "countTermination">;
}

export function withAnswerMemory(parts: AnswerMemoryParts): Gate {
  const keeper: AnswerKeeper = {
    bytesMin: CLAIMED_BYTES_MIN,
    hold: (ctx, length) => hold(ctx, objectMemory(length), parts),
  };
  return gate(function answerMemory(ctx) {
    ctx.state.answers = keeper;
    const bytes = claimOf(ctx, parts);
    return bytes === 0 ? undefined : hold(ctx, bytes, parts);
  });
}

function claimOf(ctx: RequestContext, { listMemory }: AnswerMemoryParts): number {
  const { state, method } = ctx;
  const { info } = state;
  if (info.verb === "get" || !info.isResourceRequest || method === "HEAD") return 0;
  const list = listMemory(info, state.audit?.wantsResponse === true);
  if (isReadOnly(info) || isLongRunning(info) || method === "DELETE") return list;
  const length = ctx.req.headers["content-length"];
  return list + bodyMemory(length === undefined ? undefined : Number(length) || 0);
}

function hold(
  ctx: RequestContext,
  bytes: number,
  { memory, isExempt, metrics }: AnswerMemoryParts,
): Promise<void> | undefined {
  const { state } = ctx;
  const { user, info } = state;
  const claim = { flow: user.name, bytes, isExempt: isExempt(user, info) };
  const outcome = memory.claim(claim, () => state.signal);
  if (!(outcome instanceof Promise)) {
    keep(outcome);
    return undefined;
  }
  return outcome.then(keep);

  function keep(held: HeldBytes | MemoryDenial): void {
    if (held instanceof HeldBytes) {
      holdUntilClosed(ctx, held);
      return;
    }
    if (held.reason === "cancelled") throw state.signal.reason;
    metrics.countTermination(info, 429);
    const text = `Too many requests, please try again later: ${held.text}.`;
    throw tooManyRequests(text, held.retryAfterSeconds);
  }
}

function holdUntilClosed(
  { state, res }: { state: RequestState; res: RequestContext["res"] },
  held: HeldBytes,
): void {
  state.memory = held;
  if (res.closed || res.destroyed) held.release();
  else res.once("close", () => held.release());
}
