/**
 * Routes: non-resource paths (health, metrics, version, discovery, OpenAPI), by koa-router. Their
 * documents are made elsewhere; this file has only paths, methods and sending.
 *
 * Routing uses the undecoded path and authorization the decoded one. A route therefore matches
 * case-sensitively and never contains a percent sign, so that both always mean the same.
 */
import { type IncomingHttpHeaders, METHODS } from "node:http";
import Router from "koa-router";
import { methodNotAllowed, routeNotFound } from "../api/status.js";
import { sendPieces } from "../endpoints/send-pieces.js";
import { HEALTH_RESULTS_PATH } from "../metrics/health-results.js";
import type { Metrics } from "../metrics/metrics.js";
import { metricsDocument } from "../metrics/metrics-document.js";
import type { Query } from "../request/query.js";
import type { RequestContext, RequestMiddleware, RequestState } from "../request/request-state.js";
import type { Verbosity } from "../request/verbosity.js";
import type { Document } from "../response/document.js";
import { answerDebugFlags, DEBUG_FLAGS_PATHS } from "./debug-flags.js";
import { HEALTH_ENDPOINTS, type Health, type HealthEndpoint } from "./health.js";

/** Makes the document of a path; `path` is decoded and without the query. */
export type DocumentHandler = (
  path: string,
  headers: IncomingHttpHeaders,
  query: Query,
  signal: AbortSignal,
) => Document | Promise<Document>;

export interface RouteParts {
  readonly health: Health;
  readonly metrics: Metrics;
  /** The verbosity that requests may change; undefined = they may not. */
  readonly verbosity?: Pick<Verbosity, "value"> | undefined;
  /** Exact paths, or a prefix that ends in "/*": "/version", "/openapi/v3", "/openapi/v3/*". */
  readonly documents: Readonly<Record<string, DocumentHandler>>;
}

const READING_METHODS = ["GET", "HEAD"];
const HEALTH_METHODS = [...READING_METHODS, "OPTIONS"];

/**
 * Answers GET and HEAD on known paths, refuses other methods there, and passes on other paths.
 * Health has an answer to OPTIONS too, which load balancers ask by unless they are told otherwise.
 */
export function createRoutes(parts: RouteParts): RequestMiddleware {
  // Made for the first request: a router is large, and a process may have a thousand.
  let route: RequestMiddleware | undefined;
  return function routes(ctx, next) {
    // Resources have no routes: their paths are data, and the hot path.
    if (ctx.state.info.isResourceRequest) return next();
    route ??= createRouter(parts);
    return route(ctx, () => {
      throw routeNotFound();
    });
  };
}

function createRouter({ health, metrics, verbosity, documents }: RouteParts): RequestMiddleware {
  const router = new Router<RequestState>({ sensitive: true, strict: true });

  const serve = (
    path: string,
    handler: DocumentHandler,
    methods: readonly string[] = READING_METHODS,
  ): void => {
    const pattern = path.endsWith("/*") ? `${path}rest` : path;
    router.register(pattern, [...methods], async (ctx) => {
      const { info, signal } = ctx.state;
      await send(ctx, await handler(info.path, ctx.req.headers, info.query, signal));
    });
    const others = METHODS.filter((method) => !methods.includes(method));
    router.register(pattern, others, () => {
      throw methodNotAllowed();
    });
  };

  for (const endpoint of HEALTH_ENDPOINTS) {
    serve(
      `/${endpoint}`,
      (_path, _headers, query, signal) => health.report(endpoint, query, signal),
      HEALTH_METHODS,
    );
    serve(
      `/${endpoint}/*`,
      (path, _headers, _query, signal) =>
        health.reportOne(endpoint, checkName(endpoint, path), signal),
      HEALTH_METHODS,
    );
  }
  serve("/metrics", (_path, headers) => metricsDocument(metrics, headers));
  serve(HEALTH_RESULTS_PATH, (_path, headers) => metricsDocument(health.results, headers));
  if (verbosity !== undefined) {
    for (const path of DEBUG_FLAGS_PATHS) {
      router.register(path, METHODS, (ctx) => answerDebugFlags(ctx, verbosity));
    }
  }
  const paths = Object.keys(documents);
  for (const path of paths) {
    const handler = documents[path] as DocumentHandler;
    serve(path, handler);
    // OpenAPI publishes documents with a trailing slash, and so generated clients use one.
    if (!/[/*]$/.test(path)) serve(`${path}/`, handler);
  }
  if (documents["/"] === undefined) serve("/", () => rootPaths(health, paths));

  return router.routes() as unknown as RequestMiddleware;
}

function checkName(endpoint: HealthEndpoint, path: string): string {
  return path.slice(endpoint.length + 2);
}

async function send(ctx: RequestContext, { status, headers, body }: Document): Promise<void> {
  if (typeof body !== "string" && !Buffer.isBuffer(body)) {
    await sendPieces(ctx, { status, headers }, body);
    return;
  }
  ctx.status = status;
  ctx.set(headers);
  if (body.length > 0 || status === 200) ctx.body = body;
  else if (status !== 304) ctx.length = 0;
}

/** The list of paths at the API's root, as in kube-apiserver. */
function rootPaths(health: Health, documentPaths: readonly string[]): Document {
  const paths = new Set(documentPaths.filter((path) => !path.includes("*") && !path.includes(":")));
  for (const endpoint of HEALTH_ENDPOINTS) {
    paths.add(`/${endpoint}`);
    for (const name of health.names(endpoint)) paths.add(`/${endpoint}/${name}`);
  }
  paths.add("/metrics");
  paths.add(HEALTH_RESULTS_PATH);
  return {
    status: 200,
    headers: { "Content-Type": "application/json" },
    body: `${JSON.stringify({ paths: [...paths].sort() }, null, 2)}\n`,
  };
}
