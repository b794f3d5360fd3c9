/**
 * proxy of pods, services and nodes: passes any request on. The path is the cleaned rest after `proxy`, so
 * it cannot leave the target; URLs in answers are rewritten to lead through the proxy (rewrite.ts).
 * Redirects are left to the client.
 *
 * Names are `name`, `name:port` or `scheme:name:port`. Certificates of pods are not verified, because pods
 * are reached by address, and certificates are not issued for these.
 */
import { posix } from "node:path";
import type { Pool } from "undici";
import { badRequest, nodeUnreachable, StatusError, serviceUnavailable } from "../api/status.js";
import { forwardedHeaders } from "../client/forwarded-headers.js";
import { passRequest } from "../client/pass-request.js";
import { InvalidUpgrade, openUpgrade, passOutcome } from "../client/pass-upgrade.js";
import type { Destination } from "../outbound/connection-pools.js";
import { describeFailure } from "../outbound/failures.js";
import { judgeHost, RefusedAddress } from "../outbound/judged-address.js";
import { TlsSettings } from "../outbound/tls-connections.js";
import type { RequestInfo } from "../request/request-info.js";
import type { RequestContext } from "../request/request-state.js";
import { upgradeTo } from "../request/upgrade.js";
import type { ConnectServices } from "./connect-services.js";
import type { ProxyOptions } from "./options.js";
import { locatePod, locateService, type ProxyName, parseProxyName } from "./proxy-places.js";
import { rewriteAnswer } from "./rewrite.js";

/** The target of a request. */
interface Backend {
  readonly pool: Pool;
  readonly scheme: "http" | "https";
  /** "10.1.2.3:8080", as answers refer to it. */
  readonly host: string;
}

const INSECURE = new TlsSettings({ skipsVerification: true, authorities: undefined });

/** The path after `proxy`, with its slashes; "" if empty. */
export function proxiedPath({ subpath, path }: RequestInfo): ProxyOptions {
  const rest = path.endsWith("/") && !subpath.endsWith("/") ? `${subpath}/` : subpath;
  return rest === "" ? {} : { path: rest };
}

/** @throws {StatusError} */
export async function proxyToPod(
  ctx: RequestContext,
  options: ProxyOptions,
  services: ConnectServices,
): Promise<void> {
  const { namespace } = ctx.state.info;
  const name = nameOf(ctx, "pod");
  const place = locatePod(services.view, namespace, name);
  await pass(ctx, options, backendAt(services, name, place));
}

/** @throws {StatusError} */
export async function proxyToService(
  ctx: RequestContext,
  options: ProxyOptions,
  services: ConnectServices,
): Promise<void> {
  const { namespace } = ctx.state.info;
  const name = nameOf(ctx, "service");
  const place = locateService(services, namespace, name, ctx.state.info.name);
  await pass(ctx, options, backendAt(services, name, place));
}

/** To the agent or, with another port, to whatever listens there. @throws {StatusError} */
export async function proxyToNode(
  ctx: RequestContext,
  options: ProxyOptions,
  services: ConnectServices,
): Promise<void> {
  const name = nameOf(ctx, "node");
  const kubelet = services.kubelets.of(name.name);
  const { host } = kubelet;
  await judge(host, ctx.state.signal);
  if (name.port === "" || name.port === String(kubelet.port)) {
    const pool = kubelet.pool({ isJudged: true });
    const address = `${host}:${kubelet.port}`;
    return await pass(ctx, options, { pool, scheme: "https", host: address });
  }
  const port = portNumber(name);
  await pass(ctx, options, backendAt(services, name, { host, port, isJudged: true }));
}

/** @throws {StatusError} 400 */
async function judge(host: string, signal: AbortSignal): Promise<void> {
  try {
    await judgeHost(host, signal);
  } catch (error) {
    throw error instanceof RefusedAddress ? badRequest(error.message, error) : error;
  }
}

