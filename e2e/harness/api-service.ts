/**
 * An API service of somebody else, as one writes it with the public client library: it learns from the
 * API in front of it whose word to believe about users, asks that API whether they may, and serves notes
 * (which people write), the metrics of nodes and pods, and a metric of its own. It can be told to fail.
 *
 *   notes.example.com/v1         notes            get, list, watch, create, patch, delete;
 *                                                  "huge" is as large as HUGE_BYTES, whoever reads it,
 *                                                  "moved" is elsewhere, "cut" ends the connection,
 *                                                  "line" upgrades to SPDY/3.1 and says again what it hears
 *   metrics.k8s.io/v1beta1       nodes, pods      get, list
 *   custom.metrics.k8s.io/v1beta1  pods/requests  get
 */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { type Duplex, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AuthorizationV1Api, CoreV1Api, KubeConfig } from "@kubernetes/client-node";
import { SpdySession } from "../../server/connect/spdy/session.js";
import type { ApiObject } from "./https-client.js";
import { TestAuthority } from "./test-authority.js";

/** How it answers: well, late, not at all, or with what is no answer. */
export type Manner = "good" | "slow" | "silent" | "garbage";

export interface ApiService extends AsyncDisposable {
  readonly port: number;
  /** For the caBundle of its APIServices. */
  readonly authority: string;
  manner: Manner;
  /** Bytes of the last huge answer that the connection has taken. */
  readonly hugeSent: number;
  /** Requests that it was asked so far. */
  readonly requests: number;
  /** Those that came to what is elsewhere, or ends the connection. */
  readonly odd: readonly string[];
  /** Who speaks SPDY with it now, as the front server says. */
  readonly lines: readonly string[];
  /** Ends all of these connections. */
  hangUp(): void;
  /** From now on its certificate is one that nobody knows, or the right one again. */
  useCertificate(which: "own" | "unknown"): void;
  /** Ends the listener and all connections; `start` opens the same port again. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export interface ApiServiceOptions {
  /** Of the API in front of it. */
  readonly kubeconfig: string;
  /** The names that its certificate is for. */
  readonly serverName: string;
  /** Told of each request before it is answered. */
  readonly onRequest?: (request: IncomingMessage) => void;
}

const SLOW_MS = 300;
export const HUGE_BYTES = 128 * 1024 * 1024;
const NOTES = "notes.example.com/v1";
const METRICS = "metrics.k8s.io/v1beta1";
const CUSTOM = "custom.metrics.k8s.io/v1beta1";

