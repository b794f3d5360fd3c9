/**
 * Passes a request of the page on to the API server, with the credentials of the client configuration, as
 * `kubectl proxy` does; the answer streams back. Only headers that are named here go either way. Paths that connect to
 * processes and other servers (exec, proxy, ...) are refused: their answers are not the API server's.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { oneLine } from "../../storage/base/one-line.js";
import type { HttpsClient, StreamedResponse } from "../client/https-client.js";
import { answerRefusal } from "./refusal.js";

/** Begins every path that is passed on. */
export const API_PREFIX = "/k8s";

/** As kube-apiserver takes at most. */
const BODY_BYTES_MAX = 3 * 1024 * 1024;
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const REQUEST_HEADERS = ["accept", "accept-encoding", "content-type"];
const ANSWER_HEADERS = ["content-type", "content-encoding", "warning", "retry-after", "audit-id"];
const CONNECTS =
  /(?:^|\/)api\/v1\/(?:proxy\/|(?:namespaces\/[^/]+\/(?:pods|services)|nodes)\/[^/]+\/(?:attach|exec|portforward|proxy)(?:\/|$))/;

export async function passOn(
  client: HttpsClient,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = "", url = "" } = request;
  const path = url.slice(API_PREFIX.length);
  const refusal = refusalOfPath(path);
  if (refusal !== undefined) return answerRefusal(response, 403, refusal);
  if (!METHODS.includes(method)) return answerRefusal(response, 405, "the method is not passed on");
  const body = await readBody(request);
  if (body === undefined) return answerRefusal(response, 413, "the body is too large");
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const headers = pick(REQUEST_HEADERS, request.headers);
  let answer: StreamedResponse;
  try {
    answer = await client.stream(
      { method, path, headers, ...(body.length > 0 && { body }) },
      gone.signal,
    );
  } catch (error) {
    return answerRefusal(response, 502, `the API server cannot be asked: ${oneLine(error)}`);
  }
  response.writeHead(answer.status, pick(ANSWER_HEADERS, answer.headers));
  // A watch has headers long before its first event.
  response.flushHeaders();
  // A broken answer is cut, so that it does not look complete.
  await pipeline(answer.body, response).catch(() => response.destroy());
}

/** @param path with its query. @returns why it is not passed on */
export function refusalOfPath(path: string): string | undefined {
  const [way = ""] = path.split("?");
  // A configuration's server may have a path of its own, which nobody is to climb out of.
  const steps = way.split("/").slice(1);
  const isOdd = steps.some((step) => /^(?:\.|%2e){1,2}$/i.test(step) || /%2f|%5c|\\/i.test(step));
  if (!way.startsWith("/") || isOdd || steps.slice(0, -1).includes("")) {
    return "the path is not plain";
  }
  return CONNECTS.test(decoded(way)) ? "what connects to processes is not passed on" : undefined;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** @returns undefined = it is too large */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes > BODY_BYTES_MAX) return undefined;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks, bytes);
}

function pick(
  names: readonly string[],
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string | string[]> {
  const picked: Record<string, string | string[]> = {};
  for (const name of names) {
    const value = headers[name];
    if (value !== undefined) picked[name] = value;
  }
  return picked;
}
