/**
 * Explanations of admission, for `keelson explain-admission`: a dry-run write that asks for one is answered
 * with the finding of every user-defined rule and with the write's outcome, in place of the object or the
 * refusal.
 */
import type { JsonValue } from "../../api/meta.js";
import { badRequest, StatusError } from "../../api/status.js";
import type { RequestContext } from "../../request/request-state.js";
import { MASTERS_GROUP } from "../../request/user-info.js";
import { sendBytes } from "../../response/send-bytes.js";
import { stringifyJson } from "../../schema/json-text.js";
import { parseJson } from "../../schema/parse-json.js";
import type { VerbHandler } from "../dispatch.js";

/** Requests the list of evaluated rules: with this value as the answer, with any other as warnings. */
const HEADER = "explain-admission";
const AS_ANSWER = "json";
const HEADERS = ["Content-Type", "application/json"];

/** Whether the user may see explanations. Rules are not public; administrators may also ask while impersonating. */
export function wantsExplanation({ state, headers }: RequestContext): boolean {
  if (headers[HEADER] === undefined) return false;
  return (state.impersonator ?? state.user).groups.includes(MASTERS_GROUP);
}

/** Wraps a write handler to answer with an explanation if the request asks for it. */
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
  // Reset, because a changed definition makes the request run again.
  ctx.state.findings = [];
  try {
    await write();
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    answer(ctx, { status: error.status });
  }
}

/** @param document the JSON text that the write would be answered with */
export function answerExplanation(ctx: RequestContext, document: Buffer): void {
  answer(ctx, { object: parseJson(document) });
}

function answer(ctx: RequestContext, outcome: object): void {
  const { findings, warnings } = ctx.state;
  const explanation: unknown = {
    kind: "AdmissionExplanation",
    rules: findings,
    warnings,
    ...outcome,
  };
  sendBytes(ctx, 200, HEADERS, Buffer.from(`${stringifyJson(explanation as JsonValue)}\n`));
}