export async function openApiService(options: ApiServiceOptions): Promise<ApiService> {
  const config = new KubeConfig();
  config.loadFromFile(options.kubeconfig);
  const trusted = await config.makeApiClient(CoreV1Api).readNamespacedConfigMap({
    namespace: "kube-system",
    name: "extension-apiserver-authentication",
  });
  const frontProxies = trusted.data?.["requestheader-client-ca-file"] ?? "";
  const reviews = config.makeApiClient(AuthorizationV1Api);
  const [authority, stranger] = await Promise.all([
    TestAuthority.create("api-service-ca"),
    TestAuthority.create("somebody"),
  ]);
  const leaf = { usage: "server", hosts: [options.serverName] } as const;
  const own = await authority.issue(leaf);
  const unknown = await stranger.issue(leaf);
  const notes = new Notes();
  const sockets = new Set<Duplex>();
  let manner: Manner = "good";
  let requests = 0;
  let hugeSent = 0;
  const odd: string[] = [];
  const lines = new Map<SpdySession, string>();
  let server: Server;
  let port = 0;

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    requests++;
    options.onRequest?.(request);
    if (manner === "silent") return;
    if (manner === "garbage") {
      request.socket.end("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n\0{{{[[\r\nwhat\r\n");
      return;
    }
    if (manner === "slow") await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
    try {
      const body = await readBody(request);
      if (await isAllowed(request)) answer(request, response, body);
      else send(response, 403, statusOf(403, "Forbidden"));
    } catch (error) {
      send(response, 500, statusOf(500, String(error)));
    }
  };

  const upgrade = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const isLine = request.url?.endsWith("/line") && request.headers.upgrade === "SPDY/3.1";
    if (!isLine || !(await isAllowed(request))) {
      socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nnone");
      return;
    }
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n",
    );
    if (head.length > 0) socket.unshift(head);
    const session = new SpdySession(socket, {
      isClient: false,
      onStream(stream) {
        stream.reply();
        stream.on("error", () => {}).pipe(stream);
      },
    });
    lines.set(session, String(request.headers["x-remote-user"]));
    void session.closed.then(() => lines.delete(session));
  };

  /** The user is who the front server says; whether they may is the front server's to know. */
  async function isAllowed(request: IncomingMessage): Promise<boolean> {
    const { pathname } = new URL(request.url ?? "/", "https://x");
    const user = String(request.headers["x-remote-user"] ?? "");
    if (user === "") return false;
    const groups = [request.headersDistinct["x-remote-group"] ?? []].flat();
    const [, apis, group, , ...rest] = pathname.split("/");
    if (apis !== "apis" || rest.length === 0) return true;
    const { namespace, resource } = placeOf(rest);
    const verb = VERBS[request.method ?? ""] ?? "list";
    const attributes = { group: group ?? "", resource, namespace, verb };
    const review = await reviews.createSubjectAccessReview({
      body: { spec: { user, groups, resourceAttributes: attributes } },
    });
    return review.status?.allowed === true;
  }

  /** In pieces, the next when there is room for it. */
  function sendHuge(response: ServerResponse): void {
    const piece = Buffer.alloc(HUGE_BYTES / 256, " ");
    function* pieces() {
      for (hugeSent = 0; hugeSent < HUGE_BYTES; hugeSent += piece.length) yield piece;
      yield Buffer.from("{}");
    }
    response.writeHead(200, { "content-type": "application/json" });
    // A client that goes is nobody's mistake.
    pipeline(Readable.from(pieces()), response).catch(() => {});
  }

  function answer(request: IncomingMessage, response: ServerResponse, body: string): void {
    const { pathname, searchParams } = new URL(request.url ?? "/", "https://x");
    const [, , group, version, ...rest] = pathname.split("/");
    const { namespace, resource, name, subresource } = placeOf(rest);
    const groupVersion = `${group}/${version}`;
    if (groupVersion === NOTES && searchParams.has("watch")) {
      notes.watch(request, response, Number(searchParams.get("resourceVersion") ?? 0));
      return;
    }
    if (name === "huge") {
      sendHuge(response);
      return;
    }
    if (name === "moved" || name === "cut") {
      odd.push(`${request.method} ${name}`);
      if (name === "cut") request.socket.destroy();
      else response.writeHead(302, { location: pathname.replace(name, "cut") }).end();
      return;
    }
    const [status, object] = answerOf();
    send(response, status, object);

    function answerOf(): readonly [number, object] {
      const document = DOCUMENTS[pathname];
      if (document !== undefined) return [200, document];
      if (groupVersion === METRICS) return [200, metricsOf(resource, namespace, name)];
      if (groupVersion === CUSTOM) return [200, customMetric(namespace, subresource)];
      if (groupVersion !== NOTES) return [404, statusOf(404, "NotFound")];
      return notes.handle(request.method ?? "", `${namespace}/${name}`, body);
    }
  }

  const secure = (identity: { cert: string; key: string }) => ({
    cert: identity.cert,
    key: identity.key,
    ca: frontProxies,
    requestCert: true,
    rejectUnauthorized: true,
  });
  let identity = own;
  const start = async () => {
    server = createServer(secure(identity), (request, response) => void handle(request, response));
    server.on("upgrade", (...asked) => void upgrade(...asked));
    server.on("connection", (socket) => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    });
    server.listen(port, "0.0.0.0");
    await once(server, "listening");
    port = (server.address() as AddressInfo).port;
  };
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const stop = async () => {
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close();
    cut();
    await closed;
  };
  await start();
  return {
    get port() {
      return port;
    },
    authority: authority.certificate,
    get hugeSent() {
      return hugeSent;
    },
    get requests() {
      return requests;
    },
    odd,
    get lines() {
      return [...lines.values()];
    },
    hangUp() {
      for (const session of lines.keys()) session.destroy();
    },
    get manner() {
      return manner;
    },
    set manner(next) {
      manner = next;
      // What was held back stays unanswered.
      if (next === "good") cut();
    },
    useCertificate(which) {
      identity = which === "own" ? own : unknown;
      server.setSecureContext(secure(identity));
      cut();
    },
    stop,
    start,
    [Symbol.asyncDispose]: stop,
  };
}

