/**
 * Explanations of admission, for `keelson explain-admission`: a rehearsed write that asks for one is
 * answered with what every rule that users bring had to say, and with what would become of the write, in
 * place of the object or the refusal.
 */
import { badRequest, StatusError } from "../../api/status.js";
import type { RequestContext } from "../../request/request-state.js";
import { MASTERS_GROUP } from "../../request/user-info.js";
import { sendBytes } from "../../response/send-bytes.js";
import type { VerbHandler } from "../dispatch.js";

/** Asks which rules were considered: by any value as warnings, by this one as the answer. */
const HEADER = "explain-admission";
const AS_ANSWER = "json";
const HEADERS = ["Content-Type", "application/json"];

/** Whether the asker is to be told. Rules are not for everybody to read; administrators also ask in another's name. */
export function wantsExplanation({ state, headers }: RequestContext): boolean {
  if (headers[HEADER] === undefined) return false;
  return (state.impersonator ?? state.user).groups.includes(MASTERS_GROUP);
}

/** The handler of a write, which answers with an explanation where that is asked for. */
export function explained<Resource>(handler: VerbHandler<Resource>): VerbHandler<Resource> {
  return (ctx, resource) =>
    ctx.headers[HEADER] === AS_ANSWER && wantsExplanation(ctx)
      ? explain(ctx, () => handler(ctx, resource))
      : handler(ctx, resource);
}

async function explain(ctx: RequestContext, write: () => Promise<void>): Promise<void> {
  if (ctx.state.info.query.get("dryRun") !== "All") {
    throw badRequest("the header Explain-Admission: json needs the parameter dryRun=All");
  }
  // Anew where a changed definition makes the request be handled again.
  ctx.state.findings = [];
  try {
    await write();
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    answer(ctx, { status: error.status });
  }
}

/** @param document what the write would be answered with; JSON text */
export function answerExplanation(ctx: RequestContext, document: Buffer): void {
  answer(ctx, { object: JSON.parse(document.toString("utf8")) as unknown });
}

function answer(ctx: RequestContext, outcome: object): void {
  const { findings, warnings } = ctx.state;
  const explanation = { kind: "AdmissionExplanation", rules: findings, warnings, ...outcome };
  sendBytes(ctx, 200, HEADERS, Buffer.from(`${JSON.stringify(explanation)}\n`));
}
