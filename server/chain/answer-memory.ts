/**
 * The memory of answers in the request chain: requests with large bodies or answers claim it before
 * they take seats, so that no seat is held while waiting for memory. Small gets, watches that resume
 * from a version, and non-resource requests only cost a comparison.
 *
 * Memory is released when the operating system has the last byte or the client has disconnected; a
 * watch releases it after its initial events.
 */
import { tooManyRequests } from "../api/status.js";
import {
  type AnswerMemory,
  type FlowGroup,
  HeldBytes,
  type MemoryDenial,
} from "../flowcontrol/answer-memory.js";
import { bodyMemory, CLAIMED_BYTES_MIN, objectMemory } from "../flowcontrol/width.js";
import type { Metrics } from "../metrics/metrics.js";
import { isLongRunning, isReadOnly, type RequestInfo } from "../request/request-info.js";
import type { AnswerKeeper, RequestContext } from "../request/request-state.js";
import { gate, type RequestStep } from "../request/step.js";
import type { UserInfo } from "../request/user-info.js";
import { onResponseClose } from "./response-end.js";

export interface AnswerMemoryParts {
  readonly memory: AnswerMemory;
  /** The control plane that they are of; absent = the root, or there is no other one. */
  readonly group?: FlowGroup | undefined;
  /**
   * The memory of a list in bytes; 0 = no claim. @param isKept whether the audit log keeps the
   * whole list
   */
  readonly listMemory: (info: RequestInfo, isKept: boolean) => number;
  readonly isExempt: (user: UserInfo, info: RequestInfo) => boolean;
  readonly metrics: Pick<Metrics, "countTermination">;
}

export function withAnswerMemory(parts: AnswerMemoryParts): RequestStep {
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
  { memory, group, isExempt, metrics }: AnswerMemoryParts,
): Promise<void> | undefined {
  const { state } = ctx;
  const { user, info } = state;
  // Whom a control plane exempts is exempt from its own limits alone.
  const claim = {
    ...{ flow: user.name, group, bytes },
    isExempt: group === undefined && isExempt(user, info),
  };
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

function holdUntilClosed(ctx: RequestContext, held: HeldBytes): void {
  const { state, res } = ctx;
  state.memory = held;
  if (res.closed || res.destroyed) held.release();
  else onResponseClose(ctx, () => held.release());
}
