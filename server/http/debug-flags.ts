/**
 * Flags that change at run time: PUT /debug/flags/v with a number as the body. Authorized like any other
 * non-resource path; only available with --profiling.
 */
import { readBody } from "../request/read-body.js";
import type { RequestContext } from "../request/request-state.js";
import { VERBOSITY_MAX, type Verbosity } from "../request/verbosity.js";

const BODY_BYTES_MAX = 64;

const VERBOSITY_PATH = "/debug/flags/v";

export const DEBUG_FLAGS_PATHS = ["/debug/flags", "/debug/flags/", VERBOSITY_PATH] as const;

/** Answers one of the paths. */
export async function answerDebugFlags(
  ctx: RequestContext,
  verbosity: Pick<Verbosity, "value">,
): Promise<void> {
  if (ctx.state.info.path !== VERBOSITY_PATH) return answer(ctx, 200, "v");
  if (ctx.method !== "PUT") return answer(ctx, 406, "unsupported http method");
  const body = await readBody(ctx.req, { bytesMax: BODY_BYTES_MAX, waiting: ctx.state });
  const text = body.toString("utf8").trim();
  const value = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= VERBOSITY_MAX)) {
    const why = `not a number from 0 to ${VERBOSITY_MAX}`;
    return answer(ctx, 400, `failed set klog.logging.verbosity ${JSON.stringify(text)}: ${why}`);
  }
  verbosity.value = value;
  answer(ctx, 200, `successfully set klog.logging.verbosity to ${value}`);
}

function answer(ctx: RequestContext, status: number, text: string): void {
  ctx.status = status;
  ctx.set("Content-Type", "text/plain");
  ctx.body = `${text}\n`;
}
