/**
 * PlainListener: health and metrics of a process that serves no API, over HTTP without TLS and for everybody, as etcd and
 * controllers offer theirs: neither says anything about objects. For an address that only probes and
 * Prometheus reach. What a client sends is a path; nothing else is read.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Logger } from "../../storage/base/logger.js";
import { StatusError } from "../api/status.js";
import { HEALTH_RESULTS_PATH } from "../metrics/health-results.js";
import type { Metrics } from "../metrics/metrics.js";
import { metricsDocument } from "../metrics/metrics-document.js";
import { parseQuery } from "../request/query.js";
import type { Document } from "../response/document.js";
import { HEALTH_ENDPOINTS, type Health } from "./health.js";

export interface PlainListenerOptions {
  readonly host: string;
  /** 0 = any free one. */
  readonly port: number;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** Probes and two Prometheus servers need few; more are refused. */
const CONNECTIONS_MAX = 64;
const HEADERS_TIMEOUT_MS = 10_000;
const HEADER_BYTES_MAX = 16 * 1024;

const TEXT = { "Content-Type": "text/plain; charset=utf-8" };

export class PlainListener implements AsyncDisposable {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @throws {Error} address taken or not this machine's */
  static async open(options: PlainListenerOptions): Promise<PlainListener> {
    const server = createServer(
      { headersTimeout: HEADERS_TIMEOUT_MS, maxHeaderSize: HEADER_BYTES_MAX },
      (request, response) => answer(options, request, response),
    );
    server.maxConnections = CONNECTIONS_MAX;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(options.port, options.host, resolve);
    });
    return new PlainListener(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }
}

function answer(
  options: PlainListenerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  documentFor(options, request, gone.signal).then(
    ({ status, headers, body }) => {
      response.writeHead(status, headers);
      response.end(request.method === "HEAD" ? undefined : body);
    },
    (error: unknown) => {
      const isRefusal = error instanceof StatusError;
      if (!isRefusal && !gone.signal.aborted) options.logger.error({ err: error }, "no answer");
      response.writeHead(isRefusal ? error.code : 500, TEXT);
      response.end();
    },
  );
}

async function documentFor(
  { health, metrics }: PlainListenerOptions,
  { method, url = "", headers }: IncomingMessage,
  signal: AbortSignal,
): Promise<Document> {
  if (method !== "GET" && method !== "HEAD") return { status: 405, headers: TEXT, body: "" };
  const [path = "", query = ""] = url.split("?", 2);
  if (path === "/metrics") return await metricsDocument(metrics, headers);
  if (path === HEALTH_RESULTS_PATH) return await metricsDocument(health.results, headers);
  const endpoint = HEALTH_ENDPOINTS.find((name) => path === `/${name}`);
  if (endpoint !== undefined) return await health.report(endpoint, parseQuery(query), signal);
  const parent = HEALTH_ENDPOINTS.find((name) => path.startsWith(`/${name}/`));
  if (parent === undefined) return { status: 404, headers: TEXT, body: "" };
  return await health.reportOne(parent, path.slice(parent.length + 2), signal);
}
