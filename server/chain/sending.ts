/** Sends the answer that the other steps have made: bytes or text, never a stream (streams write by themselves). */
import type { Logger } from "../../storage/base/logger.js";
import type { RequestContext } from "../request/request-state.js";
import { bracket, passAll, type RequestStep } from "../request/step.js";

export function withSending(logger: Logger): RequestStep {
  return bracket(passAll, function send(ctx, failure) {
    if (failure === undefined) {
      respond(ctx);
    } else {
      // The chain answers all errors itself, so this is a defect in the chain.
      logger.error({ err: failure.error }, "request chain failed");
      ctx.res.destroy();
    }
    return undefined;
  });
}

/** Sends `ctx.body`, unless a sink or sendBytes has taken over. */
function respond(ctx: RequestContext): void {
  if (ctx.respond === false) return;
  const { res } = ctx;
  const body = ctx.body as Buffer | string | null | undefined;
  // Checked before `writable`, which is false for HEAD over HTTP/2, where Node has ended the body.
  if (body === null || body === undefined || ctx.method === "HEAD") res.end();
  // As a buffer: before a string Node would encode non-ASCII header values a second time.
  else if (ctx.writable) res.end(typeof body === "string" ? Buffer.from(body, "utf8") : body);
}