const VERBS: Readonly<Record<string, string>> = {
  POST: "create",
  PATCH: "patch",
  DELETE: "delete",
  PUT: "update",
};

/** "namespaces/default/notes/a" or "nodes/n". */
function placeOf(parts: readonly string[]) {
  const isNamespaced = parts[0] === "namespaces" && parts.length > 2;
  const [resource = "", name = "", subresource = ""] = isNamespaced ? parts.slice(2) : parts;
  return { namespace: isNamespaced ? (parts[1] ?? "") : "", resource, name, subresource };
}

/** A change of a note. */
interface Told {
  readonly type: string;
  readonly note: ApiObject;
  readonly revision: number;
}

class Notes {
  readonly #notes = new Map<string, ApiObject>();
  readonly #watchers = new Set<(told: Told) => void>();
  readonly #told: Told[] = [];
  #revision = 1;

  handle(method: string, path: string, body: string): readonly [number, object] {
    const known = this.#notes.get(path);
    const isList = path.endsWith("/");
    if (method === "GET" && isList) {
      const metadata = { resourceVersion: String(this.#revision) };
      const items = [...this.#notes].filter(([key]) => path === "/" || key.startsWith(path));
      const list = { kind: "NoteList", apiVersion: NOTES, metadata };
      return [200, { ...list, items: items.map(([, note]) => note) }];
    }
    if (method === "POST") {
      const sent = JSON.parse(body) as ApiObject;
      const [namespace = ""] = path.split("/");
      return [201, this.#put("ADDED", namespace, sent)];
    }
    if (known === undefined) return [404, statusOf(404, "NotFound")];
    if (method === "DELETE") {
      this.#notes.delete(path);
      const metadata = { ...known.metadata, resourceVersion: String(++this.#revision) };
      this.#tell("DELETED", { ...known, metadata });
      return [200, statusOf(200, "")];
    }
    if (method !== "PATCH") return [200, known];
    const { metadata, spec } = JSON.parse(body) as ApiObject;
    const annotations = { ...known.metadata.annotations, ...metadata?.annotations };
    const patched = {
      ...known,
      metadata: { ...known.metadata, annotations },
      spec: { ...(known.spec as object), ...(spec as object) },
    };
    const [namespace = ""] = path.split("/");
    return [200, this.#put("MODIFIED", namespace, patched)];
  }

  /** What happens behind the revision, also what has happened already; 0 = from now on. */
  watch(request: IncomingMessage, response: ServerResponse, since: number): void {
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    const write = ({ type, note }: Told) =>
      response.write(`${JSON.stringify({ type, object: note })}\n`);
    for (const told of this.#told) if (since > 0 && told.revision > since) write(told);
    this.#watchers.add(write);
    request.socket.once("close", () => this.#watchers.delete(write));
  }

  #put(type: string, namespace: string, sent: ApiObject): ApiObject {
    const { name = "" } = sent.metadata;
    const resourceVersion = String(++this.#revision);
    const uid = sent.metadata.uid ?? `uid-${name}`;
    const metadata = { ...sent.metadata, namespace, uid, resourceVersion };
    const note = { ...sent, kind: "Note", apiVersion: NOTES, metadata };
    this.#notes.set(`${namespace}/${name}`, note);
    this.#tell(type, note);
    return note;
  }

  #tell(type: string, note: ApiObject): void {
    const told = { type, note, revision: this.#revision };
    this.#told.push(told);
    for (const watcher of this.#watchers) watcher(told);
  }
}

const USAGE = { cpu: "250m", memory: "128Mi" };
const MEASURED = { timestamp: "2030-01-01T00:00:00Z", window: "30s" };

function metricsOf(resource: string, namespace: string, name: string): object {
  const isNodes = resource === "nodes";
  const one = (metadata: object) =>
    isNodes
      ? { kind: "NodeMetrics", apiVersion: METRICS, metadata, ...MEASURED, usage: USAGE }
      : {
          kind: "PodMetrics",
          apiVersion: METRICS,
          metadata,
          ...MEASURED,
          containers: [{ name: "main", usage: USAGE }],
        };
  const place = isNodes ? { name: "node-1" } : { name: "web-1", namespace: namespace || "default" };
  if (name !== "") return one({ ...place, name });
  const kind = isNodes ? "NodeMetricsList" : "PodMetricsList";
  return { kind, apiVersion: METRICS, metadata: {}, items: [one(place)] };
}

function customMetric(namespace: string, metric: string): object {
  const describedObject = { kind: "Pod", namespace, name: "web-1", apiVersion: "/v1" };
  const value = { describedObject, metricName: metric, value: "17", ...MEASURED };
  return { kind: "MetricValueList", apiVersion: CUSTOM, metadata: {}, items: [value] };
}

const resourcesOf = (groupVersion: string, resources: readonly object[]) => ({
  kind: "APIResourceList",
  apiVersion: "v1",
  groupVersion,
  resources,
});

const text = (description: string) => ({ type: "string", description });
const OPEN_API = {
  openapi: "3.0.0",
  info: { title: "notes", version: "v1" },
  paths: {
    "/apis/notes.example.com/v1/namespaces/{namespace}/notes": {
      get: {
        operationId: "listNotes",
        responses: { "200": { description: "OK" } },
        "x-kubernetes-action": "list",
        "x-kubernetes-group-version-kind": {
          group: "notes.example.com",
          version: "v1",
          kind: "Note",
        },
      },
    },
  },
  components: {
    schemas: {
      "com.example.notes.v1.Note": {
        description: "A note is what somebody wanted to remember.",
        type: "object",
        properties: {
          apiVersion: text("The version."),
          kind: text("The kind."),
          metadata: { type: "object" },
          spec: { type: "object", properties: { text: text("What is to be remembered.") } },
        },
        "x-kubernetes-group-version-kind": [
          { group: "notes.example.com", version: "v1", kind: "Note" },
        ],
      },
    },
  },
};

const READS = ["get", "list"];
const DOCUMENTS: Readonly<Record<string, object>> = {
  "/apis/notes.example.com/v1": resourcesOf(NOTES, [
    {
      name: "notes",
      singularName: "note",
      namespaced: true,
      kind: "Note",
      shortNames: ["nt"],
      verbs: ["create", "delete", "get", "list", "patch", "watch"],
    },
  ]),
  "/apis/metrics.k8s.io/v1beta1": resourcesOf(METRICS, [
    { name: "nodes", singularName: "", namespaced: false, kind: "NodeMetrics", verbs: READS },
    { name: "pods", singularName: "", namespaced: true, kind: "PodMetrics", verbs: READS },
  ]),
  "/apis/custom.metrics.k8s.io/v1beta1": resourcesOf(CUSTOM, [
    {
      name: "pods/requests",
      singularName: "",
      namespaced: true,
      kind: "MetricValueList",
      verbs: ["get"],
    },
  ]),
  "/openapi/v3": {
    paths: {
      "apis/notes.example.com/v1": {
        serverRelativeURL: "/openapi/v3/apis/notes.example.com/v1?hash=1",
      },
    },
  },
  "/openapi/v3/apis/notes.example.com/v1": OPEN_API,
  "/openapi/v2": {
    swagger: "2.0",
    info: { title: "notes", version: "v1" },
    paths: {
      "/apis/notes.example.com/v1/notes": {
        get: {
          responses: {
            "200": {
              description: "OK",
              schema: { $ref: "#/definitions/com.example.notes.v1.Note" },
            },
          },
        },
      },
    },
    definitions: {
      "com.example.notes.v1.Note": OPEN_API.components.schemas["com.example.notes.v1.Note"],
    },
  },
};

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function send(response: ServerResponse, status: number, body: object): void {
  const value = JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json" }).end(value);
}

function statusOf(code: number, reason: string): object {
  const status = code < 400 ? "Success" : "Failure";
  return { kind: "Status", apiVersion: "v1", metadata: {}, status, reason, code };
}
