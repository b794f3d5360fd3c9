/**
 * The end of a response: at once for a body sent in one piece (the kernel does the rest), at its
 * close for a stream.
 */
import type { RequestContext } from "../request/request-state.js";

/** Callbacks are called in their order. */
export function onResponseClose(
  { state, res }: Pick<RequestContext, "state" | "res">,
  callback: () => void,
): void {
  if (state.atClose !== undefined) {
    state.atClose.push(callback);
    return;
  }
  const callbacks = [callback];
  state.atClose = callbacks;
  res.once("close", () => {
    for (const one of callbacks) one();
  });
}

export function onResponseEnd(ctx: RequestContext, callback: () => void): void {
  if (isAnswerOver(ctx)) callback();
  else onResponseClose(ctx, callback);
}

/** Called once the handler is done. */
export function isAnswerOver(ctx: RequestContext): boolean {
  const { res, state } = ctx;
  return ctx.respond !== false || state.isAnswered || res.writableEnded || res.closed;
}

/** Bytes of the body, if known without counting. */
export function responseBytes(ctx: RequestContext): number {
  if (ctx.respond === false) return ctx.state.bytesSent;
  const { body } = ctx;
  if (Buffer.isBuffer(body)) return body.length;
  if (typeof body === "string") return Buffer.byteLength(body);
  return 0;
}
