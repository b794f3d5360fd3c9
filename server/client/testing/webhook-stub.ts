/**
 * A webhook for tests: a real TLS server on a free port that requests client certificates, records
 * requests, and answers as the test says.
 */
import { once } from "node:events";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { TestAuthority, type TestIdentity } from "../../../e2e/harness/test-authority.js";

export interface StubCall {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Common name of the client's certificate; "" without one. */
  readonly clientName: string;
  /** Whether the connection resumed an earlier TLS session. */
  readonly isResumed: boolean;
  readonly body: StubReview;
}

/** The review that was sent. */
export interface StubReview {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status: Readonly<Record<string, unknown>>;
}

export interface StubAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string is sent as it is, anything else as JSON. */
  readonly body?: unknown;
  /** Closes the connection instead of answering. */
  readonly isReset?: boolean;
  /** Never answers. */
  readonly isSilent?: boolean;
}

export interface WebhookStub extends AsyncDisposable {
  /** "https://127.0.0.1:12345/review". */
  readonly url: string;
  readonly ca: string;
  readonly authority: TestAuthority;
  /** A certificate that the stub accepts; CN=apiserver. */
  readonly client: TestIdentity;
  readonly calls: StubCall[];
  /** Connections accepted so far. */
  readonly handshakes: number;
  /** Its current answer function. */
  answer: (call: StubCall) => StubAnswer | Promise<StubAnswer>;
  /** A self-contained client configuration. */
  readonly kubeconfig: string;
  /** Ends the listener and all connections. */
  stop(): Promise<void>;
}

/** The sent review with this status. */
export function withStatus(review: StubReview, status: unknown): StubAnswer {
  return { body: { ...review, status } };
}

export interface StubPlace {
  readonly address?: string;
  /** Names and addresses that its certificate is for. */
  readonly hosts?: readonly string[];
}

/** @param isCertificateOptional also accepts clients without a certificate, as API servers do */
export async function openWebhookStub(
  answer: WebhookStub["answer"] = ({ body }) => withStatus(body, { allowed: true }),
  isCertificateOptional = false,
  { address = "127.0.0.1", hosts }: StubPlace = {},
): Promise<WebhookStub> {
  const authority = await TestAuthority.create();
  const [serving, client] = await Promise.all([
    authority.issueServer(hosts),
    authority.issueClient("apiserver", ["system"]),
  ]);
  const calls: StubCall[] = [];
  const counts = { handshakes: 0 };
  const server = createServer(
    {
      ...serving,
      ca: authority.certificate,
      requestCert: true,
      rejectUnauthorized: !isCertificateOptional,
    },
    async (request, response) => {
      let text = "";
      for await (const chunk of request) text += String(chunk);
      const socket = request.socket as TLSSocket;
      const { subject } = socket.getPeerCertificate();
      const call: StubCall = {
        method: request.method ?? "",
        url: request.url ?? "",
        headers: request.headers,
        clientName: String(subject?.CN ?? ""),
        isResumed: socket.isSessionReused(),
        body: text === "" ? undefined : JSON.parse(text),
      };
      calls.push(call);
      send(response, await stub.answer(call));
    },
  );
  server.on("secureConnection", () => counts.handshakes++);
  server.listen(0, address);
  await once(server, "listening");
  const url = `https://${address}:${(server.address() as AddressInfo).port}/review`;
  const stop = async () => {
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  const stub: WebhookStub = {
    url,
    ca: authority.certificate,
    authority,
    client,
    calls,
    get handshakes() {
      return counts.handshakes;
    },
    answer,
    kubeconfig: kubeconfigFor({ server: url, ca: authority.certificate, client }),
    stop,
    [Symbol.asyncDispose]: stop,
  };
  return stub;
}

/** A self-contained client configuration; JSON is YAML. */
export function kubeconfigFor(parts: {
  readonly server: string;
  readonly ca: string;
  readonly client?: TestIdentity;
  readonly user?: Readonly<Record<string, unknown>>;
}): string {
  const { server, ca, client, user } = parts;
  const certificate =
    client === undefined
      ? {}
      : {
          "client-certificate-data": base64(client.cert),
          "client-key-data": base64(client.key),
        };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "remote", cluster: { server, "certificate-authority-data": base64(ca) } }],
    users: [{ name: "me", user: { ...certificate, ...user } }],
    contexts: [{ name: "webhook", context: { cluster: "remote", user: "me" } }],
    "current-context": "webhook",
  });
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

function send(response: ServerResponse, answer: StubAnswer): void {
  if (answer.isSilent) return;
  if (answer.isReset) {
    response.socket?.destroy();
    return;
  }
  const body = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body ?? {});
  response.writeHead(answer.status ?? 200, {
    "content-type": "application/json",
    ...answer.headers,
  });
  response.end(body);
}
