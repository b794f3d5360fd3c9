/** Sends requests to the write verbs for tests: from method, URL and body to the answer. */
import { EventEmitter, once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { type RegistryHarness, testUser } from "../../../registry/testing/registry-harness.js";
import { AnswersTogether } from "../../../request/answers-together.js";
import { parseRequestInfo } from "../../../request/request-info.js";
import { type RequestContext, RequestState } from "../../../request/request-state.js";
import type { VerbHandlers } from "../../dispatch.js";
import { handleCreate } from "../create.js";
import { handleDelete, handleDeleteCollection } from "../delete.js";
import { handlePatch } from "../patch.js";
import { handleUpdate } from "../update.js";
import type { WriteServices } from "../write-services.js";

const HANDLERS = {
  create: handleCreate,
  update: handleUpdate,
  patch: handlePatch,
  delete: handleDelete,
  deletecollection: handleDeleteCollection,
};

export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown> & { metadata: Record<string, unknown> };
  readonly warnings: readonly string[];
}

export type Send = (
  method: string,
  url: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answer>;

/** Sends one request through its handler, without a socket. It throws StatusErrors. */
export function createSender(harness: RegistryHarness, services: WriteServices): Send {
  return (method, url, body, headers = {}) =>
    send(harness, services, { method, url, body, headers });
}

async function send(
  harness: RegistryHarness,
  services: WriteServices,
  {
    method,
    url,
    body,
    headers,
  }: { method: string; url: string; body: unknown; headers: Record<string, string> },
): Promise<Answer> {
  const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
  const bytes = body instanceof Uint8Array ? Buffer.from(body) : Buffer.from(text);
  const sent: Record<string, string> = { "content-length": String(bytes.length), ...headers };
  const request = Object.assign(Readable.from(bytes.length > 0 ? [bytes] : []), {
    headers: sent,
    httpVersionMajor: 1,
    method,
    socket: new EventEmitter(),
  });
  const answer: { status: number; bytes: Buffer } = { status: 0, bytes: Buffer.alloc(0) };
  const ended = new EventEmitter();
  const isEnded = once(ended, "end");
  const response = Object.assign(new EventEmitter(), {
    closed: false,
    destroyed: false,
    getHeaderNames: () => [],
    writeHead(status: number) {
      answer.status = status;
    },
    end(body: string | Buffer, encoding?: BufferEncoding) {
      answer.bytes = typeof body === "string" ? Buffer.from(body, encoding) : body;
      ended.emit("end");
    },
  });
  const state = new RequestState({
    auditId: "test",
    receivedAtMs: 0,
    request: request as unknown as IncomingMessage,
    response: response as unknown as ServerResponse,
    answersTogether: new AnswersTogether(),
  });
  state.info = parseRequestInfo(method, url);
  state.user = testUser;
  const context = {
    req: request,
    res: response,
    state,
    headers: sent,
    get: (name: string) => sent[name.toLowerCase()] ?? "",
  };
  const { group, version, resource, verb } = state.info;
  const handle = HANDLERS[verb as keyof typeof HANDLERS & keyof VerbHandlers];
  const served = harness.part(group, version, resource, state.info.subresource);
  await handle(context as unknown as RequestContext, served, services);
  await isEnded;
  const answered = JSON.parse(answer.bytes.toString()) as Answer["body"];
  return { status: answer.status, body: answered, warnings: state.warnings };
}
