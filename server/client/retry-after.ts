/**
 * Sends a request again to a server that is busy: one that answers 429 or 5xx and says in Retry-After when
 * to come back (RFC 9110 section 10.2.3, in seconds). All attempts share the request's own time limit. A
 * request without an answer is never sent again, because it may have been acted upon.
 */
import type { Clock } from "../../storage/base/clock.js";
import {
  type HttpsClient,
  type IncomingResponse,
  type OutgoingRequest,
  TransportError,
} from "./https-client.js";

/** Attempts after the first; kube-apiserver's number. */
const RETRIES_MAX = 10;

/** @throws {TransportError} also when the time limit would pass while waiting */
export async function requestUnlessBusy(
  client: Pick<HttpsClient, "request">,
  outgoing: OutgoingRequest & { readonly timeoutMs: number },
  clock: Clock,
  signal: AbortSignal,
): Promise<IncomingResponse> {
  const endMs = clock.monotonic() + outgoing.timeoutMs;
  for (let retries = 0; ; retries++) {
    const timeoutMs = endMs - clock.monotonic();
    const answer = await client.request({ ...outgoing, timeoutMs }, signal);
    const delayMs = retries < RETRIES_MAX ? delayOf(answer) : undefined;
    if (delayMs === undefined) return answer;
    const leftMs = endMs - clock.monotonic();
    await sleep(clock, Math.min(delayMs, leftMs), signal);
    if (delayMs >= leftMs) throw new TransportError("timeout", "no answer before the deadline");
  }
}

/** undefined = the answer is final. */
function delayOf({ status, headers }: IncomingResponse): number | undefined {
  if (status !== 429 && status < 500) return undefined;
  const said = headers["retry-after"];
  return typeof said === "string" && /^\d{1,9}$/.test(said) ? Number(said) * 1000 : undefined;
}

async function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(Math.max(0, delayMs), signal);
  } catch {
    throw new TransportError("canceled", "the request was canceled");
  }
}
