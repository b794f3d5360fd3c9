/**
 * What this server answers in place of one behind an APIService: plain text, as clients of kube-apiserver get it.
 * A redirect is not passed on: the client, with its credentials, would follow to where the server likes
 * (CVE-2022-3172).
 */
import { Readable } from "node:stream";
import { type PassedAnswer, sendAnswer } from "../client/pass-request.js";
import type { RequestContext } from "../request/request-state.js";

const TEXT = [
  ["Content-Type", "text/plain; charset=utf-8"],
  ["X-Content-Type-Options", "nosniff"],
  ["Cache-Control", "no-cache, private"],
] as const;

const REDIRECTED = "the backend attempted to redirect this request, which is not permitted";

/** 503 with a reason for people. */
export function answerUnavailable(ctx: RequestContext, why: string): void {
  sendAnswer(ctx, { status: 503, headers: TEXT, body: Readable.from([Buffer.from(`${why}\n`)]) });
}

/** The answer itself, or 502 if it leads elsewhere. */
export function withoutRedirect(answer: PassedAnswer): PassedAnswer {
  const { status, headers, body } = answer;
  const leads = headers.some(([name, value]) => name.toLowerCase() === "location" && value !== "");
  if (status < 300 || status > 399 || !leads) return answer;
  // An unread body that is destroyed says so as an error.
  body.on("error", () => {}).destroy();
  return { status: 502, headers: TEXT, body: Readable.from([Buffer.from(REDIRECTED)]) };
}
