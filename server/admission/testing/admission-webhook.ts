/**
 * An admission webhook for tests: a real TLS server with answers from the test, and the configurations
 * for it.
 */
import type { JsonObject } from "../../api/meta.js";
import {
  openWebhookStub,
  type StubAnswer,
  type StubPlace,
  type WebhookStub,
} from "../../client/testing/webhook-stub.js";

/** The request of a review, as webhooks receive it. */
export interface SentRequest extends JsonObject {
  readonly uid: string;
  readonly operation: string;
  readonly name: string;
}

export interface AdmissionHook extends AsyncDisposable {
  readonly stub: WebhookStub;
  /** The requests received so far. */
  readonly requests: SentRequest[];
  /** Returns the response to a request; the uid is added. */
  respond: (request: SentRequest, url: string) => JsonObject | StubAnswer;
  /** The clientConfig for a webhook configuration. */
  clientConfig(path?: string): JsonObject;
}

export function jsonPatch(...operations: JsonObject[]): JsonObject {
  const patch = Buffer.from(JSON.stringify(operations)).toString("base64");
  return { allowed: true, patchType: "JSONPatch", patch };
}

export async function openAdmissionHook(
  respond: AdmissionHook["respond"] = () => ({ allowed: true }),
  place: StubPlace = {},
): Promise<AdmissionHook> {
  const requests: SentRequest[] = [];
  const stub = await openWebhookStub(
    ({ body, url }) => {
      const { request, apiVersion, kind } = body as unknown as {
        readonly request: SentRequest;
        readonly apiVersion: string;
        readonly kind: string;
      };
      requests.push(request);
      const answer = hook.respond(request, url);
      if ("isReset" in answer || "isSilent" in answer || "body" in answer || "status" in answer) {
        if (typeof answer.status !== "object") return answer as StubAnswer;
      }
      return { body: { apiVersion, kind, response: { uid: request.uid, ...answer } } };
    },
    true,
    place,
  );
  const hook: AdmissionHook = {
    stub,
    requests,
    respond,
    clientConfig: (path = "/review") => ({
      url: new URL(path, stub.url).href,
      caBundle: Buffer.from(stub.ca).toString("base64"),
    }),
    [Symbol.asyncDispose]: () => stub[Symbol.asyncDispose](),
  };
  return hook;
}