function nameOf(ctx: RequestContext, what: string): ProxyName {
  const asked = ctx.state.info.name;
  const name = parseProxyName(asked);
  if (name === undefined) throw badRequest(`invalid ${what} request ${JSON.stringify(asked)}`);
  return name;
}

function portNumber({ port }: ProxyName): number {
  const number = Number(port);
  if (!/^\d+$/.test(port) || number < 1 || number > 65_535) {
    throw serviceUnavailable(`error trying to reach service: unknown port ${JSON.stringify(port)}`);
  }
  return number;
}

function backendAt(
  { pools }: ConnectServices,
  { scheme }: ProxyName,
  { host, port, isJudged = false }: Pick<Destination, "host" | "port" | "isJudged">,
): Backend {
  const tls = scheme === "https" && { tls: INSECURE };
  const pool = pools.of({ scheme, host, port, isJudged, ...tls });
  return { pool, scheme, host: `${host}:${port}` };
}

async function pass(
  ctx: RequestContext,
  { path: asked = "" }: ProxyOptions,
  { pool, scheme, host }: Backend,
): Promise<void> {
  const { state, req } = ctx;
  const { info, signal } = state;
  const upgrade = upgradeTo(req);
  const query = queryOf(req.url ?? "");
  const isRead = ctx.method === "GET" || ctx.method === "HEAD";
  if (asked === "" && upgrade === undefined && isRead) {
    // Without the trailing slash, relative links would be wrong.
    ctx.status = 301;
    ctx.set("Location", `${rootOf(ctx)}${encodePath(info.path)}/${query}`);
    ctx.body = null;
    // Koa changes the status for an empty body.
    ctx.status = 301;
    return;
  }
  const path = `${encodePath(posix.join("/", asked))}${query}`;
  const headers = [
    ...forwardedHeaders({
      headers: req.headers,
      auditId: state.auditId,
      remoteAddress: req.socket?.remoteAddress ?? "",
    }),
    ...["X-Forwarded-Uri", `${rootOf(ctx)}${encodePath(info.path)}`],
  ];
  // With TLS the host must match the certificate.
  if (scheme === "http" && ctx.host !== "") headers.push("host", ctx.host);
  try {
    if (upgrade !== undefined) {
      const { protocol } = upgrade;
      const request = { pool, method: ctx.method, path, headers, protocol, signal };
      return passOutcome(ctx, upgrade, await openUpgrade(request));
    }
    const base = `${rootOf(ctx)}${encodePath(baseOf(info))}`;
    const places = { base, hosts: [host, ctx.host] };
    await passRequest(ctx, { pool, path, headers, change: rewriteAnswer(places) });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (ctx.headerSent || error instanceof StatusError) throw error;
    if (error instanceof RefusedAddress) throw badRequest(error.message, error);
    if (error instanceof InvalidUpgrade) throw nodeUnreachable(error.message, error);
    throw serviceUnavailable(`error trying to reach service: ${describeFailure(error)}`);
  }
}

/** What the client has before this API's paths: "", or "/clusters/shop" of a control plane. */
function rootOf({ originalUrl, req }: RequestContext): string {
  const url = req.url ?? "";
  return originalUrl.endsWith(url) ? originalUrl.slice(0, originalUrl.length - url.length) : "";
}

/** The path up to and including `proxy`. */
function baseOf({
  apiPrefix,
  version,
  namespace,
  resource,
  name,
  subresource,
}: RequestInfo): string {
  const scope = namespace === "" ? "" : `/namespaces/${namespace}`;
  return `/${apiPrefix}/${version}${scope}/${resource}/${name}/${subresource}`;
}

function queryOf(url: string): string {
  const start = url.indexOf("?");
  return start === -1 ? "" : url.slice(start);
}

/** Encodes a decoded path. */
function encodePath(path: string): string {
  return encodeURI(path).replaceAll("?", "%3F").replaceAll("#", "%23");
}
